/** All checks of a script together, with the real header parser. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { primitives } from "../../primitives/index.ts";
import { formatFinding } from "./format-finding.ts";
import { checkScript } from "../../runtime/change/checks/pipeline.ts";
import { readScripts } from "../../runtime/change/checks/read-scripts.ts";
import { inputType } from "../../runtime/change/checks/typecheck.ts";
import { createRegistry } from "../../runtime/kernel/registry.ts";
import { createSandbox } from "../../runtime/sandbox/pool.ts";
import { parseTrust } from "../../runtime/workspace/settings/config.ts";
import { treeOver } from "../../runtime/workspace/git/tree.ts";

const registry = createRegistry(primitives);
const nothing = { commit: "0".repeat(40), read: async () => null, blob: async () => null, list: async () => [] };
const file = "agents/pay.ts";
const source = `/*
name: Pay
uses: [ctx, jornal]
input: { amount: { type: money, required: true }, note: { type: string } }
*/
ctx_log({ mesage: input.note });
if (input.amount > "10") journal_void({ entry_id: "x", reason: 1 });
input.amont`;

const sandbox = createSandbox({ slots: 1, jit: false });
afterAll(() => sandbox.close());

it("findings of all checks come in source order, each once", async () => {
  const found = await checkScript({ tree: treeOver(nothing, new Map([[file, source]])), registry, trust: parseTrust(""), sandbox }, file);
  expect(found.map(formatFinding)).toEqual([
    expect.stringMatching(
      /^agents\/pay\.ts SCRIPT_CAPABILITY uses: names "jornal", which is not a known domain\. Did you mean "journal"\?/,
    ),
    expect.stringMatching(/^agents\/pay\.ts:6:1 SCRIPT_UNKNOWN_KEY ctx_log has no key "mesage"\. Did you mean "message"\?/),
    expect.stringMatching(/^agents\/pay\.ts:7:5 SCRIPT_MONEY The operator > /),
    expect.stringMatching(/^agents\/pay\.ts:7:26 SCRIPT_CAPABILITY journal_void needs "journal"/),
    expect.stringMatching(/^agents\/pay\.ts:8:7 SCRIPT_TYPES Property 'amont' does not exist/),
  ]);
});

it("a sub-script's header is parsed like an agent's; a comment without a name is prose", async () => {
  const calls = '/*\nname: Pay\nuses: [script]\n*/\nscript_run("a");\nscript_run("b");\nscript_run("c")';
  const tree = treeOver(
    nothing,
    new Map([
      [file, calls],
      ["scripts/a.ts", "// Ours.\n/**\n * name: A\n * input: {day: {type: dat}}\n */\n(1)"],
      ["scripts/b.ts", "/* Adds: nothing, up: to anything */\n(1)"],
      ["scripts/c.ts", "/*\nname: C\ninput: {day: {type: date}}\n*/\n(1)"],
    ]),
  );
  const found = await checkScript({ tree, registry, trust: parseTrust(""), sandbox }, file);
  expect(found.map(formatFinding)).toEqual([expect.stringMatching(/^scripts\/a\.ts:4:\d+ SCRIPT_HEADER .*dat/)]);
});

it("the type of input follows the header: required, defaulted, optional, enumerated", () => {
  expect(
    inputType({
      amount: { type: "money", required: true },
      day: { type: "date", default: "2026-11-06" },
      kind: { type: "string", enum: ["a", "b"] },
      rows: { type: "list" },
    }),
  ).toBe('{ amount: Money; day: string; kind?: "a" | "b"; rows?: any[] }');
  expect(inputType({})).toBeUndefined();
});

async function remarksOn(files: Map<string, string>) {
  const tree = treeOver(nothing, files);
  const { findings } = await readScripts({ tree, registry, trust: parseTrust(""), sandbox, paths: [], files: [file] });
  return findings.filter(({ code, remark }) => code === "SCRIPT_PLANNED" && remark === true);
}

const GATED = `/*
name: Pay
uses: [approval, mcp, compute, notify]
input: { amount: { type: money, required: true } }
*/
const pay = { amount: input.amount, pay_date: "2026-01-02" };
const fee = compute_percent_of({ amount: pay.amount, pct: "2" }).result;
const text = \`pays \${pay.amount}\`;
const calls = [{ tool: "erp/pay", params: { id: "I-1", ...pay, fee } }];
const asked = approval_wait({ title: text, calls });
const [paid] = asked.calls;
`;
it.each([
  ["notify_send({ to: 'a', subject: 'b', text: pay.amount.concat(pay.pay_date), key: 'k' });", ["12:44 pay.amount", "12:62 pay.pay_date"]],
  ["({ total: compute_percent_of({ amount: fee, pct: '1' }).result });", ["12:40 fee"]],
  ["({ text });", ["12:4 text"]],
  ["({ each: asked.calls.map(({ params: { fee } }) => fee) });", []],
  ["({ fee: paid?.params.fee ?? fee, on: pay.pay_date });", ["12:38 pay.pay_date"]],
])("using a planned value after the gate is found: %s", async (line, expected) => {
  const files = new Map([[file, `${GATED}${line}\n`]]);
  const planned = await remarksOn(files);
  expect(planned.map(({ at, message }) => `${at.line}:${at.col} ${message.split(" ")[0]}`)).toEqual(expected);
});

