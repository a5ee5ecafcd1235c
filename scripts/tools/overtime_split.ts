/*
tool: overtime_split
description: California daily overtime for a week of hours, in money
params:
  hours:
    type: list
    of: {type: decimal, unit: h, min: 0, max: 24}
    min: 0
    max: 7
    required: true
    describe: hours of each day
  rate: {type: money, unit: USD/h, min: 0, required: true, describe: pay for one hour}
returns:
  result: {type: money, unit: USD}
  regular: {type: money, unit: USD}
  overtime: {type: money, unit: USD}
cases:
  - params: {hours: ["10.4", "10.4", "10.4", "10.4", "10.4"], rate: "28.00"}
    result: {result: "1624.00", regular: "1120.00", overtime: "504.00"}
  - params: {hours: ["8", "8"], rate: "28.00"}
    result: {result: "448.00", regular: "448.00", overtime: "0.00"}
  - params: {hours: [], rate: "28.00"}
    result: {result: "0.00", regular: "0.00", overtime: "0.00"}
  - params: {hours: ["0"], rate: "0"}
    result: {result: "0.00", regular: "0.00", overtime: "0.00"}
  - params: {hours: ["25"], rate: "28.00"}
    error: COMPUTE_RANGE
properties:
  - scales: {param: rate, by: "2", result: regular}
  - monotone: {param: rate, result: result}
  - zero: {param: rate, result: result}
  - sums: {of: [regular, overtime], to: result}
  - nonnegative: result
source: 29 CFR 778.107, California Labor Code 510
*/
let straight = new Decimal(0);
let long = new Decimal(0);
let double = new Decimal(0);
for (const given of input.hours) {
  const hours = new Decimal(given);
  straight = straight.plus(Decimal.min(hours, 8));
  long = long.plus(Decimal.min(Decimal.max(hours.minus(8), 0), 4));
  double = double.plus(Decimal.max(hours.minus(12), 0));
}
const regular = straight.times(input.rate).toFixed(2);
const overtime = long.times("1.5").plus(double.times(2)).times(input.rate).toFixed(2);
({ result: new Decimal(regular).plus(overtime).toFixed(2), regular, overtime });
