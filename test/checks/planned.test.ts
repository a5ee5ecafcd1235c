/** However the calls of a gate are built, what they were built of is not told after it. */
import { afterAll, expect, it } from "vitest";
import { primitives } from "../../primitives/index.ts";
import { readScripts } from "../../runtime/change/checks/read-scripts.ts";
import { createRegistry } from "../../runtime/kernel/registry.ts";
import { createSandbox } from "../../runtime/sandbox/pool.ts";
import { treeOver } from "../../runtime/workspace/git/tree.ts";
import { parseTrust } from "../../runtime/workspace/settings/config.ts";

const nothing = { commit: "0".repeat(40), read: async () => null, blob: async () => null, list: async () => [] };
const registry = createRegistry(primitives);
const sandbox = createSandbox({ slots: 1, jit: false });
afterAll(() => sandbox.close());

const HEAD = `/*
name: Credit
uses: [script, compute, mcp]
input: { contract_id: { type: string, required: true } }
*/
const { contract_id } = input;
const fee = mcp_record({ tool: "erp/get_contract", params: { contract_id } }).fee;
const credit = compute_percent_of({ amount: fee, pct: "10" }).result;
const other = compute_percent_of({ amount: fee, pct: "20" }).result;
const title = "Credit?";
const reason = "too slow";
const asks = { title, ask: true };
`;
const CALL = `{ tool: "erp/apply_credit", params: { contract_id, amount: credit, reason } }`;
const ASKED = `const { by, made } = script_run("carry_out", { title, calls, ask: true });`;

async function remarksOn(script: string, more: Record<string, string> = {}): Promise<string[]> {
  const scripts = ["carry_out", "done"].map((name) => [`scripts/${name}.ts`, "1;\n"] as const);
  const files = new Map([["agents/credit.ts", script], ...scripts, ...Object.entries(more)]);
  const context = { tree: treeOver(nothing, files), registry, trust: parseTrust(""), sandbox, paths: [], files: ["agents/credit.ts"] };
  const { findings } = await readScripts(context);
  return findings.flatMap(({ code, at, message }) => (code === "SCRIPT_PLANNED" ? [`${at.file}: ${message.split(" ")[0]}`] : []));
}

