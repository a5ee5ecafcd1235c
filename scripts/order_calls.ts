/*
name: Order calls
description: What is done to an order - its articles changed, or its stock reserved, and where all is there, charged and shipped
input: {order_id: {type: string, required: true}, customer_id: {type: string, required: true}, carrier: {type: string, required: true},
  today: {type: date, required: true}, changing: {type: boolean, required: true}, ships: {type: boolean, required: true},
  lines: {type: list, required: true}, total: {type: money, required: true}}
*/
const { order_id, customer_id, carrier, today, changing, ships, lines, total } = input;
const items = lines.map(({ sku, quantity }) => ({ sku, quantity }));
const reserve = lines.map((one) => ({ ...one, quantity: Math.min(one.quantity, one.available) })).filter((one) => one.quantity !== one.held);
const calls: { tool: string; params: object }[] = changing
  ? [{ tool: "erp/modify_order_items", params: { order_id, items } }]
  : reserve.map(({ sku, quantity }) => ({ tool: "erp/reserve_inventory", params: { order_id, sku, quantity } }));
if (ships) {
  calls.push({ tool: "erp/charge_customer", params: { reference: order_id, customer_id, amount: total } });
  calls.push({ tool: "erp/create_shipment", params: { order_id, carrier, ship_on: today } });
}
calls;
