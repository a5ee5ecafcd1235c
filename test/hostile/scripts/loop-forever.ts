/*
expect: {status: failed, code: LIMIT_CPU}
*/
for (;;);
