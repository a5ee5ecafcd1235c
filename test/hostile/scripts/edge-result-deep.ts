/*
expect: {status: failed, code: [SCRIPT_RESULT, LIMIT_DEPTH, LIMIT_CPU]}
*/
const deep = { get a() { return f() } };
function f() { return [deep] }
function g() { try { return g() } catch { return echo(deep) } }
g()
