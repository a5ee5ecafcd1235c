/*
expect: {status: failed, code: SCRIPT_ERROR}
*/
process.exit(0)
