/*
expect: {status: failed, code: [LIMIT_BYTES, LIMIT_CPU]}
*/
const a = [];
a.length = 4294967295;
echo(a)
