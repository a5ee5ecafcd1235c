/*
expect: {status: failed, code: SCRIPT_ERROR}
*/
Decimal.prototype.plus.call = () => 0
