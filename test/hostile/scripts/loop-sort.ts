/*
expect: {status: failed, code: LIMIT_CPU}
*/
const list = Array.from({ length: 1000 }, (_, i) => i);
for (;;) list.sort(() => 1)
