/*
name: Pay taxes
description: What is withheld from one pay - FICA (US), income tax and National Insurance (GB) by their bands, else the rates of the profile
input: {country: {type: string, required: true}, profile: {type: object, required: true}, gross: {type: money, required: true}, pay_date: {type: date, required: true}, periods: {type: integer, required: true, describe: pays in a year}}
*/
const { country, profile, gross, pay_date, periods } = input;
// The tax year of GB begins on 6 April.
const year = Number(pay_date.slice(0, 4)) - (country === "GB" && pay_date.slice(5) < "04-06" ? 1 : 0);
const banded = (income: Money) => compute_tax_bands({ country, year, income }).result;
const rate = (pct: string) => compute_tax_withholding({ amount: gross, withholding_rate: country === "GB" ? 0 : pct }).tax_withheld;
let contributions = "0.00";
if (country === "US") {
  // Up to a base of the year: what it owes so far, less what it owed before this pay.
  const so_far = script_run("total", { amounts: [profile.ytd_gross, gross] });
  contributions = script_run("total", { amounts: [banded(so_far), `-${banded(profile.ytd_gross)}`] });
} else if (country === "GB") {
  const whole = compute_net_price_delta({ original_items: [], modified_items: [{ id: "year", price: gross, quantity: periods }] }).net_delta;
  contributions = compute_dt_prorata({ full_period_amount: banded(whole), days_in_period: 1, total_days_in_period: periods }).result;
}
({ federal: rate(profile.federal_pct), state: rate(profile.state_pct), contributions });
