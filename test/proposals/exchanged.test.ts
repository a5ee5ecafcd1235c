/** What is exchanged, moved, put together in another way or done on another way to it is told as widened, whatever reads the same. */
import { afterAll, expect, test } from "vitest";
import { between, closeSandbox, lines, widened } from "./rewrites.ts";

afterAll(closeSandbox);

const H = (uses: string, input: string, body: string) => `/*\nname: Two\nuses: [${uses}]\ninput: {${input}}\n*/\n${body}`;
const I =
  "a: {type: object, required: true}, b: {type: object, required: true}, list: {type: list, required: true}, flag: {type: boolean, required: true}";
const pair = (name: string, was: string, now: string): [string, string, string] => [name, was, now];
const pay = (x: string) => `mcp_call({ tool: "erp/pay", params: ${x} });`;
const P = "{ n: input.a.n }";
const send = (x: string) => `mcp_call({ tool: "erp/send", params: ${x} });`;
const book = (amount: string, debit: string) =>
  `journal_add_double({ date: "2026-01-01", description: "x", debit_account: ${debit}, credit_account: 1010, amount: ${amount}, key: "k" });\n1;`;
// biome-ignore format: one row, one rewrite
const ALL: readonly [string, string, string][] = [
  // 1
  pair("ifelse swap args", `if (input.flag) { ${pay("{ iban: input.a.iban }")} } else { ${pay("{ iban: input.b.iban }")} }\n1;`, `if (input.flag) { ${pay("{ iban: input.b.iban }")} } else { ${pay("{ iban: input.a.iban }")} }\n1;`),
  pair("ifelse swap amounts literal", `if (input.flag) { ${pay('{ amount: "1.00" }')} } else { ${pay('{ amount: "900.00" }')} }\n1;`, `if (input.flag) { ${pay('{ amount: "900.00" }')} } else { ${pay('{ amount: "1.00" }')} }\n1;`),
  pair("ternary swap", `${pay("{ iban: input.flag ? input.a.iban : input.b.iban }")}\n1;`, `${pay("{ iban: input.flag ? input.b.iban : input.a.iban }")}\n1;`),
  pair("or and and in another bracket", `if (input.a.p || ((input.a.q || input.a.r) && input.a.s && input.a.t)) ${pay(P)}\n1;`, `if (input.a.p || ((input.a.q || (input.a.r && input.a.s)) && input.a.t)) ${pay(P)}\n1;`),
  pair("two calls swapped", `${pay("{ iban: input.a.iban }")}\n${send("{ iban: input.b.iban }")}\n1;`, `${pay("{ iban: input.b.iban }")}\n${send("{ iban: input.a.iban }")}\n1;`),
  pair("two calls same tool swapped pairs", `${pay("{ iban: input.a.iban, amount: input.a.amount }")}\n${pay("{ iban: input.b.iban, amount: input.b.amount }")}\n1;`, `${pay("{ iban: input.a.iban, amount: input.b.amount }")}\n${pay("{ iban: input.b.iban, amount: input.a.amount }")}\n1;`),
  pair("literals in two calls same tool swapped", `${pay('{ to: "x", amount: "1.00" }')}\n${pay('{ to: "y", amount: "900.00" }')}\n1;`, `${pay('{ to: "x", amount: "900.00" }')}\n${pay('{ to: "y", amount: "1.00" }')}\n1;`),
  pair("objects in list swapped", `const calls = [{ tool: "erp/pay", params: { iban: input.a.iban, amount: input.a.amount } }, { tool: "erp/pay", params: { iban: input.b.iban, amount: input.b.amount } }];\nfor (const c of calls) mcp_call(c);\n1;`, `const calls = [{ tool: "erp/pay", params: { iban: input.b.iban, amount: input.a.amount } }, { tool: "erp/pay", params: { iban: input.a.iban, amount: input.b.amount } }];\nfor (const c of calls) mcp_call(c);\n1;`),
  pair("push exchanged", `const good: any[] = []; const bad: any[] = [];\nfor (const x of input.list) { if (x.ok) good.push(x); else bad.push(x); }\n${pay("{ all: good }")}\n1;`, `const good: any[] = []; const bad: any[] = [];\nfor (const x of input.list) { if (x.ok) bad.push(x); else good.push(x); }\n${pay("{ all: good }")}\n1;`),
  pair("push a/b exchanged", `const p: any[] = []; const q: any[] = [];\np.push(input.a); q.push(input.b);\n${pay("{ all: p }")}\n${send("{ all: q }")}\n1;`, `const p: any[] = []; const q: any[] = [];\np.push(input.b); q.push(input.a);\n${pay("{ all: p }")}\n${send("{ all: q }")}\n1;`),
  pair("push of another", `const p: any[] = [];\np.push(input.a);\n${pay("{ all: p }")}\n1;`, `const p: any[] = [];\np.push(input.b);\n${pay("{ all: p }")}\n1;`),
  pair("push objs exchanged by cond", `const p: any[] = [];\nif (input.flag) p.push({ iban: input.a.iban }); else p.push({ iban: input.b.iban });\n${pay("{ all: p }")}\n1;`, `const p: any[] = [];\nif (input.flag) p.push({ iban: input.b.iban }); else p.push({ iban: input.a.iban });\n${pay("{ all: p }")}\n1;`),
  pair("push moved out of loop", `const p: any[] = [];\nfor (const x of input.list) p.push(x);\nfor (const x of p) mcp_call(x);\n1;`, `const p: any[] = [];\nfor (const x of input.list) { p.push(x); p.push(x); }\nfor (const x of p) mcp_call(x);\n1;`),
  pair("push order (5)", `const p: any[] = [];\np.push(input.a);\np.push(input.b);\n${pay("p[0]")}\n1;`, `const p: any[] = [];\np.push(input.b);\np.push(input.a);\n${pay("p[0]")}\n1;`),
  pair("push order objs (5)", `const p: any[] = [];\np.push({ iban: input.a.iban });\np.push({ iban: input.b.iban });\n${pay("p[0]")}\n1;`, `const p: any[] = [];\np.push({ iban: input.b.iban });\np.push({ iban: input.a.iban });\n${pay("p[0]")}\n1;`),
  pair("conditions exchanged", `if (input.flag) ${pay("{ x: 1 }")}\nif (input.a.ok) ${send("{ y: 1 }")}\n1;`, `if (input.a.ok) ${pay("{ x: 1 }")}\nif (input.flag) ${send("{ y: 1 }")}\n1;`),
  pair("conditions exchanged same call", `if (input.flag) ${pay("{ iban: input.a.iban }")}\nif (input.a.ok) ${pay("{ iban: input.b.iban }")}\n1;`, `if (input.a.ok) ${pay("{ iban: input.a.iban }")}\nif (input.flag) ${pay("{ iban: input.b.iban }")}\n1;`),
  pair("mail recipients exchanged", `notify_send({ to: input.a.email, subject: "salary of a", text: input.a.text });\nnotify_send({ to: input.b.email, subject: "salary of b", text: input.b.text });\n1;`, `notify_send({ to: input.b.email, subject: "salary of a", text: input.a.text });\nnotify_send({ to: input.a.email, subject: "salary of b", text: input.b.text });\n1;`),
  pair("mail literals exchanged", `notify_send({ to: "a@x.example", subject: "s", text: "secret" });\nnotify_send({ to: "b@x.example", subject: "s", text: "public" });\n1;`, `notify_send({ to: "b@x.example", subject: "s", text: "secret" });\nnotify_send({ to: "a@x.example", subject: "s", text: "public" });\n1;`),
  // 2
  pair("arg of local fn swapped", `function go(iban: string, amount: string) { ${pay("{ iban, amount }")} }\ngo(input.a.iban, input.a.amount);\ngo(input.b.iban, input.b.amount);\n1;`, `function go(iban: string, amount: string) { ${pay("{ iban, amount }")} }\ngo(input.a.iban, input.b.amount);\ngo(input.b.iban, input.a.amount);\n1;`),
  pair("arg of local fn changed", `function go(iban: string) { ${pay("{ iban }")} }\ngo(input.a.iban);\n1;`, `function go(iban: string) { ${pay("{ iban }")} }\ngo(input.b.iban);\n1;`),
  pair("arg of arrow changed", `const mk = (iban: string, amount: string) => ({ iban, amount });\n${pay("mk(input.a.iban, input.a.amount)")}\n1;`, `const mk = (iban: string, amount: string) => ({ iban, amount });\n${pay("mk(input.b.iban, input.a.amount)")}\n1;`),
  pair("args of arrow swapped", `const mk = (iban: string, amount: string) => ({ iban, amount });\n${pay("mk(input.a.iban, input.a.amount)")}\n1;`, `const mk = (iban: string, amount: string) => ({ iban, amount });\n${pay("mk(input.a.amount, input.a.iban)")}\n1;`),
  pair("params of fn swapped", `function go(iban: string, amount: string) { ${pay("{ iban, amount }")} }\ngo(input.a.x, input.a.y);\n1;`, `function go(amount: string, iban: string) { ${pay("{ iban, amount }")} }\ngo(input.a.x, input.a.y);\n1;`),
  pair("script answers swapped", `const p = script_run("days", { from: input.a.x });\nconst q = script_run("days", { from: input.b.x });\n${pay("{ pay_date: p.day, due: q.day }")}\n1;`, `const p = script_run("days", { from: input.a.x });\nconst q = script_run("days", { from: input.b.x });\n${pay("{ pay_date: q.day, due: p.day }")}\n1;`),
  pair("script args swapped", `const p = script_run("days", { from: input.a.x });\nconst q = script_run("days", { from: input.b.x });\n${pay("{ pay_date: p.day, due: q.day }")}\n1;`, `const p = script_run("days", { from: input.b.x });\nconst q = script_run("days", { from: input.a.x });\n${pay("{ pay_date: p.day, due: q.day }")}\n1;`),
  pair("arg obj of fn swapped keys", `const go = ({ iban, amount }: any) => { ${pay("{ iban, amount }")} };\ngo({ iban: input.a.iban, amount: input.a.amount });\ngo({ iban: input.b.iban, amount: input.b.amount });\n1;`, `const go = ({ iban, amount }: any) => { ${pay("{ iban, amount }")} };\ngo({ iban: input.b.iban, amount: input.a.amount });\ngo({ iban: input.a.iban, amount: input.b.amount });\n1;`),
  pair("literal args swapped", `function go(who: string, amount: string) { ${pay("{ who, amount }")} }\ngo("A", "1.00");\ngo("B", "900.00");\n1;`, `function go(who: string, amount: string) { ${pay("{ who, amount }")} }\ngo("A", "900.00");\ngo("B", "1.00");\n1;`),
  // 3
  pair("spread order", `${pay("{ payee: input.a.x, ...input.b }")}\n1;`, `${pay("{ ...input.b, payee: input.a.x }")}\n1;`),
  pair("two spreads order", `${pay("{ ...input.a, ...input.b }")}\n1;`, `${pay("{ ...input.b, ...input.a }")}\n1;`),
  pair("spread order in const", `const p = { ...input.a, ...input.b };\n${pay("p")}\n1;`, `const p = { ...input.b, ...input.a };\n${pay("p")}\n1;`),
  pair("duplicate key order", `${pay('{ amount: input.a.x, iban: "q", ["amount"]: input.b.x }')}\n1;`, `${pay('{ amount: input.b.x, iban: "q", ["amount"]: input.a.x }')}\n1;`),
  pair("default in destructuring", `const { iban = "" } = input.a;\n${pay("{ iban }")}\n1;`, `const { iban = input.b.iban } = input.a;\n${pay("{ iban }")}\n1;`),
  pair("default literal in destructuring", `const { limit = 5 } = input.a;\n${pay("{ limit }")}\n1;`, `const { limit = 5000 } = input.a;\n${pay("{ limit }")}\n1;`),
  pair("default added", `const { iban } = input.a;\n${pay("{ iban }")}\n1;`, `const { iban = "DE89370400440532013000" } = input.a;\n${pay("{ iban }")}\n1;`),
  pair("default in fn param", `const go = (iban: string, n = 1) => { ${pay("{ iban, n }")} };\ngo(input.a.iban);\n1;`, `const go = (iban: string, n = 1000) => { ${pay("{ iban, n }")} };\ngo(input.a.iban);\n1;`),
  pair("default computed in fn param", `const go = (iban: string, n = input.a.x) => { ${pay("{ iban, n }")} };\ngo(input.a.iban);\n1;`, `const go = (iban: string, n = input.b.x) => { ${pay("{ iban, n }")} };\ngo(input.a.iban);\n1;`),
  pair("rest excludes less", `const { secret, name, ...rest } = input.a;\n${pay("rest")}\n1;`, `const { name, ...rest } = input.a;\n${pay("rest")}\n1;`),
  pair("rest excludes another", `const { secret: _, ...rest } = input.a;\n${pay("rest")}\n1;`, `const { name: _, ...rest } = input.a;\n${pay("rest")}\n1;`),
  pair("list rest", `const [first, ...rest] = input.list;\nfor (const x of rest) mcp_call(x);\n1;`, `const [...rest] = input.list;\nfor (const x of rest) mcp_call(x);\n1;`),
  pair("array destructuring swapped", `const [p, q] = input.list;\n${pay("{ p, q }")}\n1;`, `const [q, p] = input.list;\n${pay("{ p, q }")}\n1;`),
  // 4
  pair("break removed", `switch (input.a.kind) { case "x": ${send("{ n: 1 }")} break; case "y": ${pay("{ n: 2 }")} break; default: ctx_log("z"); }\n1;`, `switch (input.a.kind) { case "x": ${send("{ n: 1 }")} case "y": ${pay("{ n: 2 }")} break; default: ctx_log("z"); }\n1;`),
  pair("case labels swapped", `switch (input.a.kind) { case "x": ${pay("{ iban: input.a.iban }")} break; case "y": ${pay("{ iban: input.b.iban }")} break; }\n1;`, `switch (input.a.kind) { case "y": ${pay("{ iban: input.a.iban }")} break; case "x": ${pay("{ iban: input.b.iban }")} break; }\n1;`),
  pair("case assigns swapped", `let iban = "";\nswitch (input.a.kind) { case "x": iban = input.a.iban; break; case "y": iban = input.b.iban; break; }\n${pay("{ iban }")}\n1;`, `let iban = "";\nswitch (input.a.kind) { case "x": iban = input.b.iban; break; case "y": iban = input.a.iban; break; }\n${pay("{ iban }")}\n1;`),
  pair("break removed on assigns", `let iban = "";\nswitch (input.a.kind) { case "x": iban = input.a.iban; break; case "y": iban = input.b.iban; break; }\n${pay("{ iban }")}\n1;`, `let iban = "";\nswitch (input.a.kind) { case "x": iban = input.a.iban; case "y": iban = input.b.iban; break; }\n${pay("{ iban }")}\n1;`),
  pair("do while", `while (input.flag) { ${pay("{ n: 1 }")} }\n1;`, `do { ${pay("{ n: 1 }")} } while (input.flag);\n1;`),
  pair("set after sent", `let amount = input.a.amount;\namount = input.b.amount;\n${pay("{ amount }")}\n1;`, `let amount = input.a.amount;\n${pay("{ amount }")}\namount = input.b.amount;\n1;`),
  pair("field set after sent", `const p: any = { amount: input.a.amount };\np.amount = input.b.amount;\n${pay("p")}\n1;`, `const p: any = { amount: input.a.amount };\n${pay("p")}\np.amount = input.b.amount;\n1;`),
  pair("check after payment", `if (input.a.bad) throw new Error("no");\n${pay("{ n: 1 }")}\n1;`, `${pay("{ n: 1 }")}\nif (input.a.bad) throw new Error("no");\n1;`),
  pair("assignments swapped", `let x = input.a.x;\nx = input.a.y;\nx = input.a.z;\n${pay("{ x }")}\n1;`, `let x = input.a.x;\nx = input.a.z;\nx = input.a.y;\n${pay("{ x }")}\n1;`),
  pair("second path", `function go() { ${pay("{ n: 1 }")} }\nif (input.flag) go();\n1;`, `function go() { ${pay("{ n: 1 }")} }\nif (input.flag) go();\nif (input.a.x) go();\n1;`),
  pair("second path no cond", `function go() { ${pay("{ n: 1 }")} }\ngo();\n1;`, `function go() { ${pay("{ n: 1 }")} }\ngo();\ngo();\n1;`),
  pair("second path same cond", `const go = () => ${pay("{ n: 1 }")}\nif (input.flag) go();\n1;`, `const go = () => ${pay("{ n: 1 }")}\nif (input.flag) { go(); go(); }\n1;`),
  pair("shadowed name", `const iban = input.a.iban;\nif (input.flag) { ${pay("{ iban }")} }\n1;`, `const iban = input.a.iban;\nif (input.flag) { const iban = input.b.iban; ${pay("{ iban }")} }\n1;`),
  pair("shadowed twice, paid outer", `const x = input.a.x;\nif (input.flag) { const x = input.b.x; ${send("{ x }")} }\n${pay("{ x }")}\n1;`, `const x = input.a.x;\nif (input.flag) { const x = input.b.x; ${send("{ x }")} ${pay("{ x }")} }\n1;`),
  pair("hidden behind milder on one line", `const n = input.a.n; const m = input.b.n;\n${pay("{ n: n, note: m }")}\n1;`, `const n = input.b.n; const m = input.b.n;\n${pay("{ n: n, note: m }")}\n1;`),
  pair("hidden behind what is logged on one line", `const t = input.a.iban; const iban = input.a.iban;\nctx_log(t); ${pay("{ iban }")}\n1;`, `const t = input.b.iban; const iban = input.b.iban;\nctx_log(t); ${pay("{ iban }")}\n1;`),
  pair("reads swapped by line", `const t = "x"; ctx_log(t); ${pay("{ n: input.a.n }")}\n1;`, `const t = "input.b.n"; ctx_log(t); ${pay("{ n: input.b.n }")}\n1;`),
  // 5
  pair("method of own object", `const h = { f: (x: any) => ${pay("{ x }").slice(0, -1)} };\nh.f(input.a.x);\n1;`, `const h = { f: (x: any) => ${pay("{ x }").slice(0, -1)} };\nh.f(input.b.x);\n1;`),
  pair("methods exchanged", `const h = { f: (x: any) => ${pay("{ x }").slice(0, -1)}, g: (x: any) => ${send("{ x }").slice(0, -1)} };\nh.f(input.a.x);\nh.g(input.b.x);\n1;`, `const h = { f: (x: any) => ${pay("{ x }").slice(0, -1)}, g: (x: any) => ${send("{ x }").slice(0, -1)} };\nh.g(input.a.x);\nh.f(input.b.x);\n1;`),
  pair("h.f second call", `const h = { f: (x: any) => ${pay("{ x }").slice(0, -1)} };\nif (input.flag) h.f(input.a.x);\n1;`, `const h = { f: (x: any) => ${pay("{ x }").slice(0, -1)} };\nh.f(input.a.x);\n1;`),
  pair("decimal set on field", `const h: any = { total: new Decimal(0) };\nfor (const x of input.list) h.total = h.total.plus(x.amount);\n${pay("{ amount: h.total }")}\n1;`, `const h: any = { total: new Decimal(0) };\nfor (const x of input.list) h.total = h.total.plus(x.gross);\n${pay("{ amount: h.total }")}\n1;`),
  pair("decimal set swapped fields", `const h: any = {};\nh.net = new Decimal(input.a.n);\nh.tax = new Decimal(input.b.n);\n${pay("{ amount: h.net }")}\n1;`, `const h: any = {};\nh.net = new Decimal(input.b.n);\nh.tax = new Decimal(input.a.n);\n${pay("{ amount: h.net }")}\n1;`),
  pair("computed key", `const h: any = {};\nh["net"] = input.a.n;\n${pay("h")}\n1;`, `const h: any = {};\nh["net"] = input.b.n;\n${pay("h")}\n1;`),
  pair("map fn", `for (const c of input.list.map((x: any) => ({ tool: "erp/pay", params: { iban: x.iban, amount: x.amount } }))) mcp_call(c);\n1;`, `for (const c of input.list.map((x: any) => ({ tool: "erp/pay", params: { iban: x.iban, amount: x.gross } }))) mcp_call(c);\n1;`),
  pair("map obj nested swap", `const f = (x: any, y: any) => ({ from: x.acct, to: y.acct });\n${pay("f(input.a, input.b)")}\n1;`, `const f = (x: any, y: any) => ({ from: y.acct, to: x.acct });\n${pay("f(input.a, input.b)")}\n1;`),
  pair("either is not both", `if (input.flag || input.a.ok) ${pay("{ n: 1 }")}\n1;`, `if (input.flag && input.a.ok) ${pay("{ n: 1 }")}\n1;`),
  pair("both in one of either", `if (input.flag || (input.a.ok && input.b.ok)) ${pay("{ n: 1 }")}\n1;`, `if ((input.flag || input.a.ok) && input.b.ok) ${pay("{ n: 1 }")}\n1;`),
  pair("not of one of both", `if (!(input.flag && input.a.ok)) ${pay("{ n: 1 }")}\n1;`, `if (!input.flag && input.a.ok) ${pay("{ n: 1 }")}\n1;`),
  pair("not less is not more where it is no number", `if (!(input.a.n <= 5)) approval_wait({ title: "x", calls: [] });\n1;`, `if (input.a.n > 5) approval_wait({ title: "x", calls: [] });\n1;`),
  pair("twice for each of the same", `for (const x of input.list) ${pay("{ n: 1 }")}\n1;`, `for (const x of input.list) for (const y of input.list) ${pay("{ n: 1 }")}\n1;`),
  pair("not there is not false", `input.a.x ?? ${pay("{ n: 1 }")}\n1;`, `input.a.x || ${pay("{ n: 1 }")}\n1;`),
  pair("what is left over", `switch (input.a.k) { case "x": break; default: ${pay("{ n: 1 }")} }\n1;`, `switch (input.a.k) { case "y": break; default: ${pay("{ n: 1 }")} }\n1;`),
  pair("a list that is sorted and sent", "const l = [...input.list];\nl.sort((x: any, y: any) => x.n - y.n);\nmcp_call(l[0]);\n1;", "const l = [...input.list];\nl.sort((x: any, y: any) => x.m - y.m);\nmcp_call(l[0]);\n1;"),
  // 6: what is called, changed or compared where the text does not follow it
  pair("setter of a name", `let iban = ""; const set = (x: any) => { iban = x; };\nset(input.a.iban);\n${pay("{ iban }")}\n1;`, `let iban = ""; const set = (x: any) => { iban = x; };\nset(input.b.iban);\n${pay("{ iban }")}\n1;`),
  pair("setter of object", `const p: any = {}; const set = (x: any) => { p.iban = x; };\nset(input.a.iban);\n${pay("p")}\n1;`, `const p: any = {}; const set = (x: any) => { p.iban = x; };\nset(input.b.iban);\n${pay("p")}\n1;`),
  pair("setter two args", `const p: any = {}; const set = (k: string, x: any) => { p[k] = x; };\nset("iban", input.a.iban);\nset("n", input.b.n);\n${pay("p")}\n1;`, `const p: any = {}; const set = (k: string, x: any) => { p[k] = x; };\nset("n", input.a.iban);\nset("iban", input.b.n);\n${pay("p")}\n1;`),
  pair("push via fn", `const q: any[] = []; const add = (x: any) => { q.push(x); };\nadd(input.a.iban);\n${pay("{ q }")}\n1;`, `const q: any[] = []; const add = (x: any) => { q.push(x); };\nadd(input.b.iban);\n${pay("{ q }")}\n1;`),
  pair("method that sets", `const h: any = { set(x: any) { this.v = x; } };\nh.set(input.a.iban);\n${pay("{ iban: h.v }")}\n1;`, `const h: any = { set(x: any) { this.v = x; } };\nh.set(input.b.iban);\n${pay("{ iban: h.v }")}\n1;`),
  pair("curry", `const mk = (x: any) => () => ${pay("{ x }").slice(0,-1)};\nconst f = mk(input.a.iban);\nf();\n1;`, `const mk = (x: any) => () => ${pay("{ x }").slice(0,-1)};\nconst f = mk(input.b.iban);\nf();\n1;`),
  pair("how often", `Array.from({ length: 1 }, () => ${pay("{ n: 1 }").slice(0,-1)});\n1;`, `Array.from({ length: 2 }, () => ${pay("{ n: 1 }").slice(0,-1)});\n1;`),
  pair("with another place", `const l = input.list.with(0, input.a);\nfor (const c of l) mcp_call(c);\n1;`, `const l = input.list.with(1, input.a);\nfor (const c of l) mcp_call(c);\n1;`),
  pair("method of a prototype", `for (const c of input.list) if (["a"].includes(c.n)) mcp_call(c);\n1;`, `(Array.prototype as any).includes = () => true;\nfor (const c of input.list) if (["a"].includes(c.n)) mcp_call(c);\n1;`),
  pair("function by call", `const f = (x: any) => ${pay("{ x }").slice(0,-1)};\nf.call(null, input.a.iban);\n1;`, `const f = (x: any) => ${pay("{ x }").slice(0,-1)};\nf.call(null, input.b.iban);\n1;`),
  pair("function by apply", `const f = (x: any) => ${pay("{ x }").slice(0,-1)};\nf.apply(null, [input.a.iban]);\n1;`, `const f = (x: any) => ${pay("{ x }").slice(0,-1)};\nf.apply(null, [input.b.iban]);\n1;`),
  pair("function that is bound", `const f = (x: any) => ${pay("{ x }").slice(0,-1)};\nconst g = f.bind(null, input.a.iban);\ng();\n1;`, `const f = (x: any) => ${pay("{ x }").slice(0,-1)};\nconst g = f.bind(null, input.b.iban);\ng();\n1;`),
  pair("another function of a list", `const fs = [(x: any) => ${pay("{ x }").slice(0,-1)}, (x: any) => ${send("{ x }").slice(0,-1)}];\nfs[0](input.a);\n1;`, `const fs = [(x: any) => ${pay("{ x }").slice(0,-1)}, (x: any) => ${send("{ x }").slice(0,-1)}];\nfs[1](input.a);\n1;`),
  pair("function of a list", `const fs = [(x: any) => ${pay("{ x }").slice(0,-1)}];\nfs[0](input.a);\n1;`, `const fs = [(x: any) => ${pay("{ x }").slice(0,-1)}];\nfs[0](input.b);\n1;`),
  pair("function that is chosen", `const f = (x: any) => ${pay("{ x }").slice(0,-1)}; const g = (x: any) => ${send("{ x }").slice(0,-1)};\n(input.flag ? f : g)(input.a);\n1;`, `const f = (x: any) => ${pay("{ x }").slice(0,-1)}; const g = (x: any) => ${send("{ x }").slice(0,-1)};\n(input.flag ? g : f)(input.a);\n1;`),
  pair("list of a function that is handed on", `const each = (l: any[], f: any) => { for (const x of l) f(x); };\neach(input.list, (x: any) => ${pay("{ x: x.a }").slice(0,-1)});\n1;`, `const each = (l: any[], f: any) => { for (const x of l) f(x); };\neach([input.b], (x: any) => ${pay("{ x: x.a }").slice(0,-1)});\n1;`),
  pair("where a sum begins", `const sum = input.list.reduce((s: any, x: any) => s.plus(x.n), new Decimal(0));\n${pay("{ sum }")}\n1;`, `const sum = input.list.reduce((s: any, x: any) => s.plus(x.n), new Decimal(100));\n${pay("{ sum }")}\n1;`),
  pair("field set before its condition", `const p: any = {};\np.n = input.a.n;\nif (input.flag) p.n = input.b.n;\n${pay("p")}\n1;`, `const p: any = {};\nif (input.flag) p.n = input.b.n;\np.n = input.a.n;\n${pay("p")}\n1;`),
  pair("alias in list", `const p: any = { ...input.a }; const l = [p];\n${pay("p")}\n1;`, `const p: any = { ...input.a }; const l = [p];\nl[0].iban = input.b.iban;\n${pay("p")}\n1;`),
  pair("alter input via assign", `${pay("{ iban: input.a.iban }")}\n1;`, `Object.assign(input, { a: input.b });\n${pay("{ iban: input.a.iban }")}\n1;`),
  pair("alter input in fn", `${pay("{ iban: input.a.iban }")}\n1;`, `const f = (x: any) => { x.a = x.b; };\nf(input);\n${pay("{ iban: input.a.iban }")}\n1;`),
  pair("alter input by method", `for (const c of input.list) mcp_call(c);\n1;`, `input.list.reverse();\nfor (const c of input.list) mcp_call(c);\n1;`),
  pair("alter input push", `for (const c of input.list) mcp_call(c);\n1;`, `input.list.push(input.list[0]);\nfor (const c of input.list) mcp_call(c);\n1;`),
  pair("alter input const alias", `const { list } = input;\nfor (const c of list) mcp_call(c);\n1;`, `const { list } = input;\ninput.list.pop();\nfor (const c of list) mcp_call(c);\n1;`),
  pair("from when it asks", `const ask = input.a.amount > 500;\nif (ask) approval_wait({ title: "x", calls: [] });\n${pay(P)}\n1;`, `const ask = input.a.amount > 5000;\nif (ask) approval_wait({ title: "x", calls: [] });\n${pay(P)}\n1;`),
  pair("ask to carry_out", `script_run("carry_out", { title: "x", calls: [], ask: input.a.amount > 500 });\n1;`, `script_run("carry_out", { title: "x", calls: [], ask: input.a.amount > 5000 });\n1;`),
  pair("fact by compare name", `const big = input.a.amount > 500;\npolicy_evaluate({ facts: { big } });\n1;`, `const big = input.a.amount > 5000;\npolicy_evaluate({ facts: { big } });\n1;`),
  pair("fact by decimal", `const big = new Decimal(input.a.amount).gt("500");\npolicy_evaluate({ facts: { big } });\n1;`, `const big = new Decimal(input.a.amount).gt("5000");\npolicy_evaluate({ facts: { big } });\n1;`),
  pair("filter const", `const due = input.list.filter((o: any) => o.n > 5);\nfor (const x of due) mcp_call(x);\n1;`, `const due = input.list.filter((o: any) => o.n > 0);\nfor (const x of due) mcp_call(x);\n1;`),
  pair("pct", `const amount = compute_percent_of({ amount: input.a.n, pct: "10" }).result;\n${pay("{ amount }")}\n1;`, `const amount = compute_percent_of({ amount: input.a.n, pct: "100" }).result;\n${pay("{ amount }")}\n1;`),
  pair("level by literal", `approval_wait({ title: "x", calls: [], level: input.a.n > 500 ? "cfo" : "manager" });\n1;`, `approval_wait({ title: "x", calls: [], level: input.a.n > 5000 ? "cfo" : "manager" });\n1;`),
  pair("level let", `let level = "manager";\nif (input.a.n > 500) level = "cfo";\napproval_wait({ title: "x", calls: [], level });\n1;`, `let level = "manager";\nif (input.a.n > 5000) level = "cfo";\napproval_wait({ title: "x", calls: [], level });\n1;`),
  pair("days", `const due = script_run("days", { from: input.a.d, add: 14 }).day;\n${pay("{ due }")}\n1;`, `const due = script_run("days", { from: input.a.d, add: 140 }).day;\n${pay("{ due }")}\n1;`),
  // 7: another record that is read, what other agents are given, what is written
  pair("another file is read", `const x = data_read("a.txt");\nx;`, `const x = data_read("b.txt");\nx;`),
  pair("files that are read, exchanged", `const x = data_read("a.txt"); const y = data_read("b.txt");\nctx_log(y); x;`, `const x = data_read("b.txt"); const y = data_read("a.txt");\nctx_log(y); x;`),
  pair("another account is read", `const x = journal_query({ account: "5010" });\nx.length;`, `const x = journal_query({ account: "5020" });\nx.length;`),
  pair("no account is left out", `const x = journal_query({ account: "5010" });\nx.length;`, `const x = journal_query({});\nx.length;`),
  pair("another record is read", `const x = mcp_call({ tool: "erp/get_order", params: { id: "1" } });\nx.total;`, `const x = mcp_call({ tool: "erp/get_order", params: { id: "2" } });\nx.total;`),
  pair("another record is read, computed", `const x = mcp_call({ tool: "erp/get_order", params: { id: input.a.id } });\nx.total;`, `const x = mcp_call({ tool: "erp/get_order", params: { id: input.b.id } });\nx.total;`),
  pair("records that are read, exchanged", `const x = mcp_call({ tool: "erp/get_order", params: {} }); const y = mcp_call({ tool: "erp/get_salary", params: {} });\nctx_log(y.n); x.n;`, `const x = mcp_call({ tool: "erp/get_salary", params: {} }); const y = mcp_call({ tool: "erp/get_order", params: {} });\nctx_log(y.n); x.n;`),
  pair("what an agent is given", `agent_call({ agent: "crm", input: { id: input.a.id } });\n1;`, `agent_call({ agent: "crm", input: { id: input.b.id } });\n1;`),
  pair("a fixed value that an agent is given", `agent_call({ agent: "crm", input: { id: "1" } });\n1;`, `agent_call({ agent: "crm", input: { id: "2" } });\n1;`),
  pair("what an event brings", `ctx_emit({ event: "paid", payload: { id: input.a.id } });\n1;`, `ctx_emit({ event: "paid", payload: { id: input.b.id } });\n1;`),
  pair("what two events bring", `ctx_emit({ event: "a", payload: input.a });\nctx_emit({ event: "b", payload: input.b });\n1;`, `ctx_emit({ event: "a", payload: input.b });\nctx_emit({ event: "b", payload: input.a });\n1;`),
  pair("an event in more cases", `if (input.flag) ctx_emit("paid");\n1;`, `ctx_emit("paid");\n1;`),
  pair("an event twice", `ctx_emit("paid");\n1;`, `ctx_emit("paid");\nctx_emit("paid");\n1;`),
  pair("one of two events", `ctx_emit(input.flag ? "a" : "b");\n1;`, `ctx_emit(input.flag ? "a" : "c");\n1;`),
  pair("what is written", `const text = input.a.t;\ndata_write({ path: "a.json", text });\n1;`, `const text = input.b.t;\ndata_write({ path: "a.json", text });\n1;`),
  pair("where it is written", `data_write({ path: "a.json", text: "x" });\n1;`, `data_write({ path: "b.json", text: "x" });\n1;`),
  pair("an amount of a leg", `const amount = input.a.n;\n${book("amount", "5090")}`, `const amount = input.b.n;\n${book("amount", "5090")}`),
  pair("the account of a leg", book("input.a.n", "input.a.account"), book("input.a.n", "input.b.account")),
  pair("the account of a leg that has a name", `const to = input.a.account;\n${book("input.a.n", "to")}`, `const to = input.b.account;\n${book("input.a.n", "to")}`),
  pair("pushed in another order, in a loop", `const p: any[] = [];\nfor (const x of input.list) { p.push(x.a); p.push(x.b); }\n${pay("{ p }")}\n1;`, `const p: any[] = [];\nfor (const x of input.list) { p.push(x.b); p.push(x.a); }\n${pay("{ p }")}\n1;`),
  // 8: what only looks like another way of writing the same
  pair("a name is chosen from what may not be there", `let n = input.a.n.x;\nif (input.flag) n = "1";\n${pay("{ n }")}\n1;`, `const n = input.flag ? "1" : input.a.n.x;\n${pay("{ n }")}\n1;`),
  pair("a name that a function sets on the way", `const f = () => { n = "3"; return false; };\nlet n = "1";\nif (f()) n = "2";\n${pay("{ n }")}\n1;`, `const f = () => { n = "3"; return false; };\nlet n = f() ? "2" : "1";\n${pay("{ n }")}\n1;`),
  pair("a name that is chosen by itself", `let n = "1";\nif (input.a.n > n) n = "2";\n${pay("{ n }")}\n1;`, `const n = input.a.n > input.b.n ? "2" : "1";\n${pay("{ n }")}\n1;`),
  pair("a choice the other way round", `let n = "1";\nif (input.flag) n = "2";\n${pay("{ n }")}\n1;`, `const n = input.flag ? "1" : "2";\n${pay("{ n }")}\n1;`),
  pair("an answer the other way round", `const f = (x: any) => { if (x.ok) return x.n; return x.m; };\n${pay("{ n: f(input.a) }")}\n1;`, `const f = (x: any) => (x.ok ? x.m : x.n);\n${pay("{ n: f(input.a) }")}\n1;`),
  pair("nothing of one or the other", `if (input.a.x === null || input.a.y === undefined) ${pay("{ n: 1 }")}\n1;`, `if (input.a.x == null) ${pay("{ n: 1 }")}\n1;`),
  pair("nothing, or false", `if (input.a.x === null || input.a.x === false) ${pay("{ n: 1 }")}\n1;`, `if (input.a.x == null) ${pay("{ n: 1 }")}\n1;`),
  pair("no undefined, by a name", `const go = (undefined: any) => { if (input.a.x === null || input.a.x === undefined) ${pay("{ n: 1 }")} };\ngo("y");\n1;`, `const go = (undefined: any) => { if (input.a.x == null) ${pay("{ n: 1 }")} };\ngo("y");\n1;`),
  pair("one where there is none of the other", `const n = input.a.n ?? input.b.n;\n${pay("{ n }")}\n1;`, `const n = input.a.n == null ? input.a.n : input.b.n;\n${pay("{ n }")}\n1;`),
  pair("none is not false", `const n = input.a.n ?? input.b.n;\n${pay("{ n }")}\n1;`, `const n = input.a.n ? input.a.n : input.b.n;\n${pay("{ n }")}\n1;`),
  pair("one of two calls", `const n = mcp_call({ tool: "erp/take", params: {} }) || "1";\n${pay("{ n }")}\n1;`, `const n = mcp_call({ tool: "erp/take", params: {} }) ? mcp_call({ tool: "erp/take", params: {} }) : "1";\n${pay("{ n }")}\n1;`),
  pair("a key that does something", `let i = 0;\nconst h = { get n() { i++; return i; } };\nconst n = h.n ? h.n : 5;\n${pay("{ n }")}\n1;`, `let i = 0;\nconst h = { get n() { i++; return i; } };\nconst n = h.n || 5;\n${pay("{ n }")}\n1;`),
  pair("a method of an object's own", `const h = { add: (x: any) => x, plus: () => 0 };\n${pay("{ n: h.add(input.a.n) }")}\n1;`, `const h = { add: (x: any) => x, plus: () => 0 };\n${pay("{ n: h.plus(input.a.n) }")}\n1;`),
  pair("a method of a text", `const n = new Decimal(input.a.n).toFixed(2).sub("1");\n${pay("{ n }")}\n1;`, `const n = new Decimal(input.a.n).toFixed(2).minus("1");\n${pay("{ n }")}\n1;`),
  pair("another method of an amount", `const n = new Decimal(input.a.n).add(input.b.n);\n${pay("{ n }")}\n1;`, `const n = new Decimal(input.a.n).minus(input.b.n);\n${pay("{ n }")}\n1;`),
];

