/*
expect: {status: failed, code: [LIMIT_BYTES, LIMIT_CPU]}
*/
const a = [];
a.length = 4e9;
echo({ x: a })
