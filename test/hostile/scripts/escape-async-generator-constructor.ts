/*
expect: {status: failed, code: SCRIPT_ERROR}
*/
(async function* () {}).constructor("return 1")
