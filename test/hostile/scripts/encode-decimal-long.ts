/*
expect: {status: failed, code: [LIMIT_BYTES, LIMIT_CPU]}
*/
const d = new Decimal("1e600000");
echo([d, d, d, d, d, d, d, d, d])
