/** A script that needs a data file which came after the recorded runs is tried with it. */
import { afterAll, expect, test } from "vitest";
import { proposeFiles } from "../../runtime/app/proposals-api.ts";
import { host, removeAll, run, workspace } from "../engine/harness.ts";

afterAll(removeAll);

const HEADER = "/*\nname: Fees\nuses: [data, journal]\ninput: {key: {type: string, default: one}}\n*/\n";
const book = (account: string) =>
  `journal_add_double({ date: "2026-11-06", description: "Fee " + input.key, debit_account: ${account}, credit_account: 1010, amount: "5.00", key: input.key, status: "auto-confirmed" });\n1;\n`;
const READS =
  'const kept = data_read("fees/accounts.json");\nif (kept.found !== true) throw new Error("no data/fees/accounts.json");\nconst known = JSON.parse(kept.text);\n';

async function proposed(accounts: string, script: string, before = HEADER + book("5030")) {
  const one = await workspace({ "agents/fees.ts": before });
  const owner = await host(one);
  for (const key of ["one", "two"]) expect(await run(owner, "fees", { key })).toMatchObject({ status: "done", error: null });
  const both = { "data/fees/accounts.json": accounts, "agents/fees.ts": script };
  await expect(proposeFiles(owner, { title: "Both", reason: "", by: "Pat", files: both })).rejects.toMatchObject({
    code: "PROPOSAL_PATH",
    message: expect.stringContaining("commit it with git, and propose what needs it then"),
  });
  one.commit({ "data/fees/accounts.json": accounts, "data/other.json": "{}" });
  const { report, state } = await proposeFiles(owner, { title: "By list", reason: "", by: "Pat", files: { "agents/fees.ts": script } });
  const findings = report?.checks.flatMap((check) => check.findings.map(({ code }) => `${check.check} ${code}`));
  const [tried] = report?.backtests ?? [];
  return { state, findings, counts: tried?.counts, differences: tried?.differences.flatMap((one) => one.why) };
}

test("without an effect nothing is reported, and a changed result is reported as a change", async () => {
  const script = `${HEADER}${READS}${book("known.account")}`;
  const same = await proposed('{"account": 5030}', script);
  expect(same).toMatchObject({ state: "ready", findings: [], counts: { same: 2, failed: 0, worse: 0 } });
  const moved = await proposed('{"account": 5020}', script);
  expect(moved).toMatchObject({ counts: { failed: 0 } });
  expect(JSON.stringify(moved.differences)).toContain("Expenses:Software");
  expect(await proposed('{"acount": 5030}', script)).toMatchObject({ state: "blocked", counts: { failed: 2 } });
});

test("code that reads a missing data file if it exists is tried on what the run had", async () => {
  const lenient = `${HEADER}const kept = data_read("fees/accounts.json");\nconst known = kept.found === true ? JSON.parse(kept.text) : { account: 5030 };\n`;
  const done = await proposed('{"account": 5020}', `${lenient}${book("known.account")}`);
  expect(done).toMatchObject({ state: "ready", findings: [], counts: { same: 2, failed: 0 } });
});
