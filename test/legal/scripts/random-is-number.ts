/*
expect: {status: done, result: [true, true]}
*/
const a = Math.random();
const b = Math.random();
[a >= 0 && a < 1, a !== b]
