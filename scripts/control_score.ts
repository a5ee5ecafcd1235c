/*
name: Control score
description: Share of the controls that work, by weight, 0 to 100; one without evidence does not
input: {controls: {type: list, required: true}}
*/
let [works, all] = [new Decimal(0), new Decimal(0)];
for (const { weight, effective, evidence } of input.controls) {
  all = all.plus(weight);
  if (effective && evidence !== null) works = works.plus(weight);
}
all.isZero() ? "0" : works.times(100).div(all).toDecimalPlaces(1).toString();
