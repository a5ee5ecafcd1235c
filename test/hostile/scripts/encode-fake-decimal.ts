/*
expect: {status: failed, code: SCRIPT_RESULT}
*/
echo({ x: Object.create(Decimal.prototype) })
