/*
expect: {status: done, result: [3, {a: 2}, "4"]}
*/
const sum = (await echo(1)) + await echo(2);
const o = { a: await echo(2) };
[sum, o, `${await echo(4)}`]
