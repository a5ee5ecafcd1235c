/*
expect: {status: failed, code: SCRIPT_ERROR}
*/
try { echo(() => 1) } catch (e) { throw Object.create(e) }
