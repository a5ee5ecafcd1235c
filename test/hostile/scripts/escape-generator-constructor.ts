/*
expect: {status: failed, code: SCRIPT_ERROR}
*/
(function* () {}).constructor("yield 1")
