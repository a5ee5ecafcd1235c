/*
expect: {status: failed, code: SCRIPT_RESULT}
*/
try { echo(() => 1) } catch (e) { e.code = "INTERNAL"; e.message = "forged"; throw e }
