/** What can be done to customers, receivables, orders and subscriptions. */
import { add, change, move, person, reason, TODAY } from "../act.ts";
import { addRow, changeRows, minus, Refused, type Row, rowOf, rowsOf, rowThere, total, type Value } from "../business.ts";
import { count, day, flag, items, money, oneOf, positive, text, type Tool, type World } from "../tool.ts";

export const SALES_ACTS: Tool[] = [
  add("provision_account", "Provision an account for a customer.", "accounts", {
    fields: { customer_id: text("customer"), plan_id: text("plan"), region: oneOf("region", ["us", "eu"]) },
    fixed: { status: "active", created_on: TODAY },
    after: ({ db }, { customer_id = null }) => {
      rowThere(db, "customers", { customer_id });
      changeRows(db, "customers", { customer_id }, { status: "active" });
    },
  }),
  change("assign_csm", "Make an employee a customer's success manager.", "customers", { fields: { csm: person } }),
  add("create_project", "Start an onboarding project for a customer.", "projects", {
    fields: { customer_id: text("customer"), name: text("name"), kickoff_on: day("kickoff"), lead_id: person },
    fixed: { status: "planned" },
  }),
  add("initiate_edd_review", "Start enhanced due diligence on a customer.", "edd_cases", {
    fields: { customer_id: text("customer"), reason },
    fixed: { status: "open", opened_on: TODAY },
  }),
  add("send_reminder", "Send a reminder of a tier to a customer.", "reminders", {
    fields: {
      customer_id: text("customer"),
      tier: oneOf("tier", ["reminder", "notice", "final"]),
      subject: text("subject"),
      text: text("what it says"),
    },
    fixed: { status: "sent", sent_on: TODAY },
  }),
  add("create_payment_plan", "Agree a payment plan with a customer.", "payment_plans", {
    fields: { customer_id: text("customer"), amount: money("total"), installments: count("installments"), start_on: day("first payment") },
    fixed: { status: "active" },
  }),
  change("write_off_invoice", "Write off what is still owed on a customer's invoice.", "ar_invoices", {
    fields: { amount: money("what is written off"), reason },
    column: { amount: "written_off" },
    fixed: { status: "written_off", balance: "0.00" },
    only: { status: ["open", "agency"] },
  }),
  change("hand_over_to_agency", "Hand an overdue invoice to a collection agency.", "ar_invoices", {
    fields: { agency: text("agency") },
    fixed: { status: "agency" },
    only: { status: ["open"] },
  }),
  add("issue_credit_memo", "Issue a credit memo for a dispute; lowers what the invoice owes.", "credit_memos", {
    fields: { dispute_id: text("dispute"), ar_invoice_id: text("invoice"), amount: positive("credit, above 0.00"), reason },
    fixed: { status: "issued", issued_on: TODAY },
    after: (world, row) =>
      move(world, "ar_invoices", { ar_invoice_id: row["ar_invoice_id"] ?? null }, "balance", minus("0", row["amount"])),
  }),
  change("resolve_dispute", "Close a dispute: credited, partial or declined, by what is credited of the claim.", "disputes", {
    fields: { decided_credit: money("credit, 0.00 for none") },
    fixed: { status: "resolved" },
    after: ({ db }, { dispute_id = null, decided_credit, claimed }) => {
      const left = minus(claimed, decided_credit);
      const outcome = minus(decided_credit, "0") === "0.00" ? "declined" : left === "0.00" || left.startsWith("-") ? "credited" : "partial";
      changeRows(db, "disputes", { dispute_id }, { outcome });
    },
  }),
  {
    ...change("modify_order_items", "Set quantities of an order's articles; 0 takes one off the order.", "orders", {
      fields: { items: items("articles that change") },
      only: { status: ["placed"] },
      after: (world, row, params) => setQuantities(world, row, params["items"] as unknown as { sku: string; quantity: number }[]),
    }),
    verify: { read: "get_order_items", key: { order_id: "order_id", items: "items" }, expect: { items: "$items" }, before: "different" },
  },
  change("cancel_order", "Cancel an order and release its stock.", "orders", {
    fixed: { status: "canceled" },
    only: { status: ["placed", "canceled"] },
    after: ({ db }, { order_id = null }) => {
      for (const held of rowsOf(db, "reservations", { order_id, status: "reserved" })) moveStock(db, held, { reserved: -1, on_hand: 0 });
      changeRows(db, "reservations", { order_id, status: "reserved" }, { status: "released" });
    },
  }),
  change("reserve_inventory", "Set how many pieces of an article are reserved for an order.", "reservations", {
    fields: { quantity: count("pieces in all", 0) },
    fixed: { status: "reserved" },
    orAdd: { quantity: 0 },
    after: ({ db }, { sku = null, quantity }) => {
      const reserved = rowsOf(db, "reservations", { sku, status: "reserved" }).reduce((sum, row) => sum + Number(row["quantity"]), 0);
      const free = Number(rowThere(db, "inventory", { sku })["on_hand"]) - reserved + Number(quantity);
      if (free < Number(quantity)) throw new Refused(`only ${free} of ${sku} are free`);
      changeRows(db, "inventory", { sku }, { reserved });
    },
  }),
  add("create_shipment", "Ship an order: what is reserved for it leaves the stock.", "shipments", {
    fields: { order_id: text("order"), carrier: text("carrier"), ship_on: day("ship date") },
    fixed: { status: "planned" },
    after: ({ db }, { order_id = null }) => {
      rowThere(db, "orders", { order_id });
      for (const held of rowsOf(db, "reservations", { order_id, status: "reserved" })) moveStock(db, held, { reserved: -1, on_hand: -1 });
      changeRows(db, "reservations", { order_id, status: "reserved" }, { status: "shipped" });
      changeRows(db, "orders", { order_id }, { status: "shipped" });
    },
  }),
  add("charge_customer", "Charge a customer, under a reference of ours.", "charges", {
    fields: { reference: text("our reference"), customer_id: text("customer"), amount: money("charge") },
    fixed: { status: "captured", charged_on: TODAY },
    after: ({ db }, { customer_id = null }) => void rowThere(db, "customers", { customer_id }),
  }),
  add("refund_customer", "Refund a customer, under a reference of ours.", "refunds", {
    fields: { reference: text("our reference"), customer_id: text("customer"), amount: money("refund") },
    fixed: { status: "paid", refunded_on: TODAY },
    after: ({ db }, { customer_id = null }) => void rowThere(db, "customers", { customer_id }),
  }),
  change("update_subscription", "Move a subscription to another plan.", "subscriptions", {
    fields: { plan_id: text("new plan"), effective_on: day("from") },
    after: ({ db }, { plan_id = null }) => void rowThere(db, "plans", { plan_id }),
  }),
  change("deprovision_feature", "Switch a feature off and delete what it stored.", "features", { fixed: { enabled: false, stored_gb: 0 } }),
  change("provision_feature", "Switch a feature on or off for a subscription.", "features", {
    fields: { enabled: flag("on") },
    orAdd: { stored_gb: 0 },
  }),
];

