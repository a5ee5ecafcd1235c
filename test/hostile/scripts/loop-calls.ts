/*
expect: {status: failed, code: LIMIT_CALLS}
*/
for (;;) echo(1)
