/*
name: Order line
description: How many pieces of an article an order has after its changes, at which price, and what is free in stock
input: {sku: {type: string, required: true}, order: {type: object, required: true}, changes: {type: list, required: true}}
*/
const { sku, order, changes } = input;
const stock = mcp_record({ tool: "erp/get_inventory", params: { sku } });
const line = order.lines.find((one: any) => one.sku === sku);
const price = line?.unit_price ?? mcp_record({ tool: "erp/get_price", params: { sku } }).unit_price;
const by = changes.filter((one: any) => one.sku === sku).reduce((all: number, one: any) => all + one.by, 0);
const quantity = Math.max(0, (line?.quantity ?? 0) + by);
({ sku, price, quantity, free: stock.on_hand - stock.reserved, weight_kg: stock.weight_kg });