it.each<[how: string, before: string, asked?: string, told?: string]>([
  ["by a helper", `const one = (amount: any) => ({ tool: "a", params: { amount } });\nconst calls = [one(credit)];`],
  [
    "by a helper of a helper",
    `function params(a: any) { return { amount: a }; }\nconst one = (x: any) => ({ tool: "a", params: params(x) });\nconst calls = [one(credit)];`,
  ],
  [
    "by a helper of an object",
    `const one = ({ sum }: any) => ({ tool: "a", params: { amount: sum } });\nconst calls = [one({ sum: credit })];`,
  ],
  [
    "by a helper of a row, told from the row",
    `const row = { amount: mcp_record({ tool: "erp/x", params: { contract_id } }).fee };\nconst one = ({ amount }: any) => ({ tool: "a", params: { amount } });\nconst calls = [one(row)];`,
    ASKED,
    "row.amount",
  ],
  ["under another name", `const first = [${CALL}];\nconst second = first;\nconst calls = second;`],
  ["in a variable of the question", `const q: any = { ...asks, calls: [${CALL}] };`, `const { by } = script_run("carry_out", q);`],
  ["put into the question", `const q: any = { title };\nq.calls = [${CALL}];`, `const { by } = script_run("carry_out", q);`],
  ["spread into the question", `const calls = [${CALL}];`, `const { by } = script_run("carry_out", { title, ...{ calls } });`],
  [
    "by a helper that asks",
    `const ask = (q: any) => script_run("carry_out", q);\nconst calls = [${CALL}];`,
    "const { by } = ask({ title, calls, ask: true });",
  ],
  ["copied one by one", `const first = [${CALL}];\nconst calls = first.map((c: any) => ({ ...c }));`],
  ["copied as text", `const first = [${CALL}];\nconst calls = JSON.parse(JSON.stringify(first));`],
  ["in a loop over amounts", `const calls: any[] = [];\nfor (const amount of [credit]) calls.push({ tool: "a", params: { amount } });`],
  ["of pairs", `const calls = [[credit, reason]].map(([a, r]: any) => ({ tool: "a", params: { amount: a, reason: r } }));`],
  ["from a field by its name", `const all: any = { credit: [${CALL}] };\nconst calls = all["credit"];`],
  ["by an index", `const all = [[${CALL}]];\nconst calls = all[0];`],
  ["in a map, told from it", `const m = new Map<string, any>();\nm.set("a", credit);\nconst calls = [${CALL}];`, ASKED, `m.get("a")`],
  [
    "put into a map",
    `const m = new Map<string, any>();\nm.set("a", ${CALL});`,
    `const { by } = script_run("carry_out", { title, calls: [...m.values()] });`,
  ],
  [
    "told from what a helper wrote",
    `const reg: any = {};\nconst put = (k: string, v: any) => { reg[k] = v; };\nput("a", credit);\nconst calls = [${CALL}];`,
    ASKED,
    "reg.a",
  ],
  [
    "told beside the answer of the gate",
    `const calls = [${CALL}];`,
    `const out = { amount: credit, by: script_run("carry_out", { title, calls }).by };`,
    "out.amount",
  ],
  ["of the entries of an object", `const calls = Object.entries({ a: credit }).map(([k, v]) => ({ tool: k, params: { amount: v } }));`],
  ["by Array.from", `const calls = Array.from([credit], (a: any) => ({ tool: "a", params: { amount: a } }));`],
  ["by a function that is called at once", `const calls = (() => [${CALL}])();`],
  ["by a helper in an object", `const h = { one: (a: any) => ({ tool: "a", params: { amount: a } }) };\nconst calls = [h.one(credit)];`],
  ["by a default", `const one = (a: any = credit) => ({ tool: "a", params: { amount: a } });\nconst calls = [one()];`],
  ["as a text", `const calls = [{ tool: "a", params: { amount: \`\${credit}\` } }];`],
  ["by reduce", `const calls = [credit].reduce((list: any[], a: any) => [...list, { tool: "a", params: { amount: a } }], []);`],
  [
    "by reduce that pushes",
    `const calls = [credit].reduce((list: any[], a: any) => { list.push({ tool: "a", params: { amount: a } }); return list; }, []);`,
  ],
  [
    "in a loop by an index",
    `const amounts = [credit];\nconst calls: any[] = [];\nfor (let i = 0; i < amounts.length; i++) calls.push({ tool: "a", params: { amount: amounts[i] } });`,
  ],
  [
    "in a loop over keys",
    `const o: any = { a: credit };\nconst calls: any[] = [];\nfor (const k in o) calls.push({ tool: "a", params: { amount: o[k] } });`,
  ],
  ["as a Decimal", `const calls = [{ tool: "a", params: { amount: new Decimal(credit).toFixed(2) } }];`],
  ["assigned later", `let calls: any[] = [];\nif (fee) calls = [${CALL}];`],
  ["by concat", `const calls = ([] as any[]).concat([${CALL}]);`],
  [
    "pushed by a helper",
    `const calls: any[] = [];\nconst add = (amount: any) => { calls.push({ tool: "a", params: { amount } }); };\nadd(credit);`,
  ],
  [
    "pushed by a helper that is given the list",
    `const calls: any[] = [];\nconst add = (list: any[], amount: any) => { list.push({ tool: "a", params: { amount } }); };\nadd(calls, credit);`,
  ],
  ["by a callback that has a name", `const one = (a: any) => ({ tool: "a", params: { amount: a } });\nconst calls = [credit].map(one);`],
  [
    "by a helper that a helper makes",
    `const mk = (tool: string) => (a: any) => ({ tool, params: { amount: a } });\nconst calls = [mk("a")(credit)];`,
  ],
  ["got from a map", `const m = new Map([["a", credit]]);\nconst calls = [{ tool: "a", params: { amount: m.get("a") } }];`],
  ["from entries", `const params = Object.fromEntries([["amount", credit]]);\nconst calls = [{ tool: "a", params }];`],
  ["by a rest", `const all = { amount: credit, note: 1 };\nconst { note, ...params } = all;\nconst calls = [{ tool: "a", params }];`],
  ["set in its place", `const calls: any[] = [{ tool: "a", params: {} }];\ncalls[0].params.amount = credit;`],
  [
    "set by a helper",
    `const params: any = {};\nconst fill = (k: string, v: any) => { params[k] = v; };\nfill("amount", credit);\nconst calls = [{ tool: "a", params }];`,
  ],
  ["in a choice", `const calls = fee ? [{ tool: "a", params: { amount: fee ? credit : "0" } }] : [];`],
  ["in a condition", `const calls = [fee && ${CALL}].filter(Boolean);`],
  [
    "by spread arguments",
    `const one = (a: any) => ({ tool: "a", params: { amount: a } });\nconst args: [any] = [credit];\nconst calls = [one(...args)];`,
  ],
  [
    "by rest parameters",
    `const mk = (...all: any[]) => all.map((a) => ({ tool: "a", params: { amount: a } }));\nconst calls = mk(credit);`,
  ],
  ["assigned by a pattern", `let x: any; [x] = [credit];\nconst calls = [{ tool: "a", params: { amount: x } }];`],
  ["told by a function without parameters", `const calls = [${CALL}];\nconst tell = () => ctx_log(credit);`, ASKED, "tell()"],
  ["answered by a function", `const get = () => credit;\nconst calls = [{ tool: "a", params: { amount: get() } }];`],
])("%s", async (_, before, asked = ASKED, told = "credit") => {
  expect(await remarksOn(`${HEAD}${before}\n${asked}\n({ told: ${told} });\n`)).not.toEqual([]);
  // What is not in the calls may be told, and so may what comes back from the gate.
  expect(
    await remarksOn(
      `${HEAD}${before}\n${asked}\n({ other, contract_id, by: ${/\bby\b/.test(asked.split("=")[0] ?? "") ? "by" : "1"} });\n`,
    ),
  ).toEqual([]);
});

