/** The pipeline on real workspaces, through the operation behind `cleared check`: what is found, where, and what is left alone. */
import { afterAll, describe, expect, test } from "vitest";
import { checkFiles } from "../../runtime/app/check-api.ts";
import { STATIC_CHECKS } from "../../runtime/change/checks/pipeline.ts";
import { host, removeAll, workspace } from "../engine/harness.ts";
import { check, fresh, header, place, told } from "./checked.ts";

afterAll(removeAll);

const MACHINE =
  "process: paying\nrisk: medium\nstates:\n  ASSESS: look\n  COMPUTE: add up\n  POLICY_CHECK: limits\n  APPROVAL_GATE?: a person\n  MUTATE: pay\n";
const POLICY =
  "process: paying\nsource: test\nfacts: {amount: money}\nrules:\n  - {id: BIG, when: amount > 100, action: require_approval, description: big}\n";

describe("each fault is found, with its place, by the check responsible", () => {
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
    [
      "an account that config.yaml names",
      { "config.yaml": 'business: {name: A}\nstatements:\n  - match: {file: "a-*.csv"}\n    account: 1011\n' },
      ["config: config.yaml:4:5 ACCOUNT_UNKNOWN"],
    ],
    [
      "an account that no bank has statements of",
      { "config.yaml": 'business: {name: A}\nstatements:\n  - match: {file: "a-*.csv"}\n    account: 4010\n' },
      ["config: config.yaml:4:5 CONFIG_INVALID"],
    ],
    [
      "a channel that config.yaml names",
      { "config.yaml": "business: {name: A}\nnotify:\n  default: ops\n" },
      ["config: config.yaml:3:3 NOTICE_CHANNEL"],
    ],
    [
      "a dialect that config.yaml names",
      { "config.yaml": "business: {name: A}\nstatements:\n  - match: {dialect: chaes-card}\n    account: 1010\n    dialect: genreic\n" },
      ["config: config.yaml:5:5 CONFIG_INVALID", "config: config.yaml:3:13 CONFIG_INVALID"],
    ],
    [
      "a fact that goes by another name in the policy",
      {
        "policies/x.yaml": POLICY.replace("paying", "x").replaceAll("amount", "total"),
        "agents/x.ts": `${header("policy")}const facts = { amount: "1" };\npolicy_evaluate({ facts });\n`,
      },
      ["policies: agents/x.ts:7:1 POLICY_FACT", "policies: policies/x.yaml:3:9 POLICY_FACT"],
    ],
    [
      "a fact that one of two ways gives, beside others that are not known",
      {
        "policies/x.yaml": POLICY.replace("paying", "x"),
        "agents/x.ts": `${header("policy", "input: {more: {type: object}}\n")}policy_evaluate({ facts: input.more ? { total: "1", ...input.more } : {} });\n`,
      },
      ["policies: agents/x.ts:7:1 POLICY_FACT"],
    ],
    ["knowledge that is no text", { "knowledge/a.md": "fine\nnot\u0000fine" }, ["knowledge: knowledge/a.md:2 FILE_INVALID"]],
    ["letters that run backwards", { "knowledge/a.md": "pay \u202ESURE" }, ["knowledge: knowledge/a.md:1 FILE_INVALID"]],
  ];
  test.each(cases)("%s", async (_, files, expected) => {
    // The workspace's own agents pay what they planned, and its person has no id at the ERP, which are remarks.
    const found = told(await check(files)).filter((one) => !/^dry_run|^invariants|(?:SCRIPT_PLANNED|APPROVAL_SELF)\)$/.test(one));
    expect(found).toHaveLength(expected.filter((one) => typeof one === "string" || !one.test("")).length);
    for (const [i, one] of found.entries()) {
      const wanted = expected[i];
      if (typeof wanted === "string") expect(one).toBe(wanted);
      else expect(one).toMatch(wanted as RegExp);
    }
  });
});

test("removing something that the settings still use is reported, as is what becomes unused", async () => {
  const { one, at } = await fresh();
  one.commit({
    "config.yaml": one
      .read("config.yaml")
      .replace("statements: []", "statements: [{match: {file: a.csv}, account: 1010, dialect: generic}]"),
    "policies/x.yaml": POLICY.replace("paying", "x"),
    "agents/x.ts": `${header("policy")}policy_evaluate({ facts: { amount: "1" } });\n`,
  });
  const after = async (files: Record<string, string | null>) => told(await checkFiles(at, { files, all: false }));
  expect(await after({ "importers/generic.yaml": null })).toEqual([expect.stringMatching(/^config: config\.yaml:\d+:\d+ CONFIG_INVALID$/)]);
  expect(await after({ "policies/x.yaml": one.read("policies/x.yaml").replaceAll("amount", "total") })).toEqual([
    "policies: agents/x.ts:6:1 POLICY_FACT",
    "policies: policies/x.yaml:3:9 POLICY_FACT",
  ]);
  const other = one.read("agents/x.ts").replace("{ facts", '{ policy: "payroll", facts');
  expect(
    await after({ "agents/x.ts": other.replace("/*\n", "/*\nprocess: payroll\n"), "policies/x.yaml": `${one.read("policies/x.yaml")}\n` }),
  ).toContain("policies: (policies/x.yaml POLICY_FACT)");
});

