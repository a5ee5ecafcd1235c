/** What lint says about states without running a script: only what goes wrong on every way to a call. Through the real compiler. */
import { afterAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { primitives } from "../../primitives/index.ts";
import { lintReadOnly } from "../../runtime/change/checks/lint.ts";
import { lintStates } from "../../runtime/change/checks/states.ts";
import { formatAt } from "../../runtime/kernel/errors.ts";
import { definePrimitive } from "../../runtime/kernel/primitive.ts";
import { createRegistry } from "../../runtime/kernel/registry.ts";
import { parseHeader } from "../../runtime/scripts/header.ts";
import { createSandbox } from "../../runtime/sandbox/pool.ts";

const bank_pay = definePrimitive({
  ...{ name: "bank_pay", effect: "external", access: "external", summary: "Pay.", errors: [], example: "bank_pay({})" },
  ...{ params: z.object({}), returns: z.null(), run: () => null, dryRun: () => null },
} as const);
const registry = createRegistry([...primitives, bank_pay]);
const sandbox = createSandbox({ slots: 1 });
afterAll(() => sandbox.close());

const ALL = "[DECOMPOSE, ASSESS, COMPUTE, POLICY_CHECK, APPROVAL_GATE?, MUTATE, SCHEDULE_NOTIFY, COMPLETE]";
const FIXED = ALL.replace("?", "");

async function compiled(source: string, file: string) {
  const { compiled, findings } = await sandbox.compile(source, { file, blob: source, lint: true, primitives: registry.names() });
  if (compiled === null) throw new Error(findings.map((one) => one.message).join("; "));
  return compiled;
}

/** `LINE:COL CODE` of each finding, or with the message. */
async function found(script: string, { states = ALL, subs = {} as Record<string, string>, said = false } = {}): Promise<string[]> {
  const machine = parseHeader(`/*\nname: X\nstates: ${states}\n*/`, "a.ts").machine;
  if (machine === null) throw new Error("no machine");
  const entries = Object.entries(subs).map(async ([name, text]) => [name, await compiled(text, `scripts/${name}.ts`)] as const);
  const scripts = { "": await compiled(script, "a.ts"), ...Object.fromEntries(await Promise.all(entries)) };
  return lintStates(scripts, machine, registry).findings.map(
    (one) => `${formatAt(one.at).replace("a.ts:", "")} ${one.code}${said ? ` ${one.message}` : ""}`,
  );
}

const AT_MUTATE =
  'fsm_enter("ASSESS"); fsm_enter("COMPUTE"); fsm_enter("POLICY_CHECK"); policy_evaluate({ facts: {} }); fsm_enter("APPROVAL_GATE"); approval_wait({ title: "t", calls: [] }); fsm_enter("MUTATE");\n';

describe("a call in a state that forbids it", () => {
  it.each<[string, string, string[]]>([
    ["right at the start", 'git_commit("x")', ["1:1 FSM_STATE"]],
    ["after the state it needs", `${AT_MUTATE}git_commit("x"); fsm_enter("SCHEDULE_NOTIFY");\ngit_commit("y")`, ["3:1 FSM_STATE"]],
    ["where it is allowed", `${AT_MUTATE}git_commit("x")`, []],
    ["a read in COMPUTE", 'fsm_enter("ASSESS"); journal_query({}); fsm_enter("COMPUTE");\njournal_query({})', ["2:1 FSM_STATE"]],
    ["on one of two ways only: the host decides", 'fsm_enter("ASSESS"); if (input.x) fsm_enter("COMPUTE");\njournal_query({})', []],
    [
      "on both ways",
      'fsm_enter("ASSESS"); if (input.x) { fsm_enter("COMPUTE") } else { fsm_enter("COMPUTE") }\njournal_query({})',
      ["2:1 FSM_STATE"],
    ],
    ["behind a return", 'if (input.x) { return 1; git_commit("x"); } ctx_log("y")', []],
    ["the way that returns does not count", 'fsm_enter("ASSESS"); if (input.x) { fsm_enter("COMPUTE"); return 1; }\njournal_query({})', []],
    [
      "the way that stays does",
      'fsm_enter("ASSESS"); fsm_enter("COMPUTE"); if (input.x) { return 1; }\njournal_query({})',
      ["2:1 FSM_STATE"],
    ],
    ["in a conditional expression", 'const x = input.x ? git_commit("x") : 1;', ["1:21 FSM_STATE"]],
    ["in a loop that moves", 'for (const x of input.list) { if (x) fsm_enter("ASSESS"); else journal_query({}) }', []],
    [
      "in a loop that never comes there",
      'for (const x of input.list) {\ngit_commit("x"); if (x) fsm_enter("ASSESS"); }',
      ["2:1 FSM_STATE"],
    ],
    ["after a break", 'for (const x of input.list) { fsm_enter("ASSESS"); break; }\njournal_query({})', []],
    ["in every case of a switch", 'switch (input.x) { case 1: fsm_enter("ASSESS"); break; default: return 1 }\njournal_query({})', []],
    [
      "in a case",
      'switch (input.x) { case 1: fsm_enter("ASSESS"); break; case 2:\ngit_commit("x"); break; default: ctx_log("x") }',
      ["2:1 FSM_STATE"],
    ],
  ])("%s", async (_, script, wanted) => {
    expect(await found(script)).toEqual(wanted);
  });

  it("is reported with the state, where it is allowed and what to write", async () => {
    expect(await found('fsm_enter("ASSESS");\ngit_commit("x")', { said: true })).toEqual([
      '2:1 FSM_STATE git_commit is allowed not in ASSESS, where the run is here, only in MUTATE. Move it behind fsm_enter("MUTATE").',
    ]);
    expect(await found('git_commit("x")', { states: "[DECOMPOSE, ASSESS, COMPLETE]", said: true })).toEqual([
      expect.stringContaining("only in MUTATE. Add that state to the header's states:, or drop the call."),
    ]);
  });
});

describe("functions and sub-scripts", () => {
  it.each<[string, string, string[]]>([
    ["a function is judged where it is called", 'fsm_enter("ASSESS");\nsave();\nfunction save() { git_commit("x") }', ["3:19 FSM_STATE"]],
    ["and fine elsewhere", `const save = () => git_commit("x");\n${AT_MUTATE}save()`, []],
    ["one of two calls is wrong", `const save = () => git_commit("x");\nsave();\n${AT_MUTATE}save()`, ["1:20 FSM_STATE"]],
    ["a function that moves the run", 'function read() { fsm_enter("ASSESS"); }\nread();\njournal_query({})', []],
    ["a recursive one ends", 'function f(n) { if (n > 0) { ctx_log("x"); f(n - 1); } }\nf(3);\ngit_commit("x")', ["3:1 FSM_STATE"]],
    [
      "a recursive one that moves",
      'function f(n) { if (n > 0) { fsm_enter("ASSESS"); f(n - 1); } }\nf(3);\njournal_query({}); git_commit("x")',
      [],
    ],
    ["a callback of a method runs there", 'input.list.map((x) => git_commit("x"))', ["1:23 FSM_STATE"]],
    ["a named callback too", 'const save = () => git_commit("x");\ninput.list.forEach(save)', ["1:20 FSM_STATE"]],
    [
      "a function handed to a function runs nobody knows when",
      `const at = (f) => { ${AT_MUTATE.trim()} f(); };\nat(() => git_commit("x"))`,
      [],
    ],
    ["a function kept in an object neither", `const o = { save: () => git_commit("x") };\n${AT_MUTATE}o.save()`, []],
    [
      "a parameter hides a function of the same name",
      'const save = () => git_commit("x");\nconst each = (save) => save();\neach(() => 1)',
      [],
    ],
    ["a variable that changes is no function one knows", `let f = () => 1;\nf = () => git_commit("x");\n${AT_MUTATE}f()`, []],
    ["a state that is computed may be any", "fsm_enter(input.state);\njournal_query({}); ", []],
  ])("%s", async (_, script, wanted) => {
    expect(await found(script)).toEqual(wanted);
  });

  it("a sub-script starts in its caller's state, and moves it", async () => {
    const subs = { save: 'git_commit("x")', read: 'fsm_enter("ASSESS");\nif (input.a) return 1;\njournal_query({})' };
    expect(await found('script_run("save", {})', { subs })).toEqual(["scripts/save.ts:1:1 FSM_STATE"]);
    expect(await found(`${AT_MUTATE}script_run("save", {})`, { subs })).toEqual([]);
    expect(await found('script_run("read", {});\njournal_query({});\nscript_run({ name: "save" })', { subs })).toEqual([
      "scripts/save.ts:1:1 FSM_STATE",
    ]);
  });
});

describe("moves", () => {
  it.each<[string, string, string[]]>([
    ["a state that does not follow", 'fsm_enter("COMPUTE")', ["1:1 FSM_EDGE"]],
    [
      "MUTATE without the verdict",
      'fsm_enter("ASSESS"); fsm_enter("COMPUTE"); fsm_enter("POLICY_CHECK");\nfsm_enter("MUTATE")',
      ["2:1 FSM_GATE"],
    ],
    [
      "MUTATE after the verdict may pass",
      'fsm_enter("ASSESS"); fsm_enter("COMPUTE"); fsm_enter("POLICY_CHECK"); policy_evaluate({ facts: {} });\nfsm_enter("MUTATE")',
      [],
    ],
    [
      "the verdict on one way only: the host decides",
      'fsm_enter("ASSESS"); fsm_enter("COMPUTE"); fsm_enter("POLICY_CHECK"); if (input.a) policy_evaluate({ facts: {} });\nfsm_enter("MUTATE")',
      [],
    ],
    ["one mistake is told once", 'fsm_enter("MUTATE");\ngit_commit("x"); fsm_enter("SCHEDULE_NOTIFY");', ["1:1 FSM_EDGE"]],
    [
      "back to the gate and on",
      `${AT_MUTATE}fsm_enter("APPROVAL_GATE"); approval_wait({ title: "t", calls: [] }); fsm_enter("MUTATE")`,
      [],
    ],
    ["back to the gate without asking", `${AT_MUTATE}fsm_enter("APPROVAL_GATE");\nfsm_enter("MUTATE")`, ["3:1 FSM_GATE"]],
    [
      "an escalation is left by way of the gate",
      'fsm_enter("ESCALATE"); fsm_enter("APPROVAL_GATE");\napproval_wait({ title: "t", calls: [] })',
      [],
    ],
    ["and by no other", 'fsm_enter("ESCALATE");\nfsm_enter("ASSESS")', ["2:1 FSM_EDGE"]],
    ["nothing follows the end", 'fsm_enter("FAILED");\nfsm_enter("ASSESS")', ["2:1 FSM_EDGE"]],
  ])("%s", async (_, script, wanted) => {
    expect(await found(script)).toEqual(wanted);
  });

  it("a fixed gate cannot be skipped, nor passed without asking", async () => {
    const start = 'fsm_enter("ASSESS"); fsm_enter("COMPUTE"); fsm_enter("POLICY_CHECK"); policy_evaluate({ facts: {} });\n';
    expect(await found(`${start}fsm_enter("MUTATE")`, { states: FIXED })).toEqual(["2:1 FSM_EDGE"]);
    expect(await found(`${start}fsm_enter("APPROVAL_GATE");\nfsm_enter("MUTATE")`, { states: FIXED })).toEqual(["3:1 FSM_GATE"]);
  });
});

describe("tools", () => {
  const reading = 'fsm_enter("ASSESS");\n';
  it.each<[string, string, string[]]>([
    ["a tool that writes outside MUTATE", `${reading}mcp_call({ tool: "erp/pay_invoice", params: {} })`, ["2:1 FSM_STATE"]],
    ["a const is followed", `${reading}const pay = { tool: "erp/pay_invoice", params: {} };\nmcp_call(pay)`, ["3:1 FSM_STATE"]],
    ["a name of a const too", `${reading}const tool = "erp/pay_invoice";\nmcp_call({ tool, params: {} })`, ["3:1 FSM_STATE"]],
    ["what is changed is not", `${reading}const pay = { tool: "erp/pay_invoice", params: {} }; pay.tool = input.t;\nmcp_call(pay)`, []],
    ["a spread is not", `${reading}const pay = { tool: "erp/pay_invoice", ...input.x };\nmcp_call(pay)`, []],
    ["a tool that reads", `${reading}mcp_call({ tool: "erp/get_invoice", params: {} })`, []],
    ["a tool nobody knows", `${reading}mcp_call({ tool: input.tool, params: {} })`, []],
    [
      "a tool nobody knows, where neither is allowed",
      `${reading}fsm_enter("COMPUTE");\nmcp_call({ tool: input.tool, params: {} })`,
      ["3:1 FSM_STATE"],
    ],
    ["a plugin that acts outside", `${reading}bank_pay({})`, ["2:1 FSM_STATE"]],
  ])("%s", async (_, script, wanted) => {
    expect(await found(script)).toEqual(wanted);
  });

  it("an agent with mutates: false may only read", async () => {
    const { calls } = await compiled(
      'journal_query({});\nmcp_call({ tool: "erp/get_x", params: {} });\nmcp_call({ tool: input.t });\ngit_commit("x");\nmcp_call({ tool: "erp/delete_x", params: {} });\nctx_emit("x")',
      "a.ts",
    );
    expect(lintReadOnly(calls, registry).map((one) => `${one.at.line} ${one.code}`)).toEqual([
      "4 FSM_READ_ONLY",
      "5 FSM_READ_ONLY",
      "6 FSM_READ_ONLY",
    ]);
  });
});

it("the calls of a script in each state are listed", async () => {
  const { calls, flow } = await compiled(`${AT_MUTATE}mcp_call({ tool: "erp/pay_invoice", params: {} }); git_commit("x")`, "a.ts");
  const machine = parseHeader(`/*\nname: X\nstates: ${ALL}\n*/`, "a.ts").machine;
  const told = lintStates({ "": { calls, flow } }, machine ?? { states: [], hash: "" }, registry).calls;
  expect([...(told.get("MUTATE") ?? [])]).toEqual(["erp/pay_invoice", "git_commit"]);
  expect([...(told.get("POLICY_CHECK") ?? [])]).toEqual(["policy_evaluate", "fsm_enter"]);
});

it("nested loops and long chains of functions take no noticeable time", async () => {
  const loops = `${"for (const a of input.list) { ".repeat(60)}fsm_enter(input.s);${"}".repeat(60)}\n`;
  const chain = Array.from({ length: 1500 }, (_, i) => `function f${i}() { f${i + 1}(); f${i + 1}(); }`).join("\n");
  expect(await found(loops)).toEqual([]);
  expect(await found(`${chain}\nfunction f1500() { git_commit("x") }\nf1440()`)).toHaveLength(1);
  expect(await found(`${chain}\nfunction f1500() { git_commit("x") }\nf0()`)).toEqual([]);
});
