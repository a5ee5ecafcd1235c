/*
name: Order done
description: What became of an order - articles, total, tax, shipment - told from the calls as approved
input: {made: {type: object, required: true}, order: {type: object, required: true},
  planned: {type: object, required: true, describe: "lines as they were before, figures, and missing: articles that were short"},
  tax: {type: object, required: true}, rates: {type: list, required: true}}
*/
const { made, order, planned, tax, rates } = input;
const { lines: before, figures, missing } = planned;
const of = (tool: string) => made[`erp/${tool}`] ?? [];
const [changed] = of("modify_order_items");
const sent = of("create_shipment").map(({ carrier, ship_on }: any) => ({ carrier, ship_date: ship_on }))[0] ?? {};
const reserved = of("reserve_inventory");
const held = before.map((one: any) => ({ ...one, quantity: reserved.find(({ sku }: any) => sku === one.sku)?.quantity ?? one.held }));
const after = changed?.items.map(({ sku, quantity }: any) => ({ ...script_run("order_line", { sku, order, changes: [] }), quantity }));
const lines = (after ?? held).filter((one: any) => one.quantity > 0);
const now = changed === undefined ? figures : script_run("order_figures", { order, lines, tax, rates });
// An amount that was changed is the goods with their tax, and the shipping.
const total = of("charge_customer")[0]?.amount ?? now.total;
const shipping = compute_sub_limit({ claimed: now.shipping, sub_limit: total });
const goods = script_run("total", { amounts: [total, `-${shipping}`] });
const vat = new Decimal(total).eq(now.total) ? now.tax : compute_tax_vat({ amount: goods, vat_rate: tax.rate_pct, mode: "extract" }).vat_amount;
const items = lines.map(({ sku, price, quantity }: any) => ({ id: sku, price, quantity }));
const short = lines.filter((one: any) => one.available < one.quantity).map((one: any) => one.sku);
({ items, missing: changed === undefined ? missing : short, total, tax: vat, shipping, shipment: sent });
