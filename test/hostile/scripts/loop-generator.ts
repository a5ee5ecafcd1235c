/*
expect: {status: failed, code: LIMIT_CPU}
*/
function* all() { for (;;) yield 1 }
for (const x of all()) void x;
