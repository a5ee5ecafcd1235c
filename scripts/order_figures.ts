/*
name: Order figures
description: What the lines of an order come to - discount, tax, shipping by weight and zone
input: {order: {type: object, required: true}, lines: {type: list, required: true, describe: "{sku, price, quantity, weight_kg} each"}, tax: {type: object, required: true}, rates: {type: list, required: true, describe: of the order's zone}}
*/
const { order, lines, tax, rates } = input;
const items = lines.map(({ sku, price, quantity }) => ({ id: sku, price, quantity }));
const net = compute_percent_of({
  amount: compute_net_price_delta({ original_items: [], modified_items: items }).net_delta,
  pct: order.discount_pct,
}).rest;
const goods = compute_tax_vat({ amount: net, vat_rate: tax.rate_pct, mode: "add" });
const weight = lines.reduce((all, one) => all.plus(new Decimal(one.weight_kg).times(one.quantity)), new Decimal(0)).toString();
const by_weight = rates.sort((a, b) => new Decimal(a.up_to_kg).cmp(b.up_to_kg));
const shipping = data_first({
  records: by_weight.map((one) => ({ ...one, fits: new Decimal(weight).lte(one.up_to_kg) })),
  where: { fits: true },
  missing: `no shipping rate of zone ${order.ship_zone} covers the ${weight} kg of ${order.order_id}`,
}).price;
const total = script_run("total", { amounts: [goods.gross_amount, shipping] });
({ net, tax: goods.vat_amount, shipping, weight_kg: weight, total });
