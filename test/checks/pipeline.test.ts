/** The pipeline on real workspaces, through the operation behind `cleared check`: what is found, where, and what is left alone. */
import { afterAll, describe, expect, test } from "vitest";
import { checkFiles, type CheckedTree } from "../../runtime/cli/check-api.ts";
import { createApi } from "../../runtime/cli/api.ts";
import type { Host } from "../../runtime/cli/host.ts";
import { STATIC_CHECKS } from "../../runtime/checks/pipeline.ts";
import { formatAt } from "../../runtime/errors.ts";
import { host, removeAll, run, type Workspace, workspace } from "../engine/harness.ts";

afterAll(removeAll);

const header = (uses: string, more = "") => `/*\nname: Test\ndescription: test\nuses: [${uses}]\n${more}*/\n`;
const MACHINE =
  "process: paying\nrisk: medium\nstates:\n  ASSESS: look\n  COMPUTE: add up\n  POLICY_CHECK: limits\n  APPROVAL_GATE?: a person\n  MUTATE: pay\n";
const POLICY =
  "process: paying\nsource: test\nfacts: {amount: money}\nrules:\n  - {id: BIG, when: amount > 100, action: require_approval, description: big}\n";

let opened: Promise<{ one: Workspace; at: Host }> | null = null;
/** One for all tests that only look: a check changes nothing. */
const place = () => (opened ??= fresh());
async function fresh(): Promise<{ one: Workspace; at: Host }> {
  const one = await workspace();
  return { one, at: await host(one) };
}

const check = async (files: Record<string, string | null>, all = false): Promise<CheckedTree> =>
  checkFiles((await place()).at, { files, all });

/** `check: file:line:col CODE`, a remark in brackets. */
const told = ({ checks }: CheckedTree): string[] =>
  checks.flatMap(({ check: name, findings }) =>
    findings.map(({ at, code, remark }) => `${name}: ${remark === true ? `(${formatAt(at)} ${code})` : `${formatAt(at)} ${code}`}`),
  );
const status = ({ checks }: CheckedTree, name: string) => checks.find((one) => one.check === name)?.status;

