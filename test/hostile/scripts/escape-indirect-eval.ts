/*
expect: {status: failed, code: SCRIPT_ERROR}
*/
(0, eval)("1 + 1")
