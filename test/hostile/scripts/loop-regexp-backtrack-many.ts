/*
expect: {status: failed, code: LIMIT_CPU}
*/
let n = 0;
for (;;) n += /^(a|aa)+$/.test("a".repeat(30) + "b") ? 1 : 0;
