/*
expect: {status: failed, code: SCRIPT_ERROR}
*/
\u0065val("1")