describe("what is wrong is found, with its place, each in the check it belongs to", () => {
  const cases: [what: string, files: Record<string, string | null>, expected: (string | RegExp)[]][] = [
    ["a key of the header", { "agents/x.ts": "/*\nname: X\nusess: [ctx]\n*/\nctx_log('a')" }, ["header: agents/x.ts:3:1 SCRIPT_HEADER"]],
    [
      "a schedule nobody rings for",
      { "agents/x.ts": `${header("ctx", "schedule: 0 6 * * *\n")}ctx_log("a")` },
      ["header: agents/x.ts HEADER_TRIGGER"],
    ],
    ["a name agents cannot have", { "agents/Big.ts": `${header("ctx")}ctx_log("a")` }, ["header: agents/Big.ts:1 SCRIPT_HEADER"]],
    ["an unknown name", { "agents/x.ts": `${header("ctx")}ctx_lg("a")` }, ["lint: agents/x.ts:6:1 SCRIPT_UNKNOWN_NAME"]],
    ["an unknown key", { "agents/x.ts": `${header("ctx")}ctx_log({ mesage: "a" })` }, ["lint: agents/x.ts:6:1 SCRIPT_UNKNOWN_KEY"]],
    [
      "a sub-script that is not there",
      { "agents/x.ts": `${header("script")}script_run("gone", {})` },
      ["lint: agents/x.ts SCRIPT_MISSING"],
    ],
    [
      "types and money",
      { "agents/x.ts": `${header("importer")}const [row] = importer_parse("a");\nif (row.amount > "1") null;\nconst n: number = "x";` },
      ["types: agents/x.ts:7:5 SCRIPT_MONEY", "types: agents/x.ts:8:7 SCRIPT_TYPES"],
    ],
    [
      "a capability that is not declared",
      { "agents/x.ts": `${header("ctx")}journal_query({ limit: 1 })` },
      ["capabilities: agents/x.ts:6:1 SCRIPT_CAPABILITY"],
    ],
    [
      "an act of an agent that only looks",
      { "agents/x.ts": `${header("journal", "mutates: false\n")}journal_void({ entry_id: "a", reason: "because" })` },
      ["capabilities: agents/x.ts:7:1 FSM_READ_ONLY"],
    ],
    [
      "a machine without the look its figures rest on",
      { "agents/x.ts": `${header("fsm", "states: [COMPUTE]\n")}fsm_enter("COMPUTE")` },
      ["states: agents/x.ts FSM_MACHINE"],
    ],
    [
      "a risk without words",
      { "agents/x.ts": `${header("fsm", "risk: low\nstates: [ASSESS]\n")}fsm_enter("ASSESS")` },
      ["states: agents/x.ts FSM_MACHINE"],
    ],
    [
      "MUTATE without a policy before it",
      { "agents/x.ts": `${header("fsm", "states: [MUTATE]\n")}fsm_enter("MUTATE")` },
      ["states: agents/x.ts:5:1 FSM_MACHINE"],
    ],
    [
      "an act nobody can take back, without a gate",
      {
        "agents/x.ts": `${header("fsm, bank, policy", "states: [POLICY_CHECK, MUTATE]\n")}fsm_enter("POLICY_CHECK");\npolicy_evaluate({ facts: {}, policy: "payroll" });\nfsm_enter("MUTATE");\nbank_wire({ to: "A", amount: "1" })`,
      },
      ["states: agents/x.ts FSM_MACHINE"],
    ],
    [
      "a call in a state that forbids it",
      { "agents/x.ts": `${header("fsm, mcp", "states: [ASSESS]\n")}mcp_call({ tool: "erp/get_x", params: {} })` },
      ["states: agents/x.ts:7:1 FSM_STATE"],
    ],
    [
      "a policy a process needs",
      {
        "agents/x.ts": `${header("fsm, policy", MACHINE)}fsm_enter("ASSESS");\nfsm_enter("COMPUTE");\nfsm_enter("POLICY_CHECK");\npolicy_evaluate({ facts: { amount: "1" } })`,
      },
      ["policies: agents/x.ts:17:1 POLICY_UNKNOWN", /dry_run: .*POLICY_UNKNOWN|^$/],
    ],
    [
      "a rule",
      { "policies/paying.yaml": POLICY.replace("amount > 100", "amont > 100") },
      ["policies: policies/paying.yaml:5:15 POLICY_INVALID"],
    ],
    [
      "a case of a policy",
      { "policies/paying.yaml": `${POLICY}cases:\n  - {name: small, facts: {amount: "1"}, verdict: block}\n` },
      ["policies: policies/paying.yaml POLICY_CASE"],
    ],
    ["config.yaml", { "config.yaml": "business: {name: A}\ntimezne: UTC\n" }, ["config: config.yaml:2:1 CONFIG_INVALID"]],
    [
      "a dialect",
      { "importers/x.yaml": "name: x\ncolums: {}\ncolumns: {date: D, description: T, amount: A}\ndate: YYYY-MM-DD\n" },
      [/^importers: importers\/x\.yaml:\d/],
    ],
    [
      "a dialect that is there already",
      { "importers/x.yaml": "name: generic\ncolumns: {date: D, description: T, amount: A}\ndate: YYYY-MM-DD\n" },
      [/^importers: importers\/.*CONFIG_INVALID/],
    ],
    ["knowledge that is no text", { "knowledge/a.md": "fine\nnot\u0000fine" }, ["knowledge: knowledge/a.md:2 FILE_INVALID"]],
    ["letters that run backwards", { "knowledge/a.md": "pay \u202ESURE" }, ["knowledge: knowledge/a.md:1 FILE_INVALID"]],
  ];
  test.each(cases)("%s", async (_, files, expected) => {
    const found = told(await check(files)).filter((one) => !one.startsWith("dry_run") && !one.startsWith("invariants"));
    expect(found).toHaveLength(expected.filter((one) => typeof one === "string" || !one.test("")).length);
    for (const [i, one] of found.entries()) {
      const wanted = expected[i];
      if (typeof wanted === "string") expect(one).toBe(wanted);
      else expect(one).toMatch(wanted as RegExp);
    }
  });
});

test("every agent, script, policy and importer of the product passes, with nothing to remark", { timeout: 120_000 }, async () => {
  const { at } = await place();
  const checked = await checkFiles(at, {
    files: {
      ...Object.fromEntries(
        (await at.git.tree(await at.git.head()).list("agents/")).flatMap(({ path }) =>
          /(?:pay|send|wire|break|slowpay|quick)\.ts$/.test(path) ? [[path, null]] : [],
        ),
      ),
    },
    all: true,
  });
  expect(
    told(checked).filter((one) =>
      /agents\/(?:ar_|comp|cust|disp|exp|gen|hr_|inc|ing|inv|month|order|payroll|proc|sla|subs)|scripts\/|policies\/|importers\//.test(one),
    ),
  ).toEqual([]);
  expect(checked.checks.map((one) => one.check)).toEqual([...STATIC_CHECKS.map((one) => one.name), "dry_run", "invariants"]);
});

