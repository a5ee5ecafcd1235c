/** What a tool may do, by declaration, annotation and name (spec/worker.md 6.2, 6.3; property 6 of section 35). */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { classify, WRITE_VERBS } from "../../runtime/rules/tools/classify.ts";

const named = (name: string): string => classify(name, { trusted: false }).class;

describe("by name", () => {
  it.each([
    // 6.2: what the original got wrong.
    ["approve_expense_report", "mutate"],
    ["flag_for_review", "mutate"],
    ["confirm_order", "mutate"],
    ["authorize_payment", "mutate"],
    ["grant_approval", "mutate"],
    ["get_approval_chain", "read"],
    ["get_or_create_customer", "mutate"],
    ["fetch_delete", "mutate"],
    ["query_execute", "mutate"],
    ["list_unsubscribe", "mutate"],
    ["generate_report_and_mail", "mutate"],
    ["get_pay_run", "read"],
    ["list_mail", "read"],
    ["verify_and_pay", "mutate"],
    ["get_order_and_cancel", "mutate"],
    ["check_in_guest", "mutate"],
    ["check_inventory_level", "read"],
    ["calculate_and_apply_credit", "mutate"],
    ["calculate_discrepancy", "compute"],
    ["export_data", "mutate"],
    ["aggregate_payment", "read"],
    ["run_pep_check", "read"],
    ["run_payroll", "mutate"],
    ["run_refund_report", "mutate"],
    // Acts behind a harmless verb, at every place; nouns that only sound like one.
    ["fetch_delete", "mutate"],
    ["fetch_order_delete", "mutate"],
    ["find_replace", "mutate"],
    ["query_execute", "mutate"],
    ["query_sql_execute", "mutate"],
    ["list_unsubscribe", "mutate"],
    ["find_by_id_update", "mutate"],
    ["findOneAndUpdate", "mutate"],
    ["generate_x_and_mail", "mutate"],
    ["generate_report_mail", "mutate"],
    ["get_pay_run", "read"],
    ["get_x_or_y_send", "mutate"],
    ["read_plus_close", "mutate"],
    ["calculate_and_release", "mutate"],
    ["compute_then_pay", "mutate"],
    ["generate_invoice_preview", "read"],
    ["get_payment_release", "read"],
    ["list_orders_with_returns", "read"],
    // Other spellings, and names that say nothing.
    ["getInvoice", "read"],
    ["get-invoice", "read"],
    ["deleteReport", "mutate"],
    ["GetOrCreateUser", "mutate"],
    ["list_orders_and_returns", "read"],
    ["checkout_order", "mutate"],
    ["gеt_invoice", "mutate"], // a Cyrillic e
    ["invoice", "mutate"],
    ["", "mutate"],
    ["constructor", "mutate"],
  ])("%s is %s", (name, expected) => expect(named(name)).toBe(expected));

  it("is a write for every mutating verb, whatever follows", () => {
    const word = fc.stringMatching(/^[a-z0-9]{1,8}$/);
    const suffix = fc.constantFrom("report", "check", "review", "test", "approval", "status", "get", "read");
    fc.assert(
      fc.property(fc.constantFrom(...WRITE_VERBS), fc.array(word, { maxLength: 4 }), suffix, fc.boolean(), (verb, words, last, upper) => {
        const name = [verb, ...words, last].join("_");
        expect(named(upper ? name.toUpperCase() : name)).toBe("mutate");
      }),
    );
  });

  it("words after the verb never make it a read, except for run_ and similar, which name what they make", () => {
    const words = fc.array(fc.stringMatching(/^[a-z]{1,8}$/), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(words, words, (name, more) => {
        fc.pre(!["run", "generate", "perform", "produce"].includes(name[0] ?? ""));
        if (named(name.join("_")) === "mutate") expect(named([...name, ...more].join("_"))).toBe("mutate");
      }),
    );
  });
});

describe("by declaration", () => {
  const readOnly = { readOnlyHint: true };
  it("uses trust.yaml first, then a trusted server's annotation, then the name", () => {
    expect(classify("delete_order", { declared: "read", trusted: false }).class).toBe("read");
    expect(classify("get_order", { declared: "mutate", annotations: readOnly, trusted: true }).class).toBe("mutate");
    expect(classify("open_nodes", { annotations: readOnly, trusted: true })).toEqual({
      class: "read",
      why: "its trusted server says it only reads",
    });
  });
  it("never believes an untrusted server that a tool is harmless, but any server that it is not", () => {
    expect(classify("open_nodes", { annotations: readOnly, trusted: false }).class).toBe("mutate");
    expect(classify("get_order", { annotations: { destructiveHint: true }, trusted: false }).class).toBe("mutate");
    expect(classify("get_order", { annotations: { readOnlyHint: false }, trusted: false }).class).toBe("mutate");
    expect(classify("get_order", { annotations: { readOnlyHint: true, destructiveHint: true }, trusted: true }).class).toBe("mutate");
  });
});
