/**
 * The phrases by which people ask for a computation, by its name without `compute_`, in the order of spec/worker.md 10.3,
 * followed by the functions that are not in that table. Words are whole; `*` after a word leaves its ending free, `..` stands for up to
 * five words, `#` is a number. `!` marks an excluding phrase: phrases of this function that overlap it do not count.
 */
export const TRIGGERS: Readonly<Record<string, string>> = {
  finance_npv: "npv, net present value, discounted cash flow, present value of cash, pv of .. flow",
  finance_irr: "irr, internal rate of return",
  finance_bond_price:
    "bond price, bond valuation, price of .. bond, value of .. bond, yield to maturity, ytm, coupon .. face value, face value .. coupon",
  finance_depreciation:
    "straight line depreciation, depreciation schedule, double declining, sum of years digits, sum of the years digits, ddb, soyd, declining balance depreciation, !tax depreciation",
  finance_wacc: "wacc, weighted average cost of capital, cost of equity, cost of debt",
  finance_compound_interest:
    "compound interest, compounded interest, effective annual rate, ear, apy, compounding frequency, compounded monthly, compounded daily",
  finance_loan_amortization:
    "amortization, amortisation, amortize*, loan schedule, monthly payment .. loan, mortgage schedule, mortgage payment, installment .. principal",
  finance_monte_carlo: "monte carlo, simulate .. path, simulate # run, simulation run, stochastic, random walk, # path, # trial",
  finance_black_scholes:
    "black scholes, option pricing, price .. option, call option, put option, greeks, implied volatility, option delta, option gamma, vega, theta, delta gamma",
  finance_var: "value at risk, var .. confidence, var .. portfolio, portfolio var, # var, % var, cvar, expected shortfall",
  finance_newton_raphson:
    "newton raphson, newton's method, newton method, bisection method, root finding, numerical irr, solve for .. rate, find .. yield",
  hr_overtime: "overtime, time and a half, flsa, ot pay, double time",
  hr_proration:
    "prorat* .. salary, salary .. prorat*, prorat* .. pay, prorat* .. wage, pro rata .. salary, pro rata .. pay, salary .. pro rata, partial period pay, partial month pay, partial month salary, salary .. partial month, mid month, days worked salary, salary .. days worked",
  hr_benefits_cost:
    "benefits cost, benefits burden, cost of benefits, employer contribution, total comp*, payroll burden, employee benefits",
  hr_headcount:
    "fte, full time equivalent, headcount, head count, attrition, turnover rate, staff turnover, employee turnover, staff ratio",
  ops_sla_credit:
    "sla credit, service credit, sla penalty, sla .. uptime, uptime .. sla, downtime penalty, sla breach, service level agreement",
  ops_uptime:
    "availability percent*, availability #, availability %, mttr, mtbf, uptime percentage, uptime %, downtime minutes, minutes of downtime, incident duration",
  ops_penalty:
    "liquidated damages, late delivery, breach penalty, delay penalty, delivery penalty, penalty per day, penalty for .. delay, daily penalty, penalty interest",
  sc_eoq: "eoq, economic order quantity, reorder point, safety stock, lead time demand",
  sc_inventory_value:
    "fifo, lifo, weighted average cost, inventory valuation, value of .. inventory, cogs, cost of goods sold, !weighted average cost of capital",
  sc_stockout_risk: "stockout, stock out, fill rate, service level, demand uncertainty, !service level agreement, !service level credit",
  dt_business_days: "business day, working day, workday*, weekday between, days between .. date, excluding .. holiday",
  dt_prorata: "pro rata, prorat*, partial period, days in .. month, fraction of .. period",
  dt_aging:
    "aging bucket, ageing bucket, aging analysis, aging report, ar aging, aging of .. receivable, aged receivable, days outstanding, 0 30, 31 60, 61 90, 90 plus day, 90 plus bucket, 90 plus receivable, 90 plus overdue",
  stats_zscore: "z score, zscore, percentile rank, standard deviations from, normal distribution, standardiz*, standardis*",
  stats_weighted_avg: "weighted average, weighted score, weighted mean, composite score, !weighted average cost of capital",
  stats_regression: "linear regression, trend line, trendline, r squared, slope .. intercept, least squares, best fit",
  tax_vat: "vat, gst, value added tax, tax inclusive, tax exclusive, reverse vat, reverse charge",
  tax_withholding: "withholding tax, withhold*, gross up, net to gross, paye",
  tax_depreciation_tax: "tax depreciation, capital allowance, accelerated depreciation, bonus depreciation, section 179, macrs",
  risk_weighted_score: "risk score, risk rating, risk matrix, weighted risk, ahp, compliance score, kyc risk, priority matrix",
  risk_concentration:
    "concentration risk, concentration index, herfindahl, hhi, top # concentration, top n concentration, client concentration, customer concentration",
  ar_bad_debt: "bad debt, expected credit loss, ecl, impairment, debt provision, doubtful",
  ar_collection_rate: "dso, days sales outstanding, collection rate, collection efficiency, receivable turnover, cash conversion",
  contract_escalation: "escalation clause, price escalation, rent escalation, cpi adjust*, inflation adjust*, annual increase",
  contract_termination_fee:
    "early termination, termination fee, termination penalty, break fee, early exit fee, contract cancel*, cancel* .. contract",
  // Only compute_find uses the rows below.
  variance_check: "variance, three way match, invoice .. purchase order, invoice .. po, differs from .. order",
  sub_limit: "sub limit, sublimit, insurance claim, rider",
  gift_card_capacity: "gift card",
  prorated_amount: "unused part, unused days, remaining value, days used",
  prorated_for_period: "equal periods, split .. over, share of .. period, instalments without rounding",
  recognize_revenue: "revenue recognition, recogni* .. revenue, deferred revenue",
  early_termination_fee: "refund .. termination fee, termination fee .. refund, refund after .. termination",
  net_price_delta: "price difference, price delta, changed order, order change, cancelled item",
  amortize_loan: "payments month by month, repayment schedule, amortization schedule, amortisation schedule",
  payment_plan_summary: "payment plan, total interest, instalment plan, installment plan",
  depreciation_schedule: "book value .. month, monthly depreciation schedule, depreciation .. month",
  straight_line_depreciation: "monthly depreciation, depreciation a month, depreciation per month",
  sla_credit: "breach unit, credit per breach, each started",
  tax_bands: "tax band, tax bracket, income tax, national insurance, social security, medicare, fica, payroll tax, paye",
  percent_of: "percent of .. amount, percentage of .. amount, discount of, discounted by",
  fx_convert:
    "exchange rate, currency conversion, foreign currency, convert .. eur, convert .. usd, convert .. gbp, fx rate, fx conversion",
  risk_ahp: "ahp, analytic hierarchy, pairwise, saaty, consistency ratio",
};
