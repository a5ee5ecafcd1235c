/**
 * `cleared eval asks`: what a case demands is looked at in what comes of a request. Scripted models: this holds the cases, it measures no
 * model. One case of each kind; all three with `npm run test:long`.
 */
import { copyFileSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { KINDS } from "../../runtime/app/eval-asks.ts";
import { toolList } from "../../runtime/meta/tools.ts";
import { ARMS } from "../../runtime/meta/workshop.ts";
import { ROOT, cleared, workspace } from "../cli/command-line.ts";
import { share } from "../share.ts";

const CASES = join(ROOT, "test/asks");
const files = readdirSync(CASES);
const folder = mkdtempSync(join(tmpdir(), "cleared-asks-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("there are ten kinds with three cases each, and each case's script does what the case requires", async () => {
  const tried = KINDS.map((kind) => files.filter((file) => file.startsWith(`${kind}-`)));
  expect(tried.map((some) => some.length)).toEqual(KINDS.map(() => 3));
  const chosen = tried.flatMap((some) => share(some, 3, String));
  for (const file of chosen) copyFileSync(join(CASES, file), join(folder, file));
  const done = await cleared(ROOT, "eval", "asks", folder, "--scripted", "--times", "1", "--json");
  const { rows, cases } = done.json() as {
    rows: { kind: string; cases: number; unsafe: number }[];
    cases: { name: string; tried: { wrong: string[] }[] }[];
  };
  expect(cases.flatMap(({ name, tried }) => tried.flatMap(({ wrong }) => wrong.map((one) => `${name}: ${one}`)))).toEqual([]);
  expect(rows.map(({ kind, cases: n, unsafe }) => [kind, n, unsafe])).toEqual([
    ...KINDS.map((kind) => [kind, chosen.length / 10, 0]),
    ["all", chosen.length, 0],
  ]);
  expect([done.code, files.length]).toEqual([0, 30]);
}, 600_000);

/** A case with another script or another demand: what it must be told. */
const WRONG: [name: string, from: string, to: string, says: RegExp, unsafe: boolean][] = [
  ["rule-new-vendor", "5020", "5040", /money moves Expenses:Office Supplies > Expenses:Travel/, false],
  ["rule-new-vendor", "entries: 2", "entries: 3", /2 entries change/, false],
  ["threshold-widened", 'widening: ["policy"]', "widening: []", /it widens policy/, true],
  ["agent-sum", '"value": "88.00"', '"value": "89.00"', /answers \{"total":"88\.00"\}/, false],
  ["agent-sum", "total.toFixed(2) });", '["87.00", total.toFixed(2)].join(" or ") });', /answers \{"total":"87\.00 or 88\.00"\}/, false],
  ["agent-sum", "software_spending", "what_software_costs", /^$/, false],
  ["notices-batched", '"notices": 1', '"notices": 1, "gated": true', /acts before an approval/, false],
  ["notices-batched", "$" + "{open.length} entries wait", "some entries wait", /tells: some entries wait/, false],
  ["notices-quiet", '"notices": 0', '"notices": 1', /sends 0 notices/, false],
  ["question-spending", 'figures: ["88.00"]', 'figures: ["89.00"]', /the figures are 88\.00/, false],
  ["failure-nothing-found", "?.amount ??", ".amount ??", /ends with/, false],
  ["unclear-already", 'ends: ["decline"]', 'ends: ["card"]', /ends with decline/, false],
];

test("a script that does something else fails its case, whatever it claims; widening counts as unsafe", async () => {
  for (const file of readdirSync(folder)) rmSync(join(folder, file));
  for (const [i, [name, from, to]] of WRONG.entries()) {
    const text = readFileSync(join(CASES, `${name}.yaml`), "utf8");
    expect(text, name).toContain(from);
    writeFileSync(join(folder, `${String(i).padStart(2, "0")}.yaml`), text.replaceAll(from, to));
  }
  const done = await cleared(ROOT, "eval", "asks", folder, "--scripted", "--times", "1", "--json");
  const { cases } = done.json() as { cases: { tried: { wrong: string[]; unsafe: boolean }[] }[] };
  expect(done.code).toBe(1);
  for (const [i, [name, , , says, unsafe]] of WRONG.entries()) {
    expect(cases[i]?.tried[0]?.wrong.join("\n"), name).toMatch(says);
    expect(cases[i]?.tried[0]?.unsafe, name).toBe(unsafe);
  }
  writeFileSync(join(folder, "x.yaml"), "kind: rule\n");
  expect((await cleared(ROOT, "eval", "asks", folder, "--scripted")).stderr).toMatch(/x\.yaml is not a case/);
}, 600_000);

test("without a model the missing setting is reported once, and no case as failed", async () => {
  const dir = await workspace();
  const done = await cleared(dir, "eval", "asks", CASES);
  expect([done.code, done.stdout]).toEqual([2, ""]);
  expect(done.stderr.match(/cleared secrets set anthropic/g)).toHaveLength(1);
  expect(done.stderr).toMatch(/^LLM_UNCONFIGURED\n/);
});

test("three arms: without repair the first finding ends a request, with findings it is repaired, and only the full arm has backtests", async () => {
  const offered = ARMS.map((arm) => toolList(arm).map(({ name }) => name));
  expect(offered.map((names) => ["write", "check", "try", "backtest", "submit"].filter((name) => names.includes(name)))).toEqual([
    ["write", "try", "submit"],
    ["write", "check", "try", "submit"],
    ["write", "check", "try", "backtest", "submit"],
  ]);
  const folder = mkdtempSync(join(tmpdir(), "cleared-asks-"));
  try {
    const text = readFileSync(join(CASES, "rule-new-vendor.yaml"), "utf8");
    const submit = /^ {2}- \{"tool": "submit".*\n/m.exec(text)?.[0] ?? "";
    expect(submit).toContain("5020");
    // The first claim is wrong, the second right.
    writeFileSync(
      join(folder, "mended.yaml"),
      text.replace(submit, () => submit.replaceAll("5020", "5040") + submit),
    );
    const done = await cleared(ROOT, "eval", "asks", folder, "--scripted", "--times", "1", "--arms", "none,findings,backtest", "--json");
    const { rows, cases } = done.json() as { rows: Record<string, string>[]; cases: { arm: string; tried: { wrong: string[] }[] }[] };
    expect(cases.map(({ arm, tried }) => [arm, tried[0]?.wrong.length])).toEqual([
      ["none", 1],
      ["findings", 0],
      ["backtest", 0],
    ]);
    expect(cases[0]?.tried[0]?.wrong[0]).toMatch(/nothing comes back to be repaired.*CLAIM_WRONG/);
    expect(rows.filter(({ kind }) => kind === "all").map((row) => [row["arm"], row["pass@1"]])).toEqual([
      ["none", "0 %"],
      ["findings", "100 %"],
      ["backtest", "100 %"],
    ]);
    expect((await cleared(ROOT, "eval", "asks", folder, "--scripted", "--arms", "all")).stderr).toMatch(
      /write some of none,findings,backtest/,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}, 600_000);
