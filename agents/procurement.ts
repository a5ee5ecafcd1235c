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
const today = mcp_call("erp/get_business_date");
const asked = mcp_record({ tool: "erp/get_requisition", params: { requisition_id } });
const { vendor_id, department_id, description } = asked;
const vendor = mcp_record({ tool: "erp/get_vendor", params: { vendor_id } });
const requester = mcp_record({ tool: "erp/get_employee", params: { employee_id: asked.requester_id } });
const budget = mcp_record({ tool: "erp/get_budget", params: { department_id, period: today.slice(0, 4) } });
const before = mcp_fetch_all({ tool: "erp/list_purchase_orders", params: { vendor_id } });
fsm_enter("COMPUTE");
const amount = script_run("total", { amounts: [asked.net_amount, asked.tax, asked.shipping] });
const budget_left = script_run("total", { amounts: [budget.amount, `-${budget.committed}`, `-${budget.spent}`] });
const leftAfter = (spent: string) => script_run("total", { amounts: [budget_left, `-${spent}`] });
const running = asked.running_cost_year;
const threeYears = (spent: string) => script_run("total", { amounts: [spent, running, running, running] });
fsm_enter("POLICY_CHECK");
const vendor_status = vendor.approved && vendor.status === "active" ? "approved" : vendor.status;
const conflict_of_interest = vendor.conflict_with === asked.requester_id;
const about = { requisition_id, amount, vendor: vendor.name, requester: requester.name };
const facts = { requisition_status: asked.status, total: amount, budget_left, vendor_status, conflict_of_interest };
const verdict = policy_evaluate({ facts, about });
const order = { requisition_id, vendor_id, department_id, description, amount, delivery_on: asked.needed_on };
const ticket = { reference: requisition_id, subject: `Receive ${description}`, assignee: asked.requester_id, priority: "normal" };
const calls = [
  { tool: "erp/create_purchase_order", params: order },
  { tool: "erp/create_ticket", params: ticket },
];
const details = { three_years: threeYears(amount), budget_left, budget_left_after: leftAfter(amount), orders_before: before.records.length };
const title = `Order ${description} from ${vendor.name} for ${amount}?`;
const { by, no, made } = script_run("carry_out", { title, calls, otherwise: [], ask: true, details });
const ordered = made["erp/create_purchase_order"]?.[0] ?? order;
fsm_enter("SCHEDULE_NOTIFY");
const po_id = no === null ? mcp_record({ tool: "erp/get_purchase_order", params: { requisition_id: ordered.requisition_id } }).po_id : null;
const seller = mcp_record({ tool: "erp/get_vendor", params: { vendor_id: ordered.vendor_id } }).name;
const decision = no === null ? "approved" : "rejected";
const what = `${po_id ?? requisition_id}: ${ordered.description} from ${seller} for ${ordered.amount}, due ${ordered.delivery_on}`;
const summary = `${what}, ${decision} by ${by}${no === null ? "" : `: ${no}`}`;
notify_send({ to: requester.email, subject: `${requisition_id} is ${no === null ? "ordered" : decision}`, text: summary, key: requisition_id });
const left = no === null ? leftAfter(ordered.amount) : budget_left;
const told = { decision, approval: `${decision} by ${by}: ${no ?? verdict.summary}`, delivery: ordered.delivery_on, budget_left: left };
({ po_number: po_id, vendor: seller, amount: ordered.amount, ...told, three_years: threeYears(ordered.amount), summary });
