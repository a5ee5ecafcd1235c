/*
name: Procurement
description: Turn a requisition into a purchase order once who must approve it has
trigger: a2a
process: procurement
risk: medium
uses: [fsm, mcp, data, policy, approval, script, notify]
input: {requisition_id: {type: string, required: true}}
states:
  ASSESS: read the requisition, the vendor, the budget, what was bought before
  COMPUTE: total with tax and shipping, what is left of the budget, cost over three years
  POLICY_CHECK: who approves the total, vendor approved, no conflict of interest, within budget
  APPROVAL_GATE: manager, vice president or CFO
  MUTATE: order, which commits the budget; a ticket for the delivery
  SCHEDULE_NOTIFY: tell who asked, look again when it is due
examples: [{requisition_id: REQ-31}]
*/
fsm_enter("ASSESS");
const { requisition_id } = input;
const { today, asked, vendor, requester, budget, before } = script_run("procurement_records", { requisition_id });
fsm_enter("COMPUTE");
const amount = script_run("total", { amounts: [asked.net_amount, asked.tax, asked.shipping] });
const budget_left = script_run("total", { amounts: [budget.amount, `-${budget.committed}`, `-${budget.spent}`] });
const figuresOf = (spent: string) => script_run("procurement_figures", { asked, budget_left, spent });
fsm_enter("POLICY_CHECK");
const vendor_status = vendor.approved && vendor.status === "active" ? "approved" : vendor.status;
const { requester_id } = asked;
const conflict_of_interest = vendor.conflict_with === requester_id;
const about = { requisition_id, amount, vendor: vendor.name, requester: requester.name };
const facts = { requester_id, requisition_status: asked.status, total: amount, budget_left, vendor_status, conflict_of_interest };
const verdict = policy_evaluate({ facts, about });
const details = { ...figuresOf(amount), budget_left, needed_on: asked.needed_on, orders_before: before.records.length };
const title = `Order ${asked.description} from ${vendor.name} for ${amount}?`;
const receivers = { tool: "erp/get_employee", key: "employee_id", of: ["assignee"] };
let day = today;
let plan: any;
let said: any;
do {
  plan = script_run("procurement_calls", { asked, amount, today: day });
  said = script_run("carry_out", { title, calls: plan.calls, otherwise: [], ask: true, today: day, again: day !== today, details, receivers });
  if (said.passed) day = mcp_call("erp/get_business_date");
} while (said.passed);
const { by, no, made } = said;
const ordered = made["erp/create_purchase_order"]?.[0] ?? plan.order;
fsm_enter("SCHEDULE_NOTIFY");
const { po_number, seller } = script_run("procurement_done", { ordered, approved: no === null });
const decision = no === null ? "approved" : "rejected";
const what = `${po_number ?? requisition_id}: ${ordered.description} from ${seller} for ${ordered.amount}, due ${ordered.delivery_on}`;
const summary = `${what}, ${decision} by ${by}${no === null ? "" : `: ${no}`}`;
const subject = `${requisition_id} is ${no === null ? "ordered" : decision}`;
notify_send({ to: requester.email, subject, text: summary, key: summary });
const { three_years, budget_left_after } = figuresOf(ordered.amount);
const told = { decision, approval: `${decision} by ${by}: ${no ?? verdict.summary}`, delivery: ordered.delivery_on, three_years };
({ po_number, vendor: seller, amount: ordered.amount, ...told, budget_left: no === null ? budget_left_after : budget_left, summary });
