/*
expect: {status: done, result: [1, false]}
*/
function tag(strings) { const known = strings.seen === true; return known }
let known = false;
function once() { return tag`a` }
known = once();
try { once.strings = true } catch {}
[1, known]
