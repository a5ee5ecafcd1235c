/** Corrections of confirmed entries: stated balances hold, nothing of a corrected entry is taken away in passing, and the page has a button. */
import { join } from "node:path";
import { afterAll, afterEach, expect, it } from "vitest";
import { createApi } from "../../runtime/app/api.ts";
import { asked, decideCard } from "../../runtime/app/decide.ts";
import { signAs } from "../../runtime/app/identity.ts";
import { createFacts } from "../../runtime/app/facts.ts";
import type { Host } from "../../runtime/app/host.ts";
import { importFiles } from "../../runtime/app/imports.ts";
import { revive } from "../../runtime/app/rows.ts";
import { listen } from "../../runtime/outside/http.ts";
import { undo } from "../../runtime/change/proposals/undo.ts";
import { createStatusApp } from "../../runtime/web/app.ts";
import { loadMonth } from "../../runtime/workspace/books/months.ts";
import { verifyBooks } from "../../runtime/workspace/books/verify.ts";
import { type Workspace, closeAll, host, removeAll, workspace } from "../engine/harness.ts";
import { failure } from "../proposals/ready.ts";

afterEach(closeAll);
afterAll(removeAll);

const OCTOBER = "Date,Description,Amount,Balance\n2026-10-01,GITHUB PRO,-21.00,979.00\n2026-10-05,INVOICE 7,1200.00,2179.00\n";

async function booked(): Promise<{ one: Workspace; owner: Host; run: string; github: string }> {
  const one = await workspace();
  const owner = await host(one);
  one.write("import/october.csv", OCTOBER);
  const { runs } = await importFiles(owner, { files: [join(one.dir, "import/october.csv")], dryRun: false, again: false });
  return { one, owner, run: runs[0] ?? "", github: await idOf(owner, "GITHUB PRO") };
}

const month = async (owner: Host, file = "journal/2026/10.journal") =>
  (await loadMonth(owner.git.tree(await owner.git.head()), file))?.entries ?? [];
const idOf = async (owner: Host, text: string) => (await month(owner)).find(({ description }) => description === text)?.id ?? "";

async function correct(owner: Host, entry: string, account: string): Promise<void> {
  const card = await createApi(owner).correction({ entry, account });
  await decideCard(owner, signAs(owner.dir, owner.trust, { ...asked(card), decision: "approved", account, at: owner.clock.now() }));
}

async function assertSound(owner: Host): Promise<void> {
  expect((await verifyBooks(owner.git.tree(await owner.git.head()), await owner.config())).findings).toEqual([]);
}

it("a leg on an account with a stated balance moves after that balance", async () => {
  const { one, owner } = await booked();
  const stated = (id: string, day: string, key: string, legs: string) =>
    `\n${day} * (${id}) Savings\n    ; key: ${key}\n    ; status: user-confirmed\n${legs}`;
  const { entryId } = await import("../../runtime/workspace/books/entry-id.ts");
  const [moved, checked] = [entryId("2026-10-06", "own:1"), entryId("2026-10-20", "own:2")];
  const text = `${one.read("journal/2026/10.journal")}${stated(moved, "2026-10-06", "own:1", "    Assets:Receivable  50.00 USD\n    Equity:Owner  -50.00 USD\n")}${stated(checked, "2026-10-20", "own:2", "    Assets:Receivable  5.00 USD\n    Equity:Owner  -5.00 USD = -55.00 USD\n")}`;
  one.commit({ "journal/2026/10.journal": text });
  await assertSound(owner);
  await correct(owner, moved, "4010");
  await assertSound(owner);
  expect((await month(owner)).at(-1)).toMatchObject({ date: "2026-10-21", status: "user-corrected", tags: { corrects: moved } });
});

it("a corrected entry is neither voided nor undone with its import until it is moved back", async () => {
  const { owner, run, github } = await booked();
  const api = createApi(owner);
  const voided = async (id: string) =>
    (await api.call({ calls: [{ name: "journal_void", params: { entry_id: id, reason: "twice" } }] }))[0];
  await correct(owner, github, "5070");
  const correction = (await month(owner)).find(({ tags }) => tags["corrects"] === github)?.id ?? "";
  expect(await voided(github)).toMatchObject({ error: { code: "JOURNAL_STATUS", message: expect.stringContaining("Expenses:Software") } });
  expect(await voided(correction)).toMatchObject({
    error: { code: "JOURNAL_STATUS", message: expect.stringContaining("is a correction") },
  });
  expect(await failure(undo(owner, run, { by: "Pat" }))).toMatchObject({
    code: "UNDO_REFUSED",
    message: expect.stringContaining("is corrected"),
  });
  await correct(owner, github, "5020");
  expect(await voided(github)).toMatchObject({ result: { void_entry_id: expect.any(String) } });
  await assertSound(owner);
});

