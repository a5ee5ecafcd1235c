/*
name: Order Management
description: Price an order, check stock and credit, reserve, charge and ship it
trigger: a2a
process: order_management
risk: low
uses: [fsm, mcp, compute, data, policy, approval, script]
input: {order_id: {type: string, required: true}, carrier: {type: string, default: Umbrella Freight}, task: {type: string, default: ""},
  changes: {type: list, default: [], describe: "{sku, by}: change the order by so many pieces instead of fulfilling it (else task says it in words)"}}
states:
  ASSESS: read the order, customer, stock, shipping rates, tax
  COMPUTE: lines, discount, tax, shipping by weight and zone
  POLICY_CHECK: above 10,000, credit hold, stock to be allocated
  APPROVAL_GATE: who may approves the order
  MUTATE: change the order; or reserve, charge, ship
examples: [{order_id: ORD-5592}]
*/
fsm_enter("ASSESS");
const { order_id, carrier } = input;
const today = mcp_call("erp/get_business_date");
const order = mcp_record({ tool: "erp/get_order", params: { order_id } });
const { customer_id, status: order_status } = order;
const customer = mcp_record({ tool: "erp/get_customer", params: { customer_id } });
const tax = mcp_record({ tool: "erp/get_tax_rate", params: { jurisdiction: order.tax_jurisdiction } });
const rates = mcp_fetch_all({ tool: "erp/list_shipping_rates", params: { zone: order.ship_zone } }).records;
const changes = input.changes.length > 0 || input.task === "" ? input.changes : script_run("order_changes", { task: input.task });
const skus: string[] = [...new Set([...order.lines, ...changes].map((one) => one.sku))];
const wanted = skus.map((sku) => script_run("order_line", { sku, order, changes }));
const lines = wanted.filter((one) => one.quantity > 0);
fsm_enter("COMPUTE");
const figures = script_run("order_figures", { order, lines, tax, rates });
fsm_enter("POLICY_CHECK");
const missing = lines.filter((one) => one.available < one.quantity).map((one) => one.sku);
const facts = { order_status, total: figures.total, currency: order.currency, credit_hold: customer.credit_hold, needs_allocation: missing.length > 0 };
const verdict = policy_evaluate({ facts, about: { order_id, total: figures.total, customer: customer.name } });
const changing = changes.length > 0;
// What is not there is neither charged nor shipped: the order waits for stock with what is reserved.
const ships = missing.length === 0 && !changing;
let day = today;
let asked: any;
do {
  const calls = script_run("order_calls", { order_id, customer_id, carrier, today: day, changing, ships, lines: wanted, total: figures.total });
  const stock = calls.length === 0 ? "Leave waiting for stock:" : "Reserve what is in stock for";
  const title = `${changing ? "Change" : ships ? "Fulfil" : stock} ${order_id} of ${customer.name}, ${figures.total}?`;
  asked = script_run("carry_out", { title, calls, ask: true, today: day, again: day !== today, details: { ...figures, missing } });
  if (asked.passed) day = mcp_call("erp/get_business_date");
} while (asked.passed);
const { by, made } = asked;
const told = script_run("order_done", { made, order, planned: { lines, figures, missing }, tax, rates });
const fulfillment = { status: ships ? "shipped" : changing ? "changed" : "reserved", carrier, ship_date: null, missing: told.missing, ...told.shipment };
const summary = `${order_id} of ${customer.name}: ${told.total}, ${fulfillment.status}, approved by ${by} (${verdict.summary})`;
({ order_id, total: told.total, fulfillment, items: told.items, tax: told.tax, shipping: told.shipping, summary });
