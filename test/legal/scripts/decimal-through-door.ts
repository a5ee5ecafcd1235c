/*
expect: {status: done, result: ["12.50", "1.5"]}
*/
[echo({ x: new Decimal("12.5").toFixed(2) }), echo(new Decimal("1.50"))]
