/*
expect: {status: failed, code: [LIMIT_CPU, LIMIT_WALL]}
*/
(async () => { for (;;) await null })();
1
