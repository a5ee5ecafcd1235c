/*
expect: {status: failed, code: SCRIPT_ERROR}
*/
(() => 1).constructor("return this")()