test.each(ALL)("reported: %s", async (_, was, now) => {
  const whole = (code: string) => H("mcp, notify, ctx, script, policy, approval, compute, data, journal, agent:crm", I, code);
  expect(lines(await widened({ "agents/two.ts": whole(now) }, new Map([["agents/two.ts", whole(was)]])))).not.toEqual([]);
});

// biome-ignore format: one row, one rewrite
const SAME: readonly [string, string, string][] = [
  pair("one condition in another", `if (input.flag && input.a.ok) ${pay(P)}\n1;`, `if (input.flag) { if (input.a.ok) ${pay(P)} }\n1;`),
  pair("two ways to go on", "for (const x of input.list) { if (x.a || x.b) continue; mcp_call(x); }\n1;", "for (const x of input.list) { if (x.b) continue; if (x.a) continue; mcp_call(x); }\n1;"),
  pair("both or not either", `if (!(input.flag && input.a.ok)) ${pay(P)}\n1;`, `if (!input.a.ok || !input.flag) ${pay(P)}\n1;`),
  pair("neither", `if (!(input.flag || input.a.ok || input.b.ok)) ${pay(P)}\n1;`, `if (!input.b.ok && !(input.a.ok || input.flag)) ${pay(P)}\n1;`),
  pair("a condition has a name", `const both = input.flag && input.a.ok;\nif (both) ${pay(P)}\n1;`, `if (input.a.ok && input.flag) ${pay(P)}\n1;`),
  pair("a value is chosen", `let n = "1";\nif (input.flag) n = input.b.n;\n${pay("{ n }")}\n1;`, `const n = input.flag ? input.b.n : "1";\n${pay("{ n }")}\n1;`),
  pair("a value is chosen, or another", `let n;\nif (input.flag) { n = input.b.n; } else { n = input.a.n; }\n${pay("{ n }")}\n1;`, `const n = input.flag ? input.b.n : input.a.n;\n${pay("{ n }")}\n1;`),
  pair("one of two answers", `const f = (x: any) => { if (x.ok) return x.n; return x.m; };\n${pay("{ n: f(input.a) }")}\n1;`, `const f = (x: any) => (x.ok ? x.n : x.m);\n${pay("{ n: f(input.a) }")}\n1;`),
  pair("one of three answers", `const f = (x: any) => x.ok ? x.n : x.no ? x.m : "1";\n${pay("{ n: f(input.a) }")}\n1;`, `const f = (x: any) => { if (x.ok) return x.n; if (x.no) return x.m; return "1"; };\n${pay("{ n: f(input.a) }")}\n1;`),
  pair("nothing", `if (input.a.x === null || input.a.x === undefined) ${pay(P)}\n1;`, `if (input.a.x == null) ${pay(P)}\n1;`),
  pair("not nothing", `if (input.a.x !== undefined && input.a.x !== null) ${pay(P)}\n1;`, `if (input.a.x != null) ${pay(P)}\n1;`),
  pair("what else where there is nothing", `const n = input.a.n ?? input.b.n;\n${pay("{ n }")}\n1;`, `const n = input.a.n == null ? input.b.n : input.a.n;\n${pay("{ n }")}\n1;`),
  pair("what else where it is false", `const n = input.a.n || input.b.n;\n${pay("{ n }")}\n1;`, `const n = input.a.n ? input.a.n : input.b.n;\n${pay("{ n }")}\n1;`),
  pair("two names of a method of amounts", `const n = new Decimal(input.a.n).plus(1);\nif (n.gt(500)) ${pay("{ n: n.times(2) }")}\n1;`, `const n = new Decimal(input.a.n).add(1);\nif (n.greaterThan(500)) ${pay("{ n: n.mul(2) }")}\n1;`),
  pair("a key in brackets", `${pay(P)}\n1;`, `${pay('{ n: input["a"]["n"] }')}\n1;`),
];