// Each way in which a value of the calls, or what was made of it, can reach what is told. lines[0] stands before the gate.
it.each<[from: string, told: string]>([
  ["", "calls[0].params.amount"],
  ["", "calls.at(-1)?.params.fee"],
  ["const [first] = calls;", "first.params.amount"],
  ["const [{ params: { fee: cost } }] = calls;", "cost"],
  ["", "JSON.stringify(calls)"],
  ["", "calls.map((one) => one.params.fee)"],
  ["", '"paid " + fee'],
  ["const said = 'paid ' + pay.amount;", "said"],
  ["const base = new Decimal(fee);", "base.toFixed(2)"],
  ["", "new Decimal(fee).times(2).toFixed(2)"],
  ["const half = new Decimal(fee).div(2).toFixed(2);", "half"],
  ["const say = () => 'paid ' + fee;", "say()"],
  ["function say() { return 'paid ' + fee; }", "say()"],
  ["const kept = { x: pay };", "kept.x.amount"],
  ["const kept = pay;", "kept.amount"],
  ["const { amount } = pay;", "amount"],
  ["const { amount } = pay;", "pay.amount"],
  ["const told: any = {}; told.fee = fee;", "told.fee"],
  ["const lines: any[] = []; for (const one of calls) lines.push(one.params.fee);", "lines"],
  ["const lines: any[] = []; for (const { params: { fee: cost } } of calls) lines.push(cost);", "lines"],
  ["let said = ''; for (const one of calls) said += one.params.fee;", "said"],
  ["const lines: any[] = []; calls.forEach((one) => { lines.push(one.params.fee); });", "lines"],
  ["const lines: any[] = []; calls.forEach(({ params }) => lines.push(params.fee));", "lines"],
  ["let said = ''; calls.forEach((one) => { said = said + one.params.fee; });", "said"],
  ["const total = calls.reduce((sum, one) => sum.plus(one.params.fee), new Decimal(0));", "total.toFixed(2)"],
  ["const told: any = Object.assign({}, pay);", "told.amount"],
  ["const told: any = {}; Object.assign(told, { fee });", "told.fee"],
  ["", "input.amount"],
  ["const base = new Decimal(input.amount);", "base.toFixed(2)"],
])("a figure of the calls that is told after the gate is found: %s %s", async (from, told) => {
  const text = GATED.replace("const asked", `${from}\nconst asked`).replace("...pay, fee", "amount: input.amount, ...pay, fee");
  expect((await remarksOn(new Map([[file, `${text}({ told: ${told} });\n`]]))).length).toBeGreaterThan(0);
  // The same value before the gate, or from what was approved, is not.
  const fine = `${GATED.replace("const asked", `${from}\ndata_put({ path: 'data/a.yaml', value: [${told}] });\nconst asked`)}({ told: paid?.params });\n`;
  expect(await remarksOn(new Map([[file, fine]]))).toEqual([]);
});

it("a computation of the calls that is written again after the gate is found, another one is not", async () => {
  const fee = (pct: string) => `compute_percent_of({ amount: found.amount, pct: "${pct}" }).result`;
  const read = `const found = mcp_record({ tool: "erp/get_invoice", params: { id: "I-1" } });\nconst fee = ${fee("2")};`;
  const text = GATED.replace(/^const fee.*$/m, () => read);
  const on = async (told: string) =>
    (await remarksOn(new Map([[file, `${text}({ told: ${told} });\n`]]))).map(({ message }) => message.split(" ")[0]);
  expect(await on(fee("2").replace("({", "(\n{"))).toEqual(["compute_percent_of"]);
  expect(await on(fee("3"))).toEqual([]);
});

