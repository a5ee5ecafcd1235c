/*
expect: {status: failed, code: SCRIPT_ERROR}
*/
eval("1 + 1")
