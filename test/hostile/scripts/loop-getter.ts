/*
expect: {status: failed, code: LIMIT_CPU}
*/
const o = { get x() { for (;;); } };
echo(o)
