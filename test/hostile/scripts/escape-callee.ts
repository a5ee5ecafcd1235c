/*
expect: {status: failed, code: SCRIPT_ERROR}
*/
function f() { return arguments.callee }
f()
