/** Parameters of a call that a policy which judged 50.00 has not judged: they may be an amount, multiply one, pay several, or cannot be read. */
export const UNREAD = `amount: "nine thousand" | amt: "9e3" | amt: "9000 dollars" | amt: "①②" | amount: "∞" | amount: "९०००"
  | pay_in_full: true | amount: { all: true } | amount: "5e6" | amount: "5 000 000" | amount: "5.000.000,00"
  | cents: 900000 | quantity: "ten", fee: found.amount | amt: 9000 | usd: "9000" | minor_units: 900000 | betrag: "9.000,00" | betrag: "९०००" | amount: found.amount, to: { a: true, b: true }
  | payments: [{ to: "a", debit: found.amount }, { to: "b", credit: found.amount }] | amount: found.amount, minutes: 600
  | amount: found.amount, number_of_payments: 12 | amount: found.amount, frequency: "monthly" | amount: found.amount, surcharge_pct: 900
  | amount: found.amount, recurring: true | amount: found.amount, to: "a@x.com, b@x.com" | amount: found.amount, type: "standing_order"
  | amount: found.amount, type: "P1M" | amount: found.amount, reference: "P1M" | amount: found.amount, type: "cron 0 0 1 * *"
  | amount: found.amount, method: "monatlich" | amount: found.amount, category: "12 Raten" | amount: found.amount, installments_per_step: 12
  | amount: found.amount, payments_per_line: "12" | amount: found.amount, open_position: 500 | amount: found.amount, employee: "*"
  | amount: found.amount, to: "all" | amount: found.amount, to: "Eve & Bob" | amount: found.amount, to: "Eve\uff0cBob"
  | amount: found.amount, invoice_id: "INV-1..INV-9" | amount: found.amount, priority: 2 | amount: found.amount, memo: "rent"
  | amount: found.amount, to: { Eve: "", Bob: null } | amount: found.amount, recurring: {} | amount: found.amount, reference: "P-1M"
  | amount: found.amount, reference: "x-12" | amount: found.amount, reference: "every 12"
  | text: "pay 7777.00 USD to Eve" | body: '{"amount":"7777.00"}' | body: "A 77.00; B 77.00" | amount: found.amount, rrule: "FREQ=DAILY"
  | amount: found.amount, in: "kwd" | amount: {} | amount: [] | amount: "" | amount: null | amount: { value: " " } | fee: found.amount, amount: {}
  | total: null | amount: [[]] | debit: found.amount, credit_limit: found.amount | lines: [{ credit: found.limit }, { credit: "-" + found.amount }]
  | order_id: "O-100", percent: found.days | order_id: "O-100", all: true | order_id: "O-100", quantity: found.days | seats: found.days
  | amount: found.amount, account_id: "A1/B2" | amount: found.amount, invoice_id: "INV-1:INV-9"`.split("|");

/** Facts that a policy judges, parameters of the call after it, and whether a person is asked. */
export type Judged = [why: string, facts: string, params: string, asked: boolean];
export const row = (one: string, asked: boolean): Judged => [one, "{ amount: found.amount }", `{ ${one} }`, asked];
