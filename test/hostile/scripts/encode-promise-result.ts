/*
expect: {status: failed, code: SCRIPT_RESULT}
*/
(async () => 1)()