const GATE = `script_run("carry_out", { title, calls: [{ tool: "a", params: { amount } }], ask: true })`;
const CALLS = `const calls = [${CALL}];`;
const TELL = "notify_send({ to: 'a', subject: 'b', text: credit + ' credited', key: 'k' })";
it.each<[how: string, rest: string]>([
  ["by a function from before the gate", `${CALLS}\nconst tell = () => ${TELL};\n${ASKED}\ntell();`],
  ["by a function from before the gate, with a parameter", `${CALLS}\nconst tell = (who: any) => ${TELL};\n${ASKED}\ntell(by);`],
  ["by a function in an object", `${CALLS}\nconst all = { tell: () => ${TELL} };\n${ASKED}\nall.tell();`],
  ["by a function for each element", `${CALLS}\nconst tell = (who: any) => ${TELL};\n${ASKED}\n["a", by].forEach(tell);`],
  ["by a function in the function with the gate", `${CALLS}\nconst tell = () => ${TELL};\nconst go = () => { ${ASKED} tell(); };\ngo();`],
  ["in the function with the gate", `const go = (amount: any) => { const { by } = ${GATE}; return { amount, by }; };\n(go(credit));`],
  ["in it under another name", `const go = (amount: any) => { const { by } = ${GATE}; return { credit, by }; };\n(go(credit));`],
  ["in it in one expression", `const go = (amount: any) => ({ amount, by: ${GATE}.by });\n(go(credit));`],
  [
    "in it as text",
    `function main(amount: any) {\n const { by } = ${GATE};\n return { summary: \`\${amount} by \${by}\` };\n}\n(main(credit));`,
  ],
  [
    "in a callback that has a name",
    `const rows = mcp_fetch_all({ tool: "erp/x" }).records;\nconst one = ({ amount }: any) => { const { by } = ${GATE}; return { amount, by }; };\n(rows.map(one));`,
  ],
  [
    "computed again with another name",
    `const calls = [${CALL}];\n${ASKED}\nconst pct = "10";\nconst same = fee;\n({ told: compute_percent_of({ pct, amount: same }).result });`,
  ],
  [
    "computed again by methods",
    `const amount = new Decimal(fee).div(10).toFixed(2);\nconst { by } = ${GATE};\n({ by, told: new Decimal(fee).div(10).toFixed(2) });`,
  ],
  [
    "computed again by a function",
    `const tenth = () => compute_percent_of({ amount: fee, pct: "10" }).result;\nconst amount = tenth();\nconst { by } = ${GATE};\n({ by, told: tenth() });`,
  ],
  ["after one of two gates", `const go = (amount: any) => ${GATE}.by;\nconst by = fee ? go(credit) : go(other);\n({ credit, by });`],
])("told %s", async (_, rest) => {
  expect(await remarksOn(`${HEAD}${rest}\n`)).toHaveLength(1);
});

