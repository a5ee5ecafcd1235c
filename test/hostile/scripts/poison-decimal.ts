/*
expect: {status: failed, code: SCRIPT_ERROR}
*/
Decimal.prototype.toFixed = () => "1.00"
