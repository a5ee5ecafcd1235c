/*
expect: {status: failed, code: SCRIPT_RESULT}
*/
new Set([1])
