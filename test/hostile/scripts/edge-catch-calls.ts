/*
expect: {status: failed, code: LIMIT_DEPTH}
*/
let n = 0;
function f() { try { f() } catch (e) { n++; echo(n); throw e } }
try { f() } catch {}
echo(n);
function g() { return g() + 1 }
g()
