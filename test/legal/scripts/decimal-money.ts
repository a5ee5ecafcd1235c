/*
expect: {status: done, result: ["0.3", "33.33", true, "1000000000000000000000.01"]}
*/
const sum = new Decimal("0.1").plus("0.2");
const third = new Decimal("100").div(3).toDecimalPlaces(2);
[sum, third, sum.eq("0.3"), new Decimal("1000000000000000000000").plus("0.01")]