it("the run's page has a button that asks once, and the answer moves the leg", async () => {
  const { owner, run, github } = await booked();
  const site = await listen(createStatusApp(createFacts(owner, createApi(owner)), owner.clock), 0);
  try {
    const page = await (await fetch(`${site.url}/runs/${run}`)).text();
    expect(page).toContain(`action="/entries/${github}/correct"`);
    expect(page).toMatch(/Booked[\s\S]*INVOICE 7[\s\S]*pending review[\s\S]*Income:<wbr>Services/);
    // What waits for its first decision has a card, and no button beside it.
    expect(page.match(/\/correct"/g)).toHaveLength(1);
    const unknown = { code: "ACCOUNT_UNKNOWN", message: expect.stringContaining("The nearest are") };
    expect(await failure(createApi(owner).correction({ entry: github, account: "9999" }))).toMatchObject(unknown);
    const token = /name="token" value="([^"]+)"/.exec(page)?.[1] ?? "";
    const post = (path: string, fields: Record<string, string>) =>
      fetch(site.url + path, {
        method: "POST",
        redirect: "manual",
        headers: { origin: site.url },
        body: new URLSearchParams({ token, ...fields }),
      });
    const first = await post(`/entries/${github}/correct`, {});
    expect(first.status).toBe(303);
    expect((await post(`/entries/${github}/correct`, {})).headers.get("location")).toBe(first.headers.get("location"));
    const [card, second] = owner.cards.list({ open: true, kind: "correction" });
    expect([card?.title, second]).toEqual(["GITHUB PRO", undefined]);
    await decideCard(
      owner,
      signAs(owner.dir, owner.trust, { ...asked(card as never), decision: "approved", account: "5070", at: owner.clock.now() }),
    );
    expect((await month(owner)).find(({ tags }) => tags["corrects"] === github)?.postings.map(({ account }) => account)).toEqual([
      "Expenses:Software",
      "Expenses:Telephone and Internet",
    ]);
  } finally {
    await site.close();
  }
});

it("a dry run of an import and a live one at the same time each read their own files", async () => {
  const one = await workspace();
  const owner = await host(one);
  one.write("in/tried.csv", OCTOBER.replaceAll("2026-10", "2026-08"));
  one.write("in/october.csv", OCTOBER);
  const start = (file: string, dryRun: boolean) => importFiles(owner, { files: [join(one.dir, "in", file)], dryRun, again: false });
  const imported = await Promise.all([start("tried.csv", true), start("october.csv", false), start("tried.csv", true)]);
  for (const { receipts } of imported) expect(receipts).toMatchObject([{ rows: 2, new: 2, refused: [] }]);
  expect((await month(owner)).map(({ description }) => description)).toContain("GITHUB PRO");
  expect(await month(owner, "journal/2026/08.journal")).toEqual([]);
});

it("an entry deleted together with its correction returns corrected", async () => {
  const { one, owner, github } = await booked();
  await correct(owner, github, "5070");
  const before = (await month(owner)).map(({ id, tags }) => [id, tags["corrects"] ?? ""]);
  const file = "journal/2026/10.journal";
  const gone = before.filter(([id, corrects]) => id === github || corrects === github).map(([id]) => id);
  expect(gone).toHaveLength(2);
  const kept = one
    .read(file)
    .split(/\n(?=\d{4}-)/)
    .filter((text) => !gone.some((id) => text.includes(`(${id})`)));
  one.commit({ [file]: kept.join("\n") }, "books: by hand");
  await revive(owner, { names: [github], leave: false, by: "Pat" });
  expect((await month(owner)).map(({ id, tags }) => [id, tags["corrects"] ?? ""])).toEqual(before);
  expect((await verifyBooks(owner.git.tree(await owner.git.head()), await owner.config())).findings).toEqual([]);
});

it("a card whose entry disappeared with a moved branch says so; the statement restores the entry, and a rejection closes the card", async () => {
  const { one, owner } = await booked();
  const card = owner.cards.list({ open: true, kind: "entry" })[0];
  const decide = (decision: "approved" | "rejected") =>
    decideCard(owner, signAs(owner.dir, owner.trust, { ...asked(card as never), decision, at: owner.clock.now() }));
  one.git("reset", "-q", "--hard", "HEAD~1");
  const told = await failure(decide("approved"));
  expect(told).toMatchObject({
    code: "JOURNAL_ENTRY_MISSING",
    message: expect.stringMatching(/card \d+ .*branch was moved.*Import the statement again/),
  });
  one.write("import/october.csv", OCTOBER);
  await importFiles(owner, { files: [join(one.dir, "import/october.csv")], dryRun: false, again: false });
  expect(await decide("approved")).toMatchObject({ commit: expect.any(String) });
  one.git("reset", "-q", "--hard", "HEAD~2");
  await assertSound(owner);
});