test.each(SAME)("the same: %s", async (_, was, now) => {
  const whole = (code: string) => H("mcp", I, code);
  expect(lines(await widened({ "agents/two.ts": whole(now) }, new Map([["agents/two.ts", whole(was)]])))).toEqual([]);
});

// biome-ignore format: one row, one rewrite
const ORDER: readonly [string, string, string, RegExp | null][] = [
  ["events", `ctx_emit("a.done");\nctx_emit("b.done");\n1;`, `ctx_emit("b.done");\nctx_emit("a.done");\n1;`, /^condition: Two: ctx_emit b\.done now comes before ctx_emit a\.done, which it came after \(/],
  ["events of functions", `const f = () => ctx_emit("a");\nconst g = () => ctx_emit("b");\nf(); g();\n1;`, `const f = () => ctx_emit("a");\nconst g = () => ctx_emit("b");\ng(); f();\n1;`, /ctx_emit b now comes before ctx_emit a/],
  ["notices", `notify_send({ to: "pat@x.example", subject: "s", text: "x" });\nnotify_send({ to: "sam@x.example", subject: "s", text: "x" });\n1;`, `notify_send({ to: "sam@x.example", subject: "s", text: "x" });\nnotify_send({ to: "pat@x.example", subject: "s", text: "x" });\n1;`, /notify_send sam@x\.example now comes before notify_send pat@x\.example/],
  ["an event and a payment", `${pay(P)}\nctx_emit("a");\n1;`, `ctx_emit("a");\n${pay(P)}\n1;`, /ctx_emit a now comes before mcp_call erp\/pay/],
  ["two payments", `${pay("{ n: input.a.n }")}\n${pay("{ n: input.b.n }")}\n1;`, `${pay("{ n: input.b.n }")}\n${pay("{ n: input.a.n }")}\n1;`, /input\.b\.n.* now comes before .*input\.a\.n/],
  ["two tools", `${pay(P)}\n${send(P)}\n1;`, `${send(P)}\n${pay(P)}\n1;`, /^condition: Two: calls erp\/send before erp\/pay, which it came after [^\n]*$/],
  ["files, in a loop", `for (const x of input.list) { data_write({ path: "a", text: x.a }); data_write({ path: "b", text: x.b }); }\n1;`, `for (const x of input.list) { data_write({ path: "b", text: x.b }); data_write({ path: "a", text: x.a }); }\n1;`, /data_write b now comes before data_write a/],
  ["functions, where they are written", `const f = () => ctx_emit("a");\nconst g = () => ctx_emit("b");\nf(); g();\n1;`, `const g = () => ctx_emit("b");\nconst f = () => ctx_emit("a");\nf(); g();\n1;`, null],
  ["one of which excludes the other", `if (input.flag) ctx_emit("a"); else ctx_emit("b");\n1;`, `if (!input.flag) ctx_emit("b"); else ctx_emit("a");\n1;`, null],
];
test.each(ORDER)("in another order: %s", async (_, was, now, says) => {
  const whole = (code: string) => H("mcp, notify, ctx, data", I, code);
  const { widening, changes } = await between(new Map([["agents/two.ts", whole(was)]]), new Map([["agents/two.ts", whole(now)]]));
  expect(lines(widening)).toEqual([]);
  const told = lines(changes).join("\n");
  if (says === null) expect(told).toBe("");
  else expect(told).toMatch(says);
});

test("of two long texts the differing beginning and end are shown, in data and in code", async () => {
  const line = (days: number, limit: number) => `Pay within ${days} days, ${"and so on, ".repeat(30)}ask above ${limit}.\n`;
  const sum = (first: string, last: string) =>
    `const n = input.a.${first} + ${"input.a.rather_long_name + ".repeat(12)}input.a.${last};\n${pay("{ n }")}\n1;`;
  const files = (text: string, code: string) =>
    new Map([
      ["knowledge/terms.md", text],
      ["agents/two.ts", H("mcp", I, code)],
    ]);
  const { widening, changes } = await between(files(line(30, 500), sum("net", "tax")), files(line(31, 900), sum("gross", "fee")));
  expect(lines(changes).join("\n")).toMatch(/terms\.md changes: .*30 days.*above 500.*31 days.*above 900/);
  expect(lines(widening).join("\n")).toMatch(/n is computed differently \(.*gross.*fee; before: .*net.*tax\)/);
});