it.each(["params: pay", "params: { ...pay }", "params: first ? pay : other", "params: makes()"])(
  "an act with what was planned instead of what was approved is found: %s",
  async (params) => {
    const calls = `const first = true;\nconst other = { amount: "1.00" };\nfunction makes() { return pay; }\nconst calls = [{ tool: "erp/pay", ${params} }];`;
    const text = GATED.replace(/^const calls.*$/m, calls);
    const planned = await remarksOn(new Map([[file, `${text}mcp_call({ tool: "erp/pay", params: pay });\n`]]));
    expect(planned.map(({ message }) => message.split(" ")[0])).toEqual(["pay"]);
  },
);

it.each([
  ["let list = calls;", "list = asked.calls;\n({ list });"],
  ["const many = calls.length;", "({ many, again: calls.length, tool: calls[0].tool });"],
  ["const owed = !new Decimal(fee).isZero();", '({ text: owed ? "owed" : "not owed" });'],
  ["const about = policy_evaluate({ facts: { fee } });", "({ verdict: about.summary });"],
])("what no edit changes may be told: %s %s", async (from, rest) => {
  const text = GATED.replace("const asked", `${from}\nconst asked`).replace(
    "calls });",
    `calls: ${from.includes("list") ? "list" : "calls"} });`,
  );
  expect(await remarksOn(new Map([[file, `${text}${rest}\n`]]))).toEqual([]);
});

const HANDED = `/*
name: Order
uses: [mcp, script, approval]
input: { order_id: { type: string, required: true }, carrier: { type: string } }
*/
const { order_id, carrier } = input;
const today = mcp_call("erp/get_business_date");
const due_on = script_run("days", { from: today, add: 30 }).day;
const small = today > "2026";
const calls = script_run("order_calls", { order_id, carrier, today, due_on, small });
const { made } = script_run("carry_out", { title: "Order?", calls, ask: true });
`;
it.each([
  ["({ order_id, carrier, today, small });", []],
  ["({ due_on, made });", ["12:4 due_on"]],
  ['script_run("order_done", { made, due_on });', ["12:34 due_on"]],
  ['script_run("order_done", { made, planned: { due_on } });', []],
])("values passed to the script that makes the calls are planned values, facts are not: %s", async (line, expected) => {
  const scripts = ["days", "order_calls", "carry_out", "order_done"].map((name) => [`scripts/${name}.ts`, "1;\n"] as const);
  const planned = await remarksOn(new Map([[file, `${HANDED}${line}\n`], ...scripts]));
  expect(planned.map(({ at, message }) => `${at.line}:${at.col} ${message.split(" ")[0]}`)).toEqual(expected);
});

it.each(['fsm_enter("COMPUTE");', 'const entered = fsm_enter("COMPUTE");', 'if (small) fsm_enter("COMPUTE");'])(
  "what a script answers after ASSESS has been left by %s is planned",
  async (leaves) => {
    const text = HANDED.replace("const today", 'fsm_enter("ASSESS");\nconst today').replace("const due_on", `${leaves}\nconst due_on`);
    const scripts = ["days", "order_calls", "carry_out"].map((name) => [`scripts/${name}.ts`, "1;\n"] as const);
    const planned = await remarksOn(new Map([[file, `${text}({ due_on, made });\n`], ...scripts]));
    expect(planned.map(({ message }) => message.split(" ")[0])).toEqual(["due_on"]);
  },
);

it("a planned value that nobody may change may be used", async () => {
  const fixed = `${GATED.replace("title: text, calls", "title: text, calls, fixed: true")}({ fee });\n`;
  expect(await remarksOn(new Map([[file, fixed]]))).toEqual([]);
});

it("no agent of the product uses planned values", async () => {
  const root = join(import.meta.dirname, "../..");
  const names = ["agents", "scripts", "examples/pay/agents"].flatMap((folder) =>
    readdirSync(join(root, folder)).map((name) => `${folder}/${name}`),
  );
  const tree = treeOver(nothing, new Map(names.map((name) => [name, readFileSync(join(root, name), "utf8")])));
  const files = names.filter((name) => !name.startsWith("scripts/"));
  const { findings } = await readScripts({ tree, registry, trust: parseTrust(""), sandbox, paths: [], files });
  const planned = findings.filter(({ code }) => code === "SCRIPT_PLANNED");
  expect(planned.map(({ at, message }) => `${at.file}:${at.line}:${at.col} ${message.slice(0, 60)}`)).toEqual([]);
});
