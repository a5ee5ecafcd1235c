/*
expect: {status: failed, code: LIMIT_DEPTH}
*/
function f(n) { echo(1); return f(n + 1) + 1 }
f(0)
