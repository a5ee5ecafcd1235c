/*
expect: {status: failed, code: SCRIPT_ERROR}
*/
throw null
