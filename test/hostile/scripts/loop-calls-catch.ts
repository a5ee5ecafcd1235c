/*
expect: {status: failed, code: LIMIT_CALLS}
*/
for (;;) { try { echo(1) } catch {} }
