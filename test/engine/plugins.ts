/** Text of the workspace files of the engine tests: a bank as a plugin that keeps count of what reached it, and the agents that use it. */

/** What the bank was told lies in .cleared/bank.jsonl, one line a call that reached it; so calls are counted across processes. */
export const BANK = `import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { definePrimitive, type StepContext, z } from "cleared";

const FILE = join(import.meta.dirname, "../.cleared/bank.jsonl");
const lines = () => (existsSync(FILE) ? readFileSync(FILE, "utf8").trim().split("\\n").map((line) => JSON.parse(line)) : []);
const count = (what: string) => lines().filter((line) => line.what === what).length;
const tell = (what: string, key: string, params: unknown) => appendFileSync(FILE, JSON.stringify({ what, key, params }) + "\\n");
const params = z.object({ to: z.string(), amount: z.string(), lines: z.array(z.object({ n: z.number() })).optional() });
const returns = z.object({ ref: z.string() });
const ref = (ctx: StepContext) => ({ ref: ctx.key.split("/")[1] });
const base = { access: "external", summary: "Pay.", params, returns, errors: [], dryRun: () => ({ ref: "dry" }) } as const;

// The bank itself knows the key: a repeat is no second payment.
export const bank_pay = definePrimitive({ ...base, name: "bank_pay", effect: "external", idempotent: "key", example: 'bank_pay({ to: "A", amount: "1" })', run: (p, ctx) => {
  if (!lines().some((line) => line.what === "pay" && line.key === ctx.key)) tell("pay", ctx.key, p);
  return ref(ctx);
} });
// The bank can be asked whether it happened.
export const bank_send = definePrimitive({ ...base, name: "bank_send", effect: "external", example: 'bank_send({ to: "A", amount: "1" })',
  readBack: async (_, ctx) => (lines().some((line) => line.what === "send" && line.key === ctx.key) ? { happened: true, result: ref(ctx) } : { happened: false }),
  run: (p, ctx) => { tell("send", ctx.key, p); return ref(ctx); },
});
// Nobody but a person can tell.
export const bank_wire = definePrimitive({ ...base, name: "bank_wire", effect: "external", example: 'bank_wire({ to: "A", amount: "1" })', run: (p, ctx) => { tell("wire", ctx.key, p); return ref(ctx); } });
// Acts, and then fails: the money may be gone.
export const bank_break = definePrimitive({ ...base, name: "bank_break", effect: "external", example: 'bank_break({ to: "A", amount: "1" })', run: (p, ctx) => {
  tell("break", ctx.key, p);
  if (count("break") === 1) throw new Error("connection reset");
  return ref(ctx);
} });
export const bank_slowpay = definePrimitive({ ...base, name: "bank_slowpay", effect: "external", example: 'bank_slowpay({ to: "A", amount: "1" })', run: async (p, ctx) => {
  tell("slowpay", ctx.key, p);
  await new Promise((resolve) => setTimeout(resolve, 600));
  return ref(ctx);
} });
export const bank_rate = definePrimitive({ name: "bank_rate", effect: "read", access: "read", summary: "Rate.", params: z.object({ day: z.string(), failures: z.int() }), returns: z.object({ rate: z.string() }), errors: [], example: 'bank_rate({ day: "x", failures: 0 })', run: (p, ctx) => {
  tell("rate " + p.day, ctx.key, p);
  if (count("rate " + p.day) <= p.failures) throw new Error("busy");
  return { rate: "1.1" };
} });
export const bank_slow = definePrimitive({ name: "bank_slow", effect: "read", access: "read", summary: "Slow.", params: z.object({ ms: z.int() }), returns: z.object({ rate: z.string() }), errors: [], example: "bank_slow(600)", run: async (p, ctx) => {
  tell("slow", ctx.key, p);
  await new Promise((resolve) => setTimeout(resolve, p.ms));
  return { rate: "1.2" };
} });
`;

const header = (uses: string, more = "") => `/*\nname: Test\ndescription: test\nuses: [${uses}]\n${more}*/\n`;