it.each<[how: string, rest: string]>([
  [
    "an approved amount beside the read one",
    `const amount = fee;\nconst { made } = ${GATE};\nconst paid = made["a"][0].amount;\n({ told: \`\${paid} of \${fee} paid\`, text: paid + " of " + fee });`,
  ],
  [
    "what a function was not given",
    `const tell = (told: any) => ({ told });\nconst before = tell(credit);\nconst calls = [${CALL}];\n${ASKED}\n(tell(other));`,
  ],
  [
    "of two answers of one function",
    `const mk = (pct: string) => compute_percent_of({ amount: fee, pct }).result;\nconst [amount, rest] = [mk("5"), mk("6")];\nconst { by } = ${GATE};\n({ rest, by });`,
  ],
  ["each in its function", `const go = (amount: any) => ${GATE}.made["a"][0].amount;\n({ all: [credit, other].map(go) });`],
  [
    "where no gate was",
    `if (fee) {\n const calls = [${CALL}];\n ${ASKED}\n ({ by });\n} else notify_send({ to: "a", subject: "b", text: credit, key: "k" });`,
  ],
  ["what the gate replaced", `let amount = credit;\nif (fee) amount = ${GATE}.made["a"][0].amount;\n({ amount });`],
  ["a comparison", `const calls = [${CALL}];\n${ASKED}\n({ same: new Decimal(made["a"][0].amount).eq(credit) });`],
])("may be told: %s", async (_, rest) => {
  expect(await remarksOn(`${HEAD}${rest}\n`)).toEqual([]);
});

it("a script that is too long to be followed says so where its gate is", async () => {
  const twice = Array.from({ length: 25 }, (_, i) => `const f${i + 1} = (x: any) => [f${i}(x), f${i}(x)];`).join("\n");
  const text = `${HEAD}const f0 = (x: any) => x;\n${twice}\n${CALLS}\n${ASKED}\n({ told: f25(other) });\n`;
  expect(await remarksOn(text)).toEqual(["agents/credit.ts: The"]);
  const deep = `const deep = ${Array(1500).fill("title").join(" + ")};\n${CALLS}\n${ASKED}\n({ by });\n`;
  expect(await remarksOn(`${HEAD}${deep}`)).toEqual(["agents/credit.ts: The"]);
});

it.each([
  ["an object that has itself in it", `const q: any = { amount: credit };\nq.self = q;\nconst calls = [{ tool: "a", params: q }];`],
  [
    "a tree made of rows",
    `const tree: any = {};\nfor (const r of mcp_fetch_all({ tool: "a/rows" }).rows) {\n tree[r.id] ??= { amount: credit, kids: [] };\n tree[r.up].kids.push(tree[r.id]);\n}\nconst calls = [{ tool: "a", params: { items: tree["root"].kids } }];`,
  ],
])("%s is followed like any other", async (_, calls) => {
  expect(await remarksOn(`${HEAD}${calls}\n${ASKED}\n({ by, credit });\n`)).toEqual(["agents/credit.ts: credit"]);
});

it("told in one expression with the gate", async () => {
  expect(await remarksOn(`${HEAD}({ amount: credit, by: script_run("carry_out", { title, calls: [${CALL}] }).by });\n`)).toEqual([
    "agents/credit.ts: credit",
  ]);
});

it("a helper that made the calls may be used again with what was approved", async () => {
  const line = `const line = (amount: any) => ({ tool: "a", params: { amount } });\nconst calls = [line(credit)];`;
  expect(await remarksOn(`${HEAD}${line}\n${ASKED}\n({ again: line(made["a"][0].amount), other: line(other) });\n`)).toEqual([]);
});

it("a script that asks for calls it was given tells them from the gate", async () => {
  const asks = (told: string) =>
    `/*\nname: Ask\ninput: { amount: { type: money }, calls: { type: list }, note: { type: string } }\n*/\nconst got = approval_wait({ title: "Pay?", calls: input.calls });\n(${told});\n`;
  const on = (told: string) =>
    remarksOn(`${HEAD}script_run("mine", { calls: [${CALL}], amount: credit });\n`, { "scripts/mine.ts": asks(told) });
  expect(await on("{ amount: input.amount }")).toEqual(["scripts/mine.ts: input.amount"]);
  expect(await on("{ calls: input.calls }")).toEqual(["scripts/mine.ts: input.calls"]);
  expect(await on("{ calls: got.calls, note: input.note }")).toEqual([]);
});