function moveStock(db: World["db"], held: Row, by: { reserved: number; on_hand: number }): void {
  const { sku = null, quantity } = held;
  const stock = rowThere(db, "inventory", { sku });
  const moved = (column: "reserved" | "on_hand"): number => Number(stock[column]) + by[column] * Number(quantity);
  changeRows(db, "inventory", { sku }, { reserved: moved("reserved"), on_hand: moved("on_hand") });
}

function setQuantities({ db }: World, order: Row, items: { sku: string; quantity: number }[]): void {
  const { order_id = null } = order;
  for (const { sku, quantity } of items) {
    const { unit_price = null } = rowThere(db, "price_book", { sku });
    if (quantity === 0) db.prepare("delete from order_lines where order_id = ? and sku = ?").run(String(order_id), sku);
    else if (rowOf(db, "order_lines", { order_id, sku }) === null) addRow(db, "order_lines", { order_id, sku, quantity, unit_price });
    else changeRows(db, "order_lines", { order_id, sku }, { quantity });
  }
  const lines = rowsOf(db, "order_lines", { order_id });
  changeRows(
    db,
    "orders",
    { order_id },
    { total: total(lines.flatMap((line) => Array<Value>(Number(line["quantity"])).fill(line["unit_price"] ?? null))) },
  );
}
