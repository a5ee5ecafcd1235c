/*
expect: {status: failed, code: LIMIT_CPU}
*/
for (;;) { let s = ""; for (let i = 0; i < 1000; i++) s += i }
