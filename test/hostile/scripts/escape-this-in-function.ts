/*
expect: {status: done, result: "undefined"}
*/
function f() { return typeof this }
f()