test("a change reaches the agents that call what changed, and no others", async () => {
  const { one } = await place();
  const agents = async (files: Record<string, string | null>) => (await check(files)).agents;
  expect(await agents({ "agents/ingest.ts": `${one.read("agents/ingest.ts")}\n` })).toEqual(["ingest"]);
  expect(await agents({ "scripts/payment_terms.ts": `${one.read("scripts/payment_terms.ts")}\n` })).toEqual(["invoice_reconciliation"]);
  expect(await agents({ "policies/payroll.yaml": `${one.read("policies/payroll.yaml")}\n` })).toEqual(["payroll"]);
  expect(await agents({ "importers/generic.yaml": `${one.read("importers/generic.yaml")}\n` })).toEqual(["ingest"]);
  expect(await agents({ "knowledge/a.md": "text" })).toEqual([]);
  expect(await agents({ "scripts/payment_terms.ts": null })).toEqual(["invoice_reconciliation"]);
});

test("one broken agent keeps none of the others from being checked", async () => {
  await place();
  const checked = await check({
    "agents/a.ts": `${header("ctx")}ctx_lg("a")`,
    "agents/b.ts": `${header("ctx")}ctx_log(1)`,
    "agents/c.ts": `${header("ctx")}ctx_log("fine")`,
  });
  expect(told(checked)).toEqual(["lint: agents/a.ts:6:1 SCRIPT_UNKNOWN_NAME", "types: agents/b.ts:6:9 SCRIPT_TYPES"]);
  expect(checked.dryRun.map(({ agent }) => agent)).toEqual(["b", "c"]);
});

describe("the dry run", () => {
  test("books made up statements, writes nothing, and says what it would do", async () => {
    const { one, at } = await place();
    const before = one.git("status", "--porcelain", "--ignored");
    const { dryRun } = await check({ "agents/ingest.ts": `${one.read("agents/ingest.ts")}\n` });
    expect(dryRun[0]?.lines.slice(0, 2)).toEqual([
      "without input:",
      expect.stringMatching(/^ {2}books 30 entries, .* of them wait for a review$/),
    ]);
    expect(one.git("status", "--porcelain", "--ignored")).toBe(before);
    expect(at.cards.list()).toEqual([]);
    expect(await at.engine.list({})).toEqual([]);
  });

  test("takes the newest recorded runs where there are any, and no bank is called", async () => {
    const { one, at } = await fresh();
    await run(at, "quick", { n: 7 });
    expect((await run(at, "pay")).status).toBe("waiting");
    const bank = one.bank();
    const { dryRun } = await checkFiles(at, {
      all: false,
      files: {
        "agents/quick.ts": `${one.read("agents/quick.ts")}\n`,
        "agents/pay.ts": `${one.read("agents/pay.ts")}\n`,
      },
    });
    expect(dryRun.map(({ agent, lines }) => [agent, lines])).toEqual([
      ["pay", expect.arrayContaining(["  asks: Pay ACME 120.00 USD?", `  calls bank_pay {"to":"ACME","amount":"120.00"} after a yes`])],
      ["quick", [expect.stringMatching(/^run_\w+:$/), `  answers {"n":7}`]],
    ]);
    expect(one.bank()).toEqual(bank);
  });

  test("says what it could not try, and asks no tool", async () => {
    const { one } = await place();
    const { dryRun, checks } = await check({ "agents/invoice_reconciliation.ts": `${one.read("agents/invoice_reconciliation.ts")}\n` });
    expect(dryRun[0]?.lines.at(-1)).toBe(
      "  not tried further: erp/get_invoice is not reachable from a check, and has not answered a recorded run",
    );
    expect(checks.filter(({ status }) => status === "failed")).toEqual([]);
  });

  test.each([
    [
      "a TypeError on an input the header allows",
      `const parts = input.name.split("-");\nif (input.name === "") parts[5].length;`,
      ["dry_run: agents/x.ts:9:33 SCRIPT_ERROR"],
    ],
    ["a value it compares with", `if (input.name === "zulu") (null as any).x;`, ["dry_run: agents/x.ts:8:42 SCRIPT_ERROR"]],
    ["an endless loop", "while (true) {}", [/^dry_run: agents\/x\.ts(?::\d+:\d+)? LIMIT_/]],
    [
      "an entry that does not balance",
      `journal_add({ date: ctx_today(), description: "x", key: "k", legs: [{ account: 5030, debit: "1.00" }, { account: 1010, credit: "2.00" }] });`,
      ["invariants: agents/x.ts:8:1 JOURNAL_UNBALANCED"],
    ],
    ["its own refusal, which is right", `if (input.name === "") throw new Error("Name somebody.");`, []],
    [
      "what it makes of a simulated answer, which is not held against it",
      `const done = bank_wire({ to: "A", amount: "1" }) as any;\ndone.receipt.number.length;`,
      [],
    ],
  ])("meets %s", async (_, body, expected) => {
    await place();
    const files = {
      "agents/x.ts": `${header("ctx, journal, bank, approval", "input: {name: {type: string, required: true}}\n")}// body\n${body}`,
    };
    const found = told(await check(files)).filter((one) => /^(?:dry_run|invariants)/.test(one));
    expect(found).toHaveLength(expected.length);
    for (const [i, one] of found.entries()) expect(one).toMatch(expected[i] ?? "");
  });
});

