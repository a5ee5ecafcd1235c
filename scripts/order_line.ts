/*
name: Order line
description: How many pieces of an article an order has after its changes, at which price, what is reserved for it, and what can be
input: {sku: {type: string, required: true}, order: {type: object, required: true}, changes: {type: list, required: true}}
*/
const { sku, order, changes } = input;
const stock = mcp_record({ tool: "erp/get_inventory", params: { sku } });
const line = order.lines.find((one: any) => one.sku === sku);
const price = line?.unit_price ?? mcp_record({ tool: "erp/get_price", params: { sku } }).unit_price;
// Pieces, whether they come as numbers or as text.
const pieces = (records: any[], field: string) => Number(data_sum({ records, field }).sum);
const by = pieces(changes.filter((one: any) => one.sku === sku), "by");
const quantity = Math.max(0, (line === undefined ? 0 : pieces([line], "quantity")) + by);
// Reserved for it by an earlier run, which found less than it needed.
const reservation = mcp_call({ tool: "erp/get_reservation", params: { order_id: order.order_id, sku } });
const held = reservation.status === "reserved" ? pieces([reservation], "quantity") : 0;
const free = Math.max(0, pieces([stock], "on_hand") - pieces([stock], "reserved"));
({ sku, price, quantity, held, available: held + free, weight_kg: stock.weight_kg });
