/*
expect: {status: failed, code: SCRIPT_ERROR}
*/
(async () => 1).constructor("return 1")