describe("an act that hangs on a day or on one odd value", () => {
  const pay = `bank_pay({ to: "A", amount: "1" })`;
  test.each([
    ["a day", `if (ctx_today() === "2027-03-01") ${pay};`, false],
    ["a day it leaves early for", `if (ctx_today() < "2027-03-01") return;\n${pay};`, false],
    ["the weekday", `const day = new Date(ctx_today()).getUTCDay();\nif (new Date(ctx_today()).getUTCDay() === 5) ${pay};`, false],
    ["an odd value, in a function", `function go() { ${pay}; }\nif (input.name === "V-4711") go();`, false],
    ["an odd value in a switch", `switch (input.name) { case "V-4711": ${pay}; }`, false],
    ["an odd value, behind another door", `input.name.startsWith("4711") && ${pay};`, false],
    [
      "a day, with a question before it",
      `if (ctx_today() === "2027-03-01") { approval_wait({ title: "Pay?", calls: [{ tool: "bank_pay", params: { to: "A", amount: "1" } }] }); ${pay}; }`,
      true,
    ],
    ["a day, for what it does otherwise too", `if (ctx_today() === "2027-03-01") ${pay};\nelse ${pay};`, true],
    ["a day, for what git can undo", `if (ctx_today() === "2027-03-01") journal_void({ entry_id: "a", reason: "because" });`, true],
    ["a word", `if (input.name === "open") ${pay};`, null],
    ["a threshold", `if (input.count > 1000) ${pay};`, null],
  ])("%s", async (_, body, remark) => {
    await place();
    const found = told(
      await check({
        "agents/x.ts": `${header("ctx, journal, bank, approval", "input: {name: {type: string, default: a}, count: {type: integer, default: 1}}\n")}${body}`,
      }),
    );
    const hidden = found.filter((one) => one.includes("CHECK_HIDDEN_BRANCH"));
    expect(hidden.map((one) => one.startsWith("capabilities: ("))).toEqual(remark === null ? [] : hidden.map(() => remark));
    expect(hidden.length > 0).toBe(remark !== null);
  });
});

describe("hostile sources end in findings, and the next check is unharmed", () => {
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
  ])("%s", { timeout: 30_000 }, async (what, source) => {
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

test("a finding says what its code means and what to do", async () => {
  await place();
  const { checks } = await check({ "agents/x.ts": `${header("ctx")}ctx_lg("a")` });
  expect(checks.flatMap(({ findings }) => findings)).toEqual([
    {
      code: "SCRIPT_UNKNOWN_NAME",
      at: { file: "agents/x.ts", line: 6, col: 1 },
      message: `"ctx_lg" is neither declared nor a primitive. Did you mean "ctx_log"?`,
      why: "The script uses a name that is neither declared nor a primitive.",
      todo: "Use the name the message suggests, or declare it.",
    },
  ]);
});

test("code nobody has checked is unchecked until it is, and what its checks found is remembered", { timeout: 60_000 }, async () => {
  const { one, at } = await fresh();
  const marks = async () => Object.fromEntries((await createApi(at).agents({})).map(({ name, checked }) => [name, checked]));
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
