/** Large histories: a report stays small whatever it tells of, its counts and sums are of all, and the rest is there on demand. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { importFiles } from "../../runtime/app/imports.ts";
import { differencesOf, propose } from "../../runtime/app/proposals-api.ts";
import { host, removeAll, workspace } from "../engine/harness.ts";

afterAll(removeAll);

const ROWS = 4000;
const STATEMENTS = 3;

function statement(year: number): string {
  const row = (n: number) =>
    `DEBIT,${String(1 + (n % 12)).padStart(2, "0")}/${String(1 + (n % 28)).padStart(2, "0")}/${year},${n % 2 === 0 ? "AMZN MKTP" : "CORNER COFFEE"} ${n},-1.0${n % 10},DEBIT_CARD,,`;
  return `Details,Posting Date,Description,Amount,Type,Balance,Check or Slip #\n${Array.from({ length: ROWS }, (_, n) => row(n)).join("\n")}\n`;
}

test("thousands of changed rows give a report of some hundred kB with all counts, small cases, and every line on demand", async () => {
  const one = await workspace();
  const owner = await host(one);
  for (let n = 0; n < STATEMENTS; n++) {
    const file = join(one.dir, `.cleared/statement-${n}.csv`);
    writeFileSync(file, statement(2020 + n));
    await importFiles(owner, { files: [file], dryRun: false, again: false });
  }
  const from = join(one.dir, ".cleared/proposed");
  mkdirSync(join(from, "agents"), { recursive: true });
  const text = one.read("agents/ingest.ts");
  writeFileSync(join(from, "agents/ingest.ts"), text.replace('"AMZN", account: 5030', '"AMZN", account: 5020'));
  const seen: number[] = [];
  const { proposal } = await propose(
    { ...owner, progress: new Proxy(owner.progress, { set: (to, key, value) => seen.push(1) > 0 && Reflect.set(to, key, value) }) },
    { title: "Amazon is software", reason: "", by: "Pat", paths: [], from },
  );
  expect(proposal.state).toBe("ready");
  expect(seen.length).toBeGreaterThanOrEqual(STATEMENTS);
  const { backtests, freezes } = proposal.report ?? { backtests: [], freezes: {} };
  const [report] = backtests;
  const changed = (STATEMENTS * ROWS) / 2;
  expect(report).toMatchObject({ runs: STATEMENTS, counts: { changed: STATEMENTS }, entries: changed });
  expect(report?.moves).toEqual([
    expect.objectContaining({ from: "Expenses:Office Supplies", to: "Expenses:Software", entries: changed, currency: "USD" }),
  ]);
  const listed = report?.differences.flatMap(({ entries }) => entries) ?? [];
  const omitted = report?.differences.reduce((sum, one) => sum + (one.omitted?.entries ?? 0), 0) ?? 0;
  expect([listed.length <= 200, listed.length + omitted]).toEqual([true, changed]);
  expect(JSON.stringify(proposal.report).length).toBeLessThan(300_000);
  expect(Math.max(...Object.values(freezes).map((one) => one.length))).toBeLessThan(15_000);

  const lines: string[] = [];
  for (let at: number | null = 0; at !== null; ) {
    const { runs, next } = await differencesOf(owner, { id: proposal.id, agent: "ingest", from: at });
    lines.push(...runs.flatMap(({ why }) => why));
    at = next;
  }
  expect(lines.filter((line) => line.includes("Expenses:Office Supplies 1.0"))).toHaveLength(changed);
});
