import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, expect, test } from "vitest";
import { backtest } from "../../runtime/evidence/backtest.ts";
import type { BacktestReport, Code, Which } from "../../runtime/evidence/types.ts";
import { backtestLines } from "../../runtime/evidence/words.ts";
import { treeOver } from "../../runtime/workspace/tree-over.ts";
import type { Host } from "../../runtime/cli/host.ts";
import { closeAll, host, removeAll, run, workspace } from "../engine/harness.ts";

afterEach(closeAll);
afterAll(removeAll);

/** The report on an agent when these files are laid over HEAD. */
async function tried(opened: Host, agent: string, files: Record<string, string>, which: Which = { all: true }): Promise<BacktestReport> {
  const head = opened.git.tree(await opened.git.head());
  const code: Code = {
    tree: treeOver(head, new Map(Object.entries(files))),
    changed: Object.keys(files).filter((path) => !/^(agents|scripts)\//.test(path)),
  };
  return backtest(agent, code, { tree: head, changed: [] }, which, opened, { name: "tried" });
}

const lines = (report: BacktestReport) => backtestLines(report).map((line) => line.replaceAll(/run_[0-9A-Z]{14}/g, "RUN"));

const STATEMENT = readFileSync(join(import.meta.dirname, "../../examples/statements/chase-checking-2026-10.csv"), "utf8");

test("a rule that books elsewhere is told with the entry, the money and the first difference", async () => {
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
