/*
expect: {status: done, result: [1, 2]}
*/
const a = await echo(1);
const b = await echo({ x: 2 });
[a, b]
