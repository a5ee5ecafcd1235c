/*
expect: {status: failed, code: SCRIPT_ERROR}
*/
"x".repeat(2 ** 30)
