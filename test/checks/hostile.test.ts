/** Sources that want to hang, crash or flood the checks, and code whose checks are remembered. */
import { afterAll, describe, expect, test, vi } from "vitest";
import { checkAgent, checkFiles } from "../../runtime/app/check-api.ts";
import { createApi } from "../../runtime/app/api.ts";
import { keepChecking } from "../../runtime/app/marks.ts";
import { removeAll } from "../engine/harness.ts";
import { check, fresh, header, place, status, told } from "./checked.ts";

afterAll(removeAll);

describe("hostile sources end in findings, and do not affect the next check", () => {
  const fill = (text: string) => `${header("ctx")}${text}`;
  test.each([
    ["brackets without end", fill("[".repeat(30_000))],
    ["a line of a megabyte", fill(`ctx_log("${"x".repeat(1_000_000)}")`)],
    ["zero bytes", fill("ctx_log(\u0000)")],
    ["ten thousand errors", fill("nope();".repeat(8000))],
    ["ten thousand type errors", fill("ctx_log(1);\n".repeat(4000))],
    ["four thousand days it leaves for", fill(`${`if (ctx_today() === "2027-01-01") return;\n`.repeat(1500)}ctx_log("a")`)],
    ["a header as a bomb", `/*\nname: ${"{a: ".repeat(4000)}\n*/\nctx_log("a")`],
    ["nothing", ""],
    ["half a character", fill('ctx_log("\ud800")')],
  ])("%s", async (what, source) => {
    await place();
    const checked = await check({ "agents/x.ts": source });
    const all = checked.checks.flatMap(({ findings }) => findings);
    if (!what.includes("days") && !what.includes("half")) expect(all.length).toBeGreaterThan(0);
    expect(Math.max(...checked.checks.map(({ findings }) => findings.length))).toBeLessThanOrEqual(50);
    expect(JSON.stringify(checked).length).toBeLessThan(300_000);
    expect(told(await check({ "agents/y.ts": `${header("ctx")}ctx_log("fine")` }))).toEqual([]);
    expect(status(checked, "config")).toBe("ok");
  });
});

test("code counts as unchecked until it is checked, and its findings are remembered", async () => {
  const { one, at } = await fresh();
  const marks = async () => Object.fromEntries((await createApi(at).agents()).map(({ name, checked }) => [name, checked]));
  const look = (...paths: string[]) =>
    checkFiles(at, { files: Object.fromEntries(paths.map((path) => [path, one.read(path)])), all: false });
  expect((await marks())["quick"]).toBeNull();
  await look("agents/quick.ts", "agents/ingest.ts", "agents/invoice_reconciliation.ts");
  expect((await marks())["quick"]).toEqual({ findings: 0, first: null });
  one.commit({ "agents/quick.ts": `${header("ctx")}ctx_log(1)` });
  expect((await marks())["quick"]).toBeNull();
  expect((await marks())["ingest"]).toEqual({ findings: 0, first: null });
  await look("agents/quick.ts");
  expect((await marks())["quick"]).toEqual({ findings: 1, first: "agents/quick.ts:6 SCRIPT_TYPES" });
  // A sub-script is part of the code of those that call it.
  one.commit({ "scripts/payment_terms.ts": `${one.read("scripts/payment_terms.ts")}\n` });
  const now = await marks();
  expect([now["invoice_reconciliation"], now["ingest"]]).toEqual([null, { findings: 0, first: null }]);
});

test("the owner checks unchecked code, after the start and after each commit", async () => {
  const { one, at } = await fresh();
  const others = (await at.agents()).map(({ name }) => name).filter((name) => name !== "quick");
  one.git("rm", "-q", "--", ...others.map((name) => `agents/${name}.ts`));
  one.git("commit", "-q", "-m", "agent: one left");
  const found = async (wanted: unknown) =>
    vi.waitFor(async () => expect((await createApi(at).agents()).map(({ checked }) => checked)).toEqual([wanted]), {
      timeout: 60_000,
      interval: 200,
    });
  const failures: unknown[] = [];
  const checking = keepChecking(
    at,
    (agent) => checkAgent(at, agent),
    (error) => failures.push(error),
    50,
  );
  try {
    await found({ findings: 0, first: null });
    one.commit({ "agents/quick.ts": `${header("ctx")}ctx_log(1)` });
    await found({ findings: 1, first: "agents/quick.ts:6 SCRIPT_TYPES" });
  } finally {
    await checking.stop();
  }
  expect(failures).toEqual([]);
});
