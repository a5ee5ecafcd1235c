/*
expect: {status: failed, code: SCRIPT_ERROR}
*/
function f() { return f.caller }
f()
