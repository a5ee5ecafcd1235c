/*
expect: {status: failed, code: SCRIPT_RESULT}
*/
const o = { a: {} };
o.a.o = o;
echo({ x: o })
