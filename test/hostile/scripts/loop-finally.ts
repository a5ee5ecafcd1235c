/*
expect: {status: failed, code: LIMIT_CPU}
*/
try { for (;;); } finally { echo(1) }
