/*
name: Order Management
description: Price an order, check stock and credit, reserve, charge and ship it
process: order_management
risk: low
uses: [fsm, mcp, compute, data, policy, approval, script]
input:
  order_id: {type: string, required: true}
  carrier: {type: string, default: Umbrella Freight}
  changes: {type: list, default: [], describe: "{sku, by}: change the order by so many pieces instead of fulfilling it"}
states:
  ASSESS: read the order, customer, stock, shipping rates, tax
  COMPUTE: lines, discount, tax, shipping by weight and zone
  POLICY_CHECK: above 10,000, credit hold, stock to be allocated
  APPROVAL_GATE: who may approves the order
  MUTATE: change the order; or reserve, charge, ship
examples:
  - {order_id: ORD-5592}
*/
fsm_enter("ASSESS");
const { order_id, carrier } = input;
const today = mcp_call("erp/get_business_date");
const order = script_run("record", { tool: "erp/get_order", params: { order_id } });
const customer = mcp_call({ tool: "erp/get_customer", params: { customer_id: order.customer_id } });
const tax = mcp_call({ tool: "erp/get_tax_rate", params: { jurisdiction: order.tax_jurisdiction } });
const rates = mcp_fetch_all({ tool: "erp/list_shipping_rates", params: { zone: order.ship_zone } }).records;
const skus: string[] = [...new Set([...order.lines, ...input.changes].map((one) => one.sku))];
const stocked = skus.map((sku) => script_run("order_line", { sku, order, changes: input.changes })).filter((one) => one.quantity > 0);
fsm_enter("COMPUTE");
const lines = stocked.map(({ sku, price, quantity }) => ({ id: sku, price, quantity }));
const net = compute_net_price_delta({ original_items: [], modified_items: lines }).net_delta;
const goods = compute_tax_vat({
  amount: compute_percent_of({ amount: net, pct: order.discount_pct }).rest,
  vat_rate: tax.rate_pct,
  mode: "add",
});
const weight = stocked.reduce((all, one) => all.plus(one.weight), new Decimal(0));
const rate = rates.sort((a, b) => a.up_to_kg - b.up_to_kg).find((one) => weight.lte(one.up_to_kg));
const total = script_run("total", { amounts: [goods.gross_amount, rate.price] });
fsm_enter("POLICY_CHECK");
const short = stocked.filter((one) => one.free < one.quantity);
const verdict = policy_evaluate({
  facts: { order_status: order.status, total, credit_hold: customer.credit_hold, needs_allocation: short.length > 0 },
});
const changing = input.changes.length > 0;
const items = skus.map((sku) => ({ sku, quantity: lines.find((one) => one.id === sku)?.quantity ?? 0 }));
const calls: { tool: string; params: object }[] = changing
  ? [{ tool: "erp/modify_order_items", params: { order_id, items } }]
  : stocked
      .filter((one) => one.free > 0)
      .map(({ sku, quantity, free }) => ({ tool: "erp/reserve_inventory", params: { order_id, sku, quantity: Math.min(quantity, free) } }));
// What is not there is neither charged nor shipped: the order waits for stock with what is reserved.
const ships = short.length === 0 && !changing;
if (ships) {
  calls.push({ tool: "erp/charge_customer", params: { reference: order_id, customer_id: order.customer_id, amount: total } });
  calls.push({ tool: "erp/create_shipment", params: { order_id, carrier, ship_on: today } });
}
const details = { net, tax: goods.vat_amount, shipping: rate.price, weight_kg: weight.toString(), missing: short.map((one) => one.sku) };
const { by, calls: made } = script_run("carry_out", {
  title: `${changing ? "Change" : "Fulfil"} ${order_id} of ${customer.name} for ${total}?`,
  calls,
  ask: true,
  details,
});
const charged = made.find((call: any) => call.tool === "erp/charge_customer")?.params.amount ?? total;
const shipment = made.find((call: any) => call.tool === "erp/create_shipment")?.params;
const reserved = made.filter((call: any) => call.tool === "erp/reserve_inventory").map((call: any) => call.params);
const quantities = changing ? made[0].params.items : reserved;
const told = lines.map((line) => ({ ...line, quantity: quantities.find((one: any) => one.sku === line.id)?.quantity ?? line.quantity }));
const status = ships ? "shipped" : changing ? "changed" : "reserved";
const fulfillment = { status, carrier: shipment?.carrier ?? carrier, ship_date: shipment?.ship_on ?? null, missing: details.missing };
const summary = `${order_id} of ${customer.name}: ${charged}, ${fulfillment.status}, approved by ${by} (${verdict.summary})`;
({ order_id, total: charged, fulfillment, items: told, tax: goods.vat_amount, shipping: rate.price, summary });
