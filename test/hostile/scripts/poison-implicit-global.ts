/*
expect: {status: failed, code: SCRIPT_ERROR}
*/
leaked = 1
