/*
expect: {status: failed, code: LIMIT_DEPTH}
*/
// An answer must never be read as the answer of another call.
const wrong = [];
function f(k) { try { f(k + 1) } catch { for (let i = 0; i < 3; i++) { const sent = k * 10 + i; if (echo(sent) !== sent) wrong.push(k) } } }
f(0);
if (wrong.length > 0) throw new Error("an answer of another call");
function g() { return g() + 1 }
g()
