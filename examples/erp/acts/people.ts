/** What can be done to expenses, pay, access and equipment. */
import { add, change, move, person, reason, TODAY, thisYear } from "../act.ts";
import { changeRows, Refused, rowsOf, rowThere } from "../business.ts";
import { count, day, money, oneOf, optional, text, type Tool } from "../tool.ts";

export const PEOPLE_ACTS: Tool[] = [
  change("record_expense_approval", "Approve an expense claim for an amount.", "expenses", {
    fields: { approved_amount: money("what is approved"), approved_by: person },
    fixed: { status: "approved" },
    only: { status: ["submitted", "approved"] },
  }),
  change("reject_expense", "Reject an expense claim.", "expenses", {
    fields: { reason },
    fixed: { status: "rejected" },
    only: { status: ["submitted", "rejected"] },
  }),
  change("approve_expense_report", "Approve every claim of an expense report.", "expense_reports", {
    fixed: { status: "approved" },
    after: ({ db }, { report_id = null }) => {
      for (const { expense_id = null, amount = null } of rowsOf(db, "expenses", { report_id })) {
        changeRows(db, "expenses", { expense_id }, { status: "approved", approved_amount: amount });
      }
    },
  }),
  add("reimburse_expense", "Pay an approved claim out to the employee; counts against the budget.", "reimbursements", {
    fields: { expense_id: text("expense"), amount: money("what is paid"), pay_date: day("pay date") },
    fixed: { status: "scheduled" },
    after: (world, row) => {
      const expense = rowThere(world.db, "expenses", { expense_id: row["expense_id"] ?? null });
      if (expense["status"] !== "approved") throw new Refused(`${row["expense_id"]} is ${expense["status"]}, not approved`);
      changeRows(
        world.db,
        "reimbursements",
        { reimbursement_id: row["reimbursement_id"] ?? null },
        { employee_id: expense["employee_id"] ?? null },
      );
      move(world, "budgets", thisYear(world, expense["department_id"]), "spent", row["amount"]);
    },
  }),
  add("record_pay_run", "Record a payroll run.", "pay_runs", {
    fields: {
      pay_group: text("pay group"),
      period_start: day("first day"),
      period_end: day("last day"),
      pay_date: day("pay date"),
      gross: money("gross"),
      net: money("net"),
      headcount: count("employees paid"),
    },
    fixed: { status: "recorded" },
  }),
  change("update_payroll_ytd", "Set an employee's year-to-date pay.", "payroll_profiles", {
    fields: { ytd_gross: money("gross"), ytd_net: money("net") },
  }),
  change("update_employee_status", "Set an employee's status and last day.", "employees", {
    fields: { status: oneOf("status", ["active", "leaving", "left"]), last_day: optional(day("last day")) },
  }),
  change("revoke_access", "Revoke an employee's access to a system.", "access_grants", {
    fixed: { status: "revoked", revoked_on: TODAY },
    only: { status: ["active", "revoked"] },
  }),
  change("transfer_ownership", "Give an item to another owner.", "owned_items", { fields: { owner_id: text("new owner") } }),
  add("record_final_pay", "Record the final pay of an employee who leaves.", "final_pays", {
    fields: { employee_id: person, pto_hours: optional(text("hours paid out")), amount: money("amount"), pay_date: day("pay date") },
    fixed: { status: "recorded" },
  }),
  change("check_out_equipment", "Hand a piece of equipment to an employee.", "equipment", {
    fields: { employee_id: person },
    fixed: { status: "checked_out" },
    only: { status: ["in_stock"] },
  }),
  change("check_in_equipment", "Take a piece of equipment back.", "equipment", { fixed: { status: "in_stock", employee_id: null } }),
];
