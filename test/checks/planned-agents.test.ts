/** Agents as users write them: what they tell after a gate is right in the one form, and in the other it is what was planned. */
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
name: Pay
uses: [approval, mcp, compute, notify, data, ctx, journal, script]
input: { id: { type: string, required: true }, amount: { type: money, required: true }, rows: { type: list } }
*/
`;

async function remarksOn(script: string): Promise<string[]> {
  const files = new Map([
    ["agents/pay.ts", HEAD + script],
    ["scripts/carry_out.ts", "1;\n"],
  ]);
  const context = { tree: treeOver(nothing, files), registry, trust: parseTrust(""), sandbox, paths: [], files: ["agents/pay.ts"] };
  const { findings } = await readScripts(context);
  return findings.map(({ code, at, message }) => `${(at.line ?? 0) - 5} ${code === "SCRIPT_PLANNED" ? "" : code}${message.split(" ")[0]}`);
}

/** right: a script without remarks. wrong: what is written in it instead of what, and the remarks on that. */
interface Agent {
  right: string;
  wrong: [instead: string, written: string, ...remarks: string[]][];
}

const AGENTS: Record<string, Agent> = {
  "a batch of payments": {
    right: `const rows = input.rows ?? [];
const total = data_sum({ records: rows, field: "amount" }).sum;
const calls = rows.map((r: any) => ({ tool: "erp/pay", params: { to: r.to, amount: r.amount } }));
const asked = approval_wait({ title: \`Pay \${total} in \${rows.length} payments?\`, calls });
if (asked.decision === "rejected") return { paid: "0.00", text: \`\${total} was not paid: \${asked.reason}\` };
let paid = new Decimal(0);
for (const call of asked.calls) { mcp_call(call); paid = paid.plus(call.params.amount); }
const text = \`Paid \${paid.toFixed(2)} of \${total} to \${rows.map((r: any) => r.to).join(", ")}\`;
notify_send({ to: "cfo", subject: "Paid", text, key: "paid" });
({ paid: paid.toFixed(2), count: asked.calls.length });
`,
    wrong: [
      [`Paid \${paid.toFixed(2)} of \${total}`, `Paid \${total} in all,`, "8 total", "9 text"],
      ["({ paid: paid.toFixed(2)", "({ paid: total", "10 total"],
      ["({ paid:", "({ average: new Decimal(total).div(rows.length).toFixed(2), paid:", "10 total"],
      ["paid.toFixed(2),", "rows.reduce((s: any, r: any) => s.plus(r.amount), new Decimal(0)).toFixed(2),", "10 r.amount"],
      [
        "paid = paid.plus(call.params.amount); }",
        "}\nfor (const r of rows) paid = paid.plus(r.amount);",
        "8 r.amount",
        "9 paid.toFixed",
        "9 total",
        "10 text",
        "11 paid.toFixed",
      ],
    ],
  },
  "payments by vendor": {
    right: `const { records } = mcp_fetch_all({ tool: "erp/list_invoices" });
const due = data_sum({ records, field: "amount" }).sum;
const sumOf = (list: any[]) => data_sum({ records: list, field: "amount" }).sum;
const calls = data_group_by({ records, by: "vendor" }).map(({ key, records }) => ({ tool: "erp/pay", params: { vendor: key, amount: sumOf(records) } }));
const { no, by, made } = script_run("carry_out", { title: \`Pay \${due}?\`, calls, ask: true });
if (no !== null) ctx_log(\`\${due} stays due: \${no}\`);
const paid = data_sum({ records: made["erp/pay"] ?? [], field: "amount" }).sum;
({ paid, text: \`\${paid} of \${due} paid, approved by \${by}\`, left: new Decimal(due).minus(paid).toFixed(2) });
`,
    wrong: [
      ["({ paid, text", "({ paid: due, text", "8 due"],
      [`({ paid, text: \`\${paid} of \${due}`, `({ text: \`\${due}`, "8 due"],
      ["if (no !== null) ctx", "if (no === null) ctx", "6 due"],
    ],
  },
  "a refund": {
    right: `const order = mcp_record({ tool: "erp/get_order", params: { id: input.id } });
const refund = new Decimal(order.total).times("0.8").toFixed(2);
const asked = approval_wait({ title: \`Refund \${refund}?\`, calls: [{ tool: "erp/refund", params: { order_id: order.order_id, amount: refund } }] });
const isApproved = asked.decision !== "rejected";
if (!isApproved) notify_send({ to: order.email, subject: "No refund", text: \`Your refund of \${refund} was declined.\`, key: "no" });
const [call] = asked.calls;
const refunded = isApproved ? call.params.amount : "0.00";
if (isApproved) {
  mcp_call(call);
  notify_send({ to: order.email, subject: "Your refund", text: \`\${refunded} of \${order.total}\`, key: "yes" });
}
({ refunded, asked_for: isApproved ? null : refund, kept: new Decimal(order.total).minus(refunded).toFixed(2) });
`,
    wrong: [
      [`text: \`\${refunded} of`, `text: \`\${refund} of`, "10 refund"],
      ["({ refunded,", "({ refunded: (asked as any).amount ?? refund,", "12 refund"],
      ["kept: new Decimal(order.total).minus(refunded)", "kept: new Decimal(order.total).minus(refund)", "12 refund"],
      ["isApproved ? null : refund", "isApproved ? refund : null", "12 refund"],
    ],
  },
  "an expense with its VAT": {
    right: `const claim = mcp_record({ tool: "erp/get_expense", params: { id: input.id } });
const vatOf = (amount: string) => new Decimal(amount).times("0.2").toFixed(2);
const calls = [{ tool: "erp/reimburse", params: { id: claim.id, amount: claim.amount } }];
const asked = approval_wait({ title: \`Reimburse \${claim.amount}, VAT \${vatOf(claim.amount)}?\`, calls });
if (asked.calls.length === 0) return { amount: claim.amount, why: asked.reason };
const { amount } = asked.calls[0].params;
mcp_call(asked.calls[0]);
journal_add_double({ date: ctx_today(), description: claim.category, debit_account: 5020, credit_account: 1010, amount });
journal_add_double({ date: ctx_today(), description: "VAT", debit_account: 1200, credit_account: 1010, amount: vatOf(amount) });
({ amount, claimed: claim.limit, vat: vatOf(amount) });
`,
    wrong: [
      ["amount: vatOf(amount) });", "amount: vatOf(claim.amount) });", "9 claim.amount"],
      [
        "const { amount } = asked",
        `const vat = compute_percent_of({ amount: claim.amount, pct: "20" }).result;\nctx_log(\`VAT \${vat}\`);\nconst { amount } = asked`,
        "6 claim.amount",
        "7 vat",
      ],
      ["1010, amount });", "1010, amount: claim.amount });", "8 claim.amount"],
    ],
  },
  "an order": {
    right: `const lines = input.rows ?? [];
const priced = (list: any[]) => list.reduce((sum: any, one: any) => sum.plus(new Decimal(one.price).times(one.quantity)), new Decimal(0)).toFixed(2);
const calls = lines.map(({ sku, price, quantity }: any) => ({ tool: "erp/reserve", params: { sku, price, quantity } }));
const asked = approval_wait({ title: \`Order for \${priced(lines)}?\`, calls });
switch (asked.decision) {
  case "rejected":
    ctx_log(\`not ordered: \${priced(lines)}\`);
    break;
  default:
    for (const call of asked.calls) mcp_call(call);
}
const ordered = priced(asked.calls.map((call: any) => call.params));
({ ordered, articles: lines.map((one: any) => one.sku), text: \`ordered for \${ordered}\` });
`,
    wrong: [
      [`text: \`ordered for \${ordered}\``, `text: \`ordered for \${priced(lines)}\``, "2 one.price"],
      [
        "articles:",
        "pieces: lines.reduce((n: any, one: any) => n.plus(one.quantity), new Decimal(0)).toString(), articles:",
        "13 lines.reduce",
      ],
      ['case "rejected"', 'case "edited"', "2 one.price"],
    ],
  },
  "a payment for each row": {
    right: `let [paid, last] = [new Decimal(0), "nothing"];
for (const row of input.rows ?? []) {
  ctx_log(\`last paid: \${last}\`);
  const fee = compute_percent_of({ amount: row.amount, pct: "10" }).result;
  const asked = approval_wait({ title: \`Pay \${fee}?\`, calls: [{ tool: "erp/pay", params: { amount: fee } }] });
  if (asked.decision === "rejected") { ctx_log(\`\${fee} was not paid\`); continue; }
  const { amount } = asked.calls[0].params;
  mcp_call(asked.calls[0]);
  [paid, last] = [paid.plus(amount), amount];
  if (amount !== fee) ctx_log(\`changed from \${fee} to \${amount}\`);
}
({ paid: paid.toFixed(2), last });
`,
    wrong: [
      ["paid.plus(amount), amount", "paid.plus(amount), fee", "3 last", "9 fee", "12 last"],
      ["paid.plus(amount)", "paid.plus(fee)", "9 paid", "9 fee", "12 paid.toFixed"],
    ],
  },
  "an amount that is asked for until somebody agrees": {
    right: `const credit = compute_percent_of({ amount: input.amount, pct: "10" }).result;
let asked: any;
for (const who of input.rows ?? []) {
ctx_log(\`asking \${who} for \${credit}\`);
asked = approval_wait({ title: "Credit?", calls: [{ tool: "erp/apply_credit", params: { id: input.id, amount: credit } }] });
if (asked.decision !== "rejected") break;
ctx_log(\`\${who} refused \${credit}\`);
}
const credited = asked.calls[0]?.params.amount ?? "0.00";
({ credited, text: \`\${credited} credited\`, or: asked.calls[0]?.params.amount ?? credit });
`,
    wrong: [[`text: \`\${credited}`, `text: \`\${credit}`, "10 credit"]],
  },
  "a payment in parts": {
    right: `let left = new Decimal(input.amount);
while (left.gt(0)) {
  const part = left.lt(100) ? left : new Decimal(100);
  const asked = approval_wait({ title: \`Pay \${part.toFixed(2)}?\`, calls: [{ tool: "erp/pay", params: { amount: part.toFixed(2) } }] });
  if (asked.decision === "rejected") break;
  mcp_call(asked.calls[0]);
  left = left.minus(asked.calls[0].params.amount);
}
({ left: left.toFixed(2) });
`,
    wrong: [
      [
        "left.minus(asked.calls[0].params.amount)",
        "left.minus(part)",
        "3 left",
        "4 part.toFixed",
        "4 part.toFixed",
        "7 left",
        "7 part",
        "9 left.toFixed",
      ],
    ],
  },
  "an invoice that is large or small": {
    right: `const invoice = mcp_record({ tool: "erp/get_invoice", params: { id: input.id } });
const net = new Decimal(invoice.total).times("0.98").toFixed(2);
function main() {
  if (new Decimal(net).gt(1000)) {
    const asked = approval_wait({ title: "Pay?", calls: [{ tool: "erp/pay", params: { amount: net } }] });
    if (asked.decision === "rejected") return { paid: "0.00", asked: net };
    mcp_call(asked.calls[0]);
    return { paid: asked.calls[0].params.amount };
  }
  ctx_log(\`small: \${net}\`);
  mcp_call({ tool: "erp/pay", params: { amount: net } });
  return { paid: net };
}
(main());
`,
    wrong: [
      ["return { paid: asked.calls[0].params.amount }", "return { paid: net }", "8 net"],
      ["(main());", "({ ...main(), net });", "14 net"],
    ],
  },
  "the same amount for each": {
    right: `const each = new Decimal(input.amount).div(2).toFixed(2);
const done: any[] = [];
for (const row of input.rows ?? []) {
  const question: any = { title: \`Pay \${each} to \${row.to}?\`, calls: [{ tool: "erp/pay", params: { to: row.to, amount: each } }] };
  ctx_log(\`asking for \${each}\`);
  const asked = approval_wait(question);
  asked.calls.forEach((call: any) => { mcp_call(call); done.push(\`\${call.params.amount} to \${row.to}\`); });
}
({ done });
`,
    wrong: [[`\${call.params.amount} to`, `\${each} to`, "7 each", "9 done"]],
  },
  "a total that only a refusal tells": {
    right: `const rows = input.rows ?? [];
const asked = approval_wait({ title: "Pay?", calls: rows.map((r: any) => ({ tool: "erp/pay", params: { to: r.to, amount: r.amount } })) });
const total = data_sum({ records: rows, field: "amount" }).sum;
function refuse(why: string) { ctx_log(\`\${total} not paid: \${why}\`); return { paid: "0.00", total }; }
if (asked.decision === "rejected") {
  (refuse(asked.reason ?? ""));
} else {
  for (const call of asked.calls) mcp_call(call);
  ({ paid: data_sum({ records: asked.calls.map((one: any) => one.params), field: "amount" }).sum });
}
`,
    wrong: [["asked.calls.map((one: any) => one.params)", "rows", "9 data_sum"]],
  },
  "a credit, told by what was decided": {
    right: `const credit = compute_percent_of({ amount: input.amount, pct: "10" }).result;
const asked = approval_wait({ title: \`Credit \${credit}?\`, calls: [{ tool: "erp/apply_credit", params: { id: input.id, amount: credit } }] });
if (asked.decision !== "approved" && asked.decision !== "edited") { ctx_log(\`no credit of \${credit}\`); ({ credit: null }); }
else {
  mcp_call(asked.calls[0]);
  ({ credit: asked.decision === "edited" ? asked.calls[0].params.amount : credit, planned: { credit } });
}
`,
    wrong: [
      ['asked.decision === "edited" ? asked.calls[0].params.amount : credit', "credit", "6 credit"],
      ['=== "edited"', '!== "edited"', "6 credit"],
      // What is not approved may be edited.
      [' && asked.decision !== "edited"', "", "3 credit"],
    ],
  },
};

it.each(Object.entries(AGENTS))("%s", async (_, { right, wrong }) => {
  expect(await remarksOn(right)).toEqual([]);
  for (const [instead, written, ...remarks] of wrong) {
    expect(right).toContain(instead);
    expect(await remarksOn(right.replace(instead, () => written)), written).toEqual(remarks);
  }
});
