/*
expect: {status: done, result: 200}
*/
let n = 0;
for (let i = 0; i < 200; i++) n += echo({ x: { ["k" + i]: 1 } })["k" + i];
n
