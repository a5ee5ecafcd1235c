/** What can be done to invoices, payments and purchase orders. */
import { add, change, move, person, reason, TODAY, thisYear } from "../act.ts";
import { addRow, businessDate, changeRows, minus, nextId, plus, Refused, type Row, rowThere } from "../business.ts";
import { day, money, optional, text, type Tool, type World } from "../tool.ts";

export const PURCHASING_ACTS: Tool[] = [
  change("approve_invoice", "Approve a supplier invoice and post it to accounts payable.", "invoices", {
    fields: { approved_by: optional(person) },
    fixed: { status: "approved" },
    only: { status: ["received", "approved"] },
    after: (world, row) => postPayable(world, row, "invoice", String(row["amount"])),
  }),
  change("reject_invoice", "Reject a supplier invoice.", "invoices", {
    fields: { reason },
    fixed: { status: "rejected" },
    only: { status: ["received", "approved"] },
  }),
  change("pay_invoice", "Pay an approved supplier invoice today.", "invoices", {
    fields: { amount: money("what is paid") },
    column: { amount: "paid_amount" },
    fixed: { status: "paid" },
    only: { status: ["approved", "scheduled", "paid"] },
    after: (world, row) => {
      const { invoice_id = null, vendor_id = null, paid_amount: amount = null } = row;
      const payment_id = nextId(world.db, "payments", "PAY");
      addRow(world.db, "payments", {
        payment_id,
        invoice_id,
        vendor_id,
        amount,
        discount: "0.00",
        pay_date: businessDate(world.db),
        status: "paid",
      });
      postPayable(world, row, "payment", minus("0", amount));
    },
  }),
  add("schedule_payment", "Schedule the payment of an approved supplier invoice.", "payments", {
    fields: {
      invoice_id: text("invoice"),
      amount: money("what will be paid"),
      discount: optional(money("early payment discount taken")),
      pay_date: day("pay date"),
    },
    fixed: { status: "scheduled" },
    after: (world, row) => {
      const invoice = rowThere(world.db, "invoices", { invoice_id: row["invoice_id"] ?? null });
      if (invoice["status"] !== "approved" && invoice["status"] !== "scheduled")
        throw new Refused(`${row["invoice_id"]} is ${invoice["status"]}, not approved`);
      changeRows(
        world.db,
        "payments",
        { payment_id: row["payment_id"] ?? null },
        { vendor_id: invoice["vendor_id"] ?? null, discount: row["discount"] ?? "0.00" },
      );
      changeRows(world.db, "invoices", { invoice_id: row["invoice_id"] ?? null }, { status: "scheduled" });
      postPayable(world, invoice, "payment", minus("0", plus(row["amount"], row["discount"] ?? "0")));
    },
  }),
  add(
    "create_purchase_order",
    "Order what a requisition asks for and commit the department's budget.",
    "purchase_orders",
    {
      fields: {
        requisition_id: text("requisition"),
        vendor_id: text("vendor"),
        department_id: text("department that pays"),
        description: text("what is ordered"),
        amount: money("total with tax and shipping"),
        delivery_on: optional(day("delivery")),
      },
      fixed: { status: "open", currency: "USD", ordered_on: TODAY },
      after: (world, row) => {
        changeRows(world.db, "requisitions", { requisition_id: row["requisition_id"] ?? null }, { status: "ordered" });
        move(world, "budgets", thisYear(world, row["department_id"]), "committed", row["amount"]);
      },
    },
    { requisition_id: "requisition_id" },
  ),
  change("update_budget", "Set what of a budget is committed and spent.", "budgets", {
    fields: { committed: money("committed"), spent: money("spent") },
  }),
];

function postPayable(world: World, invoice: Row, kind: string, amount: string): void {
  const { vendor_id = null, invoice_id = null } = invoice;
  addRow(world.db, "ap_ledger", {
    line_id: nextId(world.db, "ap_ledger", "AP"),
    vendor_id,
    invoice_id,
    kind,
    amount,
    posted_on: businessDate(world.db),
  });
}
