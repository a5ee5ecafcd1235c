/** The tools of the shop and what reaches it: apart from shop.ts, because its server would read all of the runtime at each of its starts. */
import type { Json } from "../../runtime/kernel/ports.ts";

export interface Reached {
  tool: string;
  args: Record<string, Json>;
  /** It changed something. */
  wrote: boolean;
}

export interface Mood {
  /** What every tool answers. */
  says?: Json;
  /** What every write answers, and does not write. */
  refuses?: Json;
  /** ms until a write is made. */
  delay?: number;
  /** Around a write: dies, or kills the process `owner`. */
  kill?: "owner" | "self";
  at?: "before" | "after";
  owner?: number;
  /** Only at the tool's first call. */
  once?: boolean;
  /** It does not start any more once it has written. */
  shut?: boolean;
}

export const READS: readonly string[] = ["get_invoice", "list_invoices", "get_approval_status", "check_status"];
/** The first three are declared in trust.yaml, the others only have a name that sounds harmless, or like a permission. */
export const WRITES: readonly string[] = [
  ..."pay_invoice pay_keyed pay_blind approve_expense_report get_or_create_customer fetch_and_delete findOrCreate check_in_guest".split(
    " ",
  ),
  ..."approve confirm request_approval confirm_payment authorize_refund grant_approval run_payroll legal_review Get\u200bAnd\u200bPay".split(
    " ",
  ),
  // Cyrillic letters that look like get_invoice; full width; another case of a write.
  ..."g\u0435t_invoice \uff47et_invoice PAY_INVOICE payInvoice".split(" "),
];
