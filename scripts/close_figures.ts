/*
name: Close figures
description: The result of a month by department, and the entries that close it - depreciation, revenue earned, late charges, income tax
input: {period: {type: string, required: true}, reconciliations: {type: list, required: true},
  posted: {type: list, required: true, describe: lines of closing entries that stand already},
  assets: {type: list, required: true, describe: bought in the month},
  deferred: {type: list, required: true, describe: contracts paid ahead},
  invoices: {type: list, required: true, describe: open ones to customers}, company: {type: object, required: true},
  trial: {type: object, required: true}, types: {type: list, required: true}}
*/
const { period, reconciliations, posted, assets, deferred, invoices, company, trial, types } = input;
const open = reconciliations.filter((one: any) => one.explained === null).map((one: any) => one.difference.replace("-", ""));
const unexplained = open.reduce((most: string, one: string) => (new Decimal(one).gt(most) ? one : most), "0.00");
const lastDay = new Date(Date.UTC(Number(period.slice(0, 4)), Number(period.slice(5, 7)), 0)).toISOString().slice(0, 10);
const dayBefore = script_run("days", { from: `${period}-01`, add: -1 }).day;
const total = (amounts: string[]) => script_run("total", { amounts: ["0.00", ...amounts] });
const entries: { tool: string; params: object }[] = [];
const post = (reference: string, memo: string, debit: string, credit: string, amount: string) => {
  const lines = [{ account: debit, debit: amount, credit: "0.00" }, { account: credit, debit: "0.00", credit: amount }];
  const params = { reference, period, entry_date: lastDay, memo, lines };
  if (!new Decimal(amount).isZero()) entries.push({ tool: "erp/post_entry", params });
  return amount;
};
const depreciation = total(assets.map(({ asset_id, name, cost, salvage, life_months }: any) => {
  const amount = compute_straight_line_depreciation({ cost, salvage, useful_life_months: Number(life_months) });
  return post(`DEP-${period}-${asset_id}`, `Depreciation ${name}`, "6300", "1700", amount);
}));
const months = (day: string) => Number(day.slice(0, 4)) * 12 + Number(day.slice(5, 7));
const recognized = total(deferred.filter((one: any) => one.start_on <= lastDay).map(({ deferral_id, amount, months: contract_months, start_on }: any) => {
  const elapsed = months(period) - months(start_on) + 1;
  const until = (periods_elapsed: number) => compute_recognize_revenue({ contract_value: amount, contract_months: Number(contract_months), periods_elapsed }).recognized_total;
  return post(`REV-${period}-${deferral_id}`, `Earned of ${deferral_id}`, "2300", "4000", total([until(elapsed), `-${until(elapsed - 1)}`]));
}));
// Interest for the days of this month; the fee in the month an invoice fell due. A disputed one is not charged.
const late = invoices.filter((one: any) => one.due_on < lastDay && !one.disputed);
const interest = total(late.map(({ balance, due_on }: any) => {
  const { days } = script_run("days", { from: due_on > dayBefore ? due_on : dayBefore, to: lastDay });
  const year = compute_percent_of({ amount: balance, pct: company.late_interest_pct }).result;
  return compute_dt_prorata({ full_period_amount: year, days_in_period: days, total_days_in_period: 365 }).result;
}));
const late_fees = total(late.filter((one: any) => one.due_on > dayBefore).map(() => company.late_fee));
post(`LATE-${period}`, `Late fees ${late_fees}, interest ${interest}`, "1200", "4100", total([late_fees, interest]));
// Income is credited, expense debited; what is posted with the lock belongs to no department.
const counts = ({ account }: any) => ["income", "expense"].includes(types.find((one: any) => one.account === account)?.type);
// What a close that was interrupted has posted is among the entries already: it is taken out, not counted twice.
const reversed = posted.map(({ debit, credit, ...line }: any) => ({ ...line, debit: credit, credit: debit }));
const booked = data_group_by({ records: [...trial.departments, ...reversed].filter(counts), by: "department_id" }).map(({ key: department_id, records }) => ({
  department_id,
  result: total(records.flatMap(({ debit, credit }: any): string[] => [credit, `-${debit}`])),
}));
const before_tax = total([...booked.map((one) => one.result), recognized, late_fees, interest, `-${depreciation}`]);
const taxed = new Decimal(before_tax).isNegative() ? "0.00" : before_tax;
const tax = post(`TAX-${period}`, "Income tax", "8000", "2200", compute_percent_of({ amount: taxed, pct: company.income_tax_pct }).result);
const closing = { department_id: "none", result: total([recognized, late_fees, interest, `-${depreciation}`, `-${tax}`]) };
const figures = { depreciation, recognized, late_fees, interest, tax, departments: [...booked, closing], result: total([before_tax, `-${tax}`]) };
// FNV-1a over the balance and the entries: tells afterwards whether this is what was signed.
let hash = 2166136261;
for (const letter of JSON.stringify([trial, entries])) hash = Math.imul(hash ^ letter.charCodeAt(0), 16777619) >>> 0;
({ unexplained, entries, figures, hash: hash.toString(16).padStart(8, "0") });
