/*
expect: {status: failed, code: SCRIPT_ERROR}
*/
Decimal = 1