/** Writes, asks, pays with the given primitive, writes again: an approve-then-pay agent. */
export const payAgent = (primitive: string): string => `${header("approval, bank, journal, ctx, git")}
const payment = { to: "ACME", amount: "120.00" };
const seen = journal_query({ limit: 5 }).length;
journal_add_double({ date: "2026-11-06", description: "Invoice of ACME", debit_account: 5030, credit_account: 2100, amount: "120.00", key: "invoice-7" });
git_commit("import: invoice 7");
const answer = approval_wait({ title: "Pay ACME 120.00 USD?", calls: [{ tool: "${primitive}", params: payment }], expires: "3d" });
if (answer.decision === "rejected") {
  ctx_log("not paid");
  ({ paid: false });
} else {
  const done = ${primitive}(payment);
  journal_add_double({ date: "2026-11-07", description: "Paid " + done.ref, debit_account: 2100, credit_account: 1010, amount: "120.00", key: "payment-7" });
  ctx_emit({ event: "invoice.paid", payload: { ref: done.ref } });
  ({ paid: true, ref: done.ref, seen });
}
`;

export const AGENTS: Record<string, string> = {
  "agents/pay.ts": payAgent("bank_pay"),
  "agents/send.ts": payAgent("bank_send"),
  "agents/wire.ts": payAgent("bank_wire"),
  "agents/break.ts": payAgent("bank_break"),
  "agents/slowpay.ts": payAgent("bank_slowpay"),
  "agents/quick.ts": `${header("ctx", "input: {n: {type: integer, default: 1}}\n")}
ctx_log("quick " + String(input.n));
({ n: input.n });
`,
  "agents/gate.ts": `${header("approval, ctx", "input: {n: {type: integer, default: 1}}\n")}
ctx_now();
const answer = approval_wait({ title: "Go on with " + String(input.n) + "?", calls: [], expires: "3d" });
({ decision: answer.decision, by: answer.by, n: input.n });
`,
  "agents/loop.ts": `${header("ctx")}
let n = 0;
while (true) n = n + ctx_today().length;
`,
  "agents/slow.ts": `${header("bank, ctx")}
const before = ctx_now();
({ rate: bank_slow(600).rate, later: ctx_now() > before });
`,
  "agents/rate.ts": `${header("bank", "input: {day: {type: string, default: a}, failures: {type: integer, default: 2}}\n")}
bank_rate({ day: input.day, failures: input.failures });
`,
  "agents/greedy.ts": `${header("approval, bank", "input: {second: {type: string, default: same}}\n")}
const payment = { to: "ACME", amount: "120.00" };
approval_wait({ title: "Pay?", calls: [{ tool: "bank_wire", params: payment }] });
if (input.second === "other") bank_wire({ to: "ACME", amount: "120.01" });
bank_wire(payment);
bank_wire(payment);
1;
`,
  "agents/thrifty.ts": `${header("approval, bank")}
approval_wait({ title: "Pay?", calls: [{ tool: "bank_wire", params: { to: "ACME", amount: "5" } }] });
"unused";
`,
  "agents/book.ts": `${header("journal, git, ctx", "input: {key: {type: string, default: one}, day: {type: string, default: '2026-11-06'}}\n")}
journal_add_double({ date: input.day, description: "Booked " + input.key, debit_account: 5030, credit_account: 1010, amount: "7.00", key: input.key });
const made = git_commit("import: " + input.key);
ctx_emit({ event: "booked", payload: { key: input.key } });
({ made: made.commit !== null });
`,
};

/** Two equal coffees on one day, a row without a match, and rows of two months. */
export const STATEMENT = `Details,Posting Date,Description,Amount,Type,Balance,Check or Slip #
DEBIT,09/30/2026,GITHUB *PRO SUBSCRIPTION,-4.00,ACH_DEBIT,5428.10,
DEBIT,10/03/2026,BLUE BOTTLE COFFEE,-4.75,DEBIT_CARD,5423.35,
DEBIT,10/03/2026,BLUE BOTTLE COFFEE,-4.75,DEBIT_CARD,5418.60,
CREDIT,10/06/2026,ACME CONSULTING INVOICE 1042,3500.00,ACH_CREDIT,8918.60,
DEBIT,10/08/2026,COMCAST BUSINESS INTERNET,-89.99,ACH_DEBIT,8828.61,
`;
