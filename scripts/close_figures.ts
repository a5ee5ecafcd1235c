/*
name: Close figures
description: What closing a month needs to know, and the entries that depreciate what was bought in it
input:
  period: {type: string, required: true}
  reconciliations: {type: list, required: true}
  assets: {type: list, required: true}
  trial: {type: object, required: true}
  types: {type: list, required: true}
*/
const { period, reconciliations, assets, trial, types } = input;
const open = reconciliations.filter((one: any) => one.explained === null).map((one: any) => one.difference.replace("-", ""));
const unexplained = open.reduce((most: string, one: string) => (new Decimal(one).gt(most) ? one : most), "0.00");
const lastDay = new Date(Date.UTC(Number(period.slice(0, 4)), Number(period.slice(5, 7)), 0)).toISOString().slice(0, 10);
const entries = [];
for (const { asset_id, name, cost, salvage, life_months } of assets) {
  const amount = compute_straight_line_depreciation({ cost, salvage, useful_life_months: life_months });
  const lines = [
    { account: "6300", debit: amount, credit: "0.00" },
    { account: "1700", debit: "0.00", credit: amount },
  ];
  const params = { reference: `DEP-${period}-${asset_id}`, period, entry_date: lastDay, memo: `Depreciation ${name}`, lines };
  entries.push({ tool: "erp/post_entry", params });
}
const depreciation = script_run("total", { amounts: ["0.00", ...entries.map((one) => one.params.lines[0].debit)] });
// Income is credited, expense debited; what is posted with the lock counts too.
const kind = (account: string) => types.find((one: any) => one.account === account)?.type;
const moved = trial.accounts.flatMap(({ account, debit, credit }: any) =>
  kind(account) === "income" || kind(account) === "expense" ? [credit, `-${debit}`] : [],
);
const result = script_run("total", { amounts: [...moved, `-${depreciation}`] });
// FNV-1a over the balance and the entries: tells afterwards whether this is what was signed.
let hash = 2166136261;
for (const letter of JSON.stringify([trial, entries])) hash = Math.imul(hash ^ letter.charCodeAt(0), 16777619) >>> 0;
({ unexplained, entries, depreciation, result, hash: hash.toString(16).padStart(8, "0") });
