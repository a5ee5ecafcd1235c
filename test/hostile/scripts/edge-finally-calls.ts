/*
expect: {status: failed, code: LIMIT_DEPTH}
*/
function f(n) { try { return f(n + 1) } finally { echo(n) } }
f(0)
