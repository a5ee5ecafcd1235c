/*
expect: {status: done, result: [true, true, "Invalid Date", 1793923200000]}
*/
// The clock moves only with answers; no form of Date reaches the machine.
class D extends Date {}
const a = new D().getTime();
let i = 0;
while (i < 1e5) i++;
[new Date().getTime() === a, Date.now() === new Date().constructor.now(), String(new Date(NaN)), a]
