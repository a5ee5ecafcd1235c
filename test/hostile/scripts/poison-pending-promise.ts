/*
expect: {status: done, result: 1}
*/
async function f() { await 0; Object.prototype.poison = 1; echo("late") }
f();
1