test("an agent named in trust.yaml, and a level that nobody there has, are remarks only", async () => {
  const one = await workspace();
  const key = "MCowBQYDK2VwAyEA";
  const people = `people:\n  - {name: Ann, key: "${key}${"A".repeat(42)}E=", roles: [manager]}\n  - {name: Bob, key: "${key}${"B".repeat(42)}E=", roles: [manager]}\n`;
  const trust = one
    .read("trust.yaml")
    .replace(/^people:(?:.*\n)(?: .*\n)*/m, people)
    .replace(/^anonymous: \[\].*$/m, "anonymous: [quick]");
  one.commit({
    "trust.yaml": trust,
    "policies/x.yaml": POLICY.replace("paying", "x").replace("require_approval", "require_approval, level: cfo"),
    "agents/x.ts": `${header("policy")}policy_evaluate({ facts: { amount: "1" } });\n`,
  });
  const at = await host(one);
  const { checks } = await checkFiles(at, {
    files: { "agents/quick.ts": null, "policies/x.yaml": `${one.read("policies/x.yaml")}\n` },
    all: false,
  });
  const line = trust.split("\n").findIndex((text) => text.startsWith("anonymous:")) + 1;
  expect(told({ checks } as never)).toEqual([
    `config: (trust.yaml:${line}:1 AGENT_UNKNOWN)`,
    "policies: (policies/x.yaml:5:61 APPROVAL_LEVEL)",
  ]);
});

test("every agent, script, policy and importer of the product passes without a remark, but that the person has no id at the ERP", async () => {
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
  ).toEqual(["policies: (policies/expense_approval.yaml:11:1 APPROVAL_SELF)", "policies: (policies/procurement.yaml:10:1 APPROVAL_SELF)"]);
  expect(checked.checks.map((one) => one.check)).toEqual([...STATIC_CHECKS.map((one) => one.name), "cases", "dry_run", "invariants"]);
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

test("a change of settings reaches the agents that read the changed key, or all if every run uses it", async () => {
  const { one } = await place();
  const config = one.read("config.yaml");
  const agents = async (from: string, to: string) => (await check({ "config.yaml": config.replace(from, to) })).agents;
  const every = (await check({}, true)).agents;
  expect(await agents("branch: main ", "branch: main # as ever ")).toEqual([]);
  expect(await agents("port: 4310", "port: 4311")).toEqual([]);
  expect(await agents("auto_confirm: 0.95", "auto_confirm: 0.9")).toEqual(["ingest"]);
  expect(await agents("auto_confirm: 0.95", "auto_confirm: 0.95\n  other: 1")).toEqual([]);
  expect(await agents("settle_seconds: 0", "settle_seconds: 3")).toEqual(["ingest"]);
  expect(await agents("statements: []", "statements: [{match: {bank_account: a}, account: 1020}]")).toEqual(["ingest"]);
  expect(await agents("currency: USD", "currency: EUR")).toEqual(every);
  expect(await agents("privacy: {}", "privacy: {health: {inbound: refuse}}")).toEqual(every);
  expect(await agents("business:", "business: [")).toEqual(every);
});

test("one broken agent does not keep the others from being checked", async () => {
  await place();
  const checked = await check({
    "agents/a.ts": `${header("ctx")}ctx_lg("a")`,
    "agents/b.ts": `${header("ctx")}ctx_log(1)`,
    "agents/c.ts": `${header("ctx")}ctx_log("fine")`,
  });
  expect(told(checked)).toEqual([
    "lint: agents/a.ts:6:1 SCRIPT_UNKNOWN_NAME",
    "types: agents/b.ts:6:9 SCRIPT_TYPES",
    "dry_run: (agents/b.ts:6:1 PARAMS_INVALID)",
  ]);
  expect(checked.dryRun.map(({ agent }) => agent)).toEqual(["b", "c"]);
});

test("a finding includes the meaning of its code and the remedy", async () => {
  await place();
  const { checks } = await check({ "agents/x.ts": `${header("ctx")}ctx_lg("a")` });
  expect(checks.flatMap(({ findings }) => findings)).toEqual([
    {
      code: "SCRIPT_UNKNOWN_NAME",
      at: { file: "agents/x.ts", line: 6, col: 1 },
      message: `"ctx_lg" is neither declared nor a primitive. Did you mean "ctx_log"?`,
      why: "The script uses a name that is neither declared nor a primitive.",
      todo: "Use the suggested name, or declare it.",
    },
  ]);
});

test("a schedule that never occurs is a finding at its line", async () => {
  const scheduled = (cron: string) => `/*\nname: Close\ntrigger: schedule\nschedule: ${cron}\n*/\n1\n`;
  for (const cron of ["0 25 * * *", "0 0 31 2 *", "0 0 31 4,6 *", "every day"])
    expect(told(await check({ "agents/close.ts": scheduled(`"${cron}"`) })), cron).toEqual(["header: agents/close.ts:4 HEADER_TRIGGER"]);
  for (const cron of ["0 6 * * *", "0 0 29 2 *"])
    expect(told(await check({ "agents/close.ts": scheduled(`"${cron}"`) })), cron).toEqual([]);
});
