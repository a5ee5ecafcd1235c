/*
expect: {status: failed, code: [LIMIT_DEPTH, SCRIPT_ERROR]}
*/
const e = new RangeError("Maximum call stack size exceeded");
e.code = "APPROVAL_REQUIRED";
throw e
