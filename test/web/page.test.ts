/** The status page in a real browser: accessible and readable at both widths and in both schemes, and decided by keyboard alone. */
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Listening, listen } from "../../runtime/outside/http.ts";
import { createStatusApp } from "../../runtime/web/app.ts";
import { findTool } from "../../tools/system-tools.ts";
import { createFacts, NOW } from "./busy-day.ts";
import { share } from "../share.ts";

let facts: ReturnType<typeof createFacts>;
let site: Listening;

beforeEach(async () => {
  facts = createFacts();
  site = await listen(createStatusApp(facts, { now: () => NOW }), 0);
});
afterEach(() => site.close());

const CHROMIUM = findTool("chromium");

describe.skipIf(CHROMIUM === null)("in a browser", () => {
  const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  const shots = process.env["SCREENSHOTS"];
  let browser: Browser;
  let page: Page;

  beforeAll(async () => {
    browser = await chromium.launch({
      executablePath: CHROMIUM ?? "",
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
      ],
    });
  });
  afterAll(() => browser?.close());
  afterEach(() => page?.context().close());

  async function open(path: string, options: { width: number; dark: boolean }): Promise<void> {
    // bypassCSP: the page allows no script at all, and axe is one.
    const context = await browser.newContext({
      viewport: { width: options.width, height: 844 },
      colorScheme: options.dark ? "dark" : "light",
      bypassCSP: true,
    });
    // A paired browser, as people have it: some mark their own processes like those of a jail, and are nobody without it.
    await context.addCookies([{ name: "cleared", value: "x".repeat(43), url: site.url }]);
    page = await context.newPage();
    await page.goto(`${site.url}${path}`);
  }

  const VIEWS = [
    { name: "phone", width: 390, dark: false },
    { name: "phone-dark", width: 390, dark: true },
    { name: "desk", width: 1280, dark: false },
    { name: "desk-dark", width: 1280, dark: true },
  ];

  test.each(share(VIEWS, 2, ({ name }) => `view ${name}`))(
    "the pages are accessible and fit at $name",
    async ({ name, width, dark }) => {
      for (const [label, path] of [
        ["status", "/?decided=10"],
        ["run", "/runs/run_02fail"],
        ["proposals", "/proposals"],
        ["proposal", "/proposals/11"],
        ["requests", "/asks"],
        ["request", "/asks/3"],
        ["question", "/asks/4"],
        ["declined", "/asks/5"],
        ["error", "/nowhere"],
        ["pair", "/pair"],
        ["empty", "/"],
      ] as const) {
        facts.empty = label === "empty";
        const undecided = facts.answers.length === 0;
        if (label === "status" && undecided) await facts.decide(10, { decision: "rejected", reason: "not on the bank's page" }, null);
        // One tab for all pages: a new one is a new process, half a second of it.
        if (label === "status") await open(path, { width, dark });
        else await page.goto(`${site.url}${path}`);
        if (shots !== undefined) {
          mkdirSync(shots, { recursive: true });
          await page
            .locator("summary")
            .first()
            .click({ timeout: 500 })
            .catch(() => undefined);
          await page.screenshot({ path: join(shots, `${label}-${name}.png`), fullPage: true });
        }
        await page.evaluate(`for (const details of document.querySelectorAll("details")) details.open = true`);
        const overflow = await page.evaluate<number>("document.documentElement.scrollWidth - document.documentElement.clientWidth");
        expect(overflow, `${label} is wider than the screen`).toBeLessThanOrEqual(0);
        await page.evaluate(AXE);
        const found = await page.evaluate(async () => {
          const { violations } = await (
            globalThis as unknown as { axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> } }
          ).axe.run();
          return violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" | ")}`);
        });
        expect(found, label).toEqual([]);
      }
    },
    120_000,
  );

  test("failed runs come first, and each section of the seed is there", async () => {
    await open("/", { width: 1280, dark: false });
    expect(await page.locator(".runs summary .badge").allTextContents()).toEqual([
      "failed",
      "waits for approval",
      "running",
      "done",
      "canceled",
    ]);
    expect(await page.locator(".card.entry .legs").textContent()).toContain("Expenses:Suspense18.40 USD");
    expect(await page.locator(".card.entry").textContent()).toContain("whyconfidence 0.41 of 1");
    expect(await page.getByRole("link", { name: "1 run failed" }).getAttribute("href")).toBe("#runs");
    expect(await page.locator("h2").allTextContents()).toEqual(["For you", "Runs", "Workspace", "Balances", "Agents"]);
    expect(await page.locator("table").textContent()).toContain("123,456,789,012,345,678.90");
    expect(await page.locator(".runs .error").first().textContent()).toContain("agents/reconcile.ts:14:3 JOURNAL_UNBALANCED");
  });

  test("a request is made in words, and its question is answered from the first page, by keyboard alone", async () => {
    await open("/", { width: 390, dark: false });
    expect(await page.locator(".sub").first().textContent()).toContain("questions wait for you");
    const question = page.getByRole("form", { name: "Question 4" });
    expect(await question.locator("..").textContent()).toContain("answer only what you would tell a stranger");
    await question.getByLabel("Answer").selectOption("Software");
    await question.getByRole("button", { name: "Answer" }).press("Enter");
    await expect.poll(() => page.url()).toContain("/asks/4");
    await page.getByRole("link", { name: "All requests" }).click();
    expect(await page.locator(".runs .badge").allTextContents()).toEqual(["declined", "working", "answer", "proposal 11", "working"]);
    await page.getByLabel("What do you want?").fill("AWS is Software");
    await page.getByRole("button", { name: "Ask" }).press("Enter");
    await expect.poll(() => page.url()).toContain("/asks/1");
    expect(facts.requests).toEqual([
      [4, "Software"],
      [null, "AWS is Software"],
    ]);
  });

  test("a proposal is opened from its card, with its money and its text, and decided on its page", async () => {
    await open("/", { width: 390, dark: false });
    await page.getByRole("link", { name: "Everything about it" }).click();
    expect(await page.locator("h2").allTextContents()).toEqual(["Decide", "Details", "Its text"]);
    expect(await page.locator("dt").allTextContents()).toEqual(expect.arrayContaining(["Money", "Not proven", "May do more", "Needs"]));
    await page.getByText("Recorded runs", { exact: true }).click();
    expect(await page.locator("table").textContent()).toContain("\u221284.00");
    await page.getByText("6 lines").click();
    expect(await page.locator(".diff .plus").count()).toBe(1);
    await page.getByLabel(/Reason/).fill("not now");
    await page.getByRole("button", { name: "Reject" }).press("Enter");
    await expect.poll(() => page.getByRole("status").textContent()).toContain("rejected by Ada");
    expect(facts.answers).toEqual([[11, { decision: "rejected", reason: "not now" }]]);
    await page.goto(`${site.url}/proposals/11`);
    expect(await page.getByRole("form").count()).toBe(0);
  });

  test("a person approves with a reason and corrects an entry's account, by keyboard alone", async () => {
    await open("/", { width: 390, dark: false });
    await page
      .getByRole("form", { name: "Entry to confirm 8" })
      .getByLabel("Account")
      .selectOption({ label: "5030 Expenses:Office Supplies" });
    await page.getByRole("form", { name: "Entry to confirm 8" }).getByRole("button", { name: "Confirm" }).press("Enter");
    await page.getByRole("form", { name: "Approval 7" }).getByLabel("Reason").fill("invoice checked");
    await page.getByRole("form", { name: "Approval 7" }).getByRole("button", { name: "Reject" }).press("Enter");
    await expect.poll(() => page.getByRole("status").textContent()).toContain("rejected by Ada");
    expect(facts.answers).toEqual([
      [8, { decision: "approved", account: "5030", seen: expect.any(String) }],
      [7, { decision: "rejected", reason: "invoice checked" }],
    ]);
  });

  test.each([
    ["Approval 7", "Reason", "no, too much", "/"],
    ["Approval 7", "amount", "9.00", "/"],
    ["Question 13", "how many", "3", "/"],
    ["Entry to confirm 8", "Reason", "not mine", "/"],
    ["Proposal 11", "Reason", "not now", "/proposals/11"],
  ])("Enter in a field decides nothing and loses nothing: %s, %s", async (form, field, text, path) => {
    await open(path, { width: 390, dark: false });
    const fields = () => page.getByRole("form", { name: form });
    const change = fields().getByText("Change it first");
    if ((await change.count()) > 0) await change.click();
    await fields().getByLabel(field).fill(text);
    await fields().getByLabel(field).press("Enter");
    await expect.poll(() => page.getByRole("alert").textContent()).toContain("Nothing was decided: press one of the buttons.");
    expect(facts.answers).toEqual([]);
    expect(await fields().getByLabel(field).inputValue()).toBe(text);
    await fields().getByRole("button").last().press("Enter");
    await expect.poll(() => facts.answers.length).toBe(1);
  });
});
