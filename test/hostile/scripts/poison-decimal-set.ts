/*
expect: {status: failed, code: SCRIPT_ERROR}
*/
Decimal.set({ precision: 1 })
