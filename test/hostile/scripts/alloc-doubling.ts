/*
expect: {status: failed, code: [LIMIT_MEMORY, SANDBOX_CRASHED, LIMIT_CPU, LIMIT_WALL]}
*/
let a = [1];
for (;;) a = a.concat(a)
