import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, expect, test } from "vitest";
import { checkFiles } from "../../runtime/app/check-api.ts";
import { closeAll, host, removeAll, run, workspace } from "../engine/harness.ts";
import { lines, tried } from "./trials.ts";

afterEach(closeAll);
afterAll(removeAll);

const STATEMENT = readFileSync(join(import.meta.dirname, "../../examples/statements/chase-checking-2026-10.csv"), "utf8");

test("a rule that books to another account is reported with the entry, the money and the first difference", async () => {
  const one = await workspace();
  one.write("import/october.csv", STATEMENT);
  const opened = await host(one);
  const ended = await run(opened, "ingest");
  expect(ended.status).toBe("done");
  const same = await tried(opened, "ingest", { "agents/ingest.ts": `${one.read("agents/ingest.ts")}\n// nothing changed\n` });
  expect(lines(same)).toMatchInlineSnapshot(`
    [
      "backtest on 1 real run: 1 same, 0 changed, 0 worse, 0 not replayable",
    ]
  `);
  const report = await tried(opened, "ingest", {
    "agents/ingest.ts": one.read("agents/ingest.ts").replace(`{ text: "AWS", account: 5020`, `{ text: "AWS", account: 5030`),
  });
  expect(lines(report)).toMatchInlineSnapshot(`
    [
      "backtest on 1 real run: 0 same, 1 changed, 0 worse, 0 not replayable",
      "  1 entry  Expenses:Software -> Expenses:Office Supplies  127.50 USD  net 0.00 USD",
      "  RUN changed: 2026-10-02 AWS *SERVICES AWS.AMAZON.COM: Expenses:Software 127.50 USD, Assets:Bank:Checking -127.50 USD -> Expenses:Office Supplies 127.50 USD, Assets:Bank:Checking -127.50 USD; first difference: step 4, journal_add_many.entries.1.debit_account 5020 -> 5030",
    ]
  `);
});

test("an entry whose status alone changes moves no money", async () => {
  const one = await workspace();
  one.write("import/october.csv", STATEMENT);
  const opened = await host(one);
  expect((await run(opened, "ingest")).status).toBe("done");
  const changed = one
    .read("agents/ingest.ts")
    .replace(`{ text: "AWS", account: 5020`, `{ text: "AWS", account: 5030`)
    .replace(
      `{ text: "GITHUB", account: 5020, vendor: "GitHub", confidence: 0.98`,
      `{ text: "GITHUB", account: 5020, vendor: "GitHub", confidence: 0.5`,
    );
  const { entries, money, net, moves, differences } = await tried(opened, "ingest", { "agents/ingest.ts": changed });
  expect([entries, net]).toEqual([2, { USD: "0.00" }]);
  expect(moves.map(({ from, to, entries: count, amount }) => [from, to, count, amount])).toEqual([
    ["Expenses:Software", "Expenses:Office Supplies", 1, "127.50"],
  ]);
  const held = [
    ["Expenses:Software", "2026-10", "127.50", "0.00", "-127.50"],
    ["Expenses:Office Supplies", "2026-10", "0.00", "127.50", "127.50"],
  ];
  for (const told of [money, differences[0]?.money ?? []])
    expect(told.map(({ account, month, was, now, difference }) => [account, month, was, now, difference])).toEqual(held);
});

test("a synthetic statement never collides with proven balances of real ones", async () => {
  const one = await workspace();
  one.write("import/october.csv", STATEMENT);
  const opened = await host(one, { clock: { now: () => Date.UTC(2026, 9, 20, 12) } });
  expect((await run(opened, "ingest")).status).toBe("done");
  expect(one.read("journal/2026/10.journal")).toContain("= 9208.54 USD");
  const files = { "agents/second.ts": one.read("agents/ingest.ts").replace("Daily Ingest", "Second ingest") };
  const { checks, dryRun } = await checkFiles(opened, { files, all: false });
  expect(checks.filter(({ status }) => status === "failed")).toEqual([]);
  expect(dryRun[0]?.lines.join("\n")).toContain("books 30 entries");
});
