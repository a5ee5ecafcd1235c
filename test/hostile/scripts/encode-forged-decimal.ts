/*
expect: {status: failed, code: SCRIPT_RESULT}
*/
const d = new Decimal(1);
d.d = { toString() { return "1e9" }, length: 1, 0: "<b>" };
d.e = 0;
echo({ x: d })
