/*
expect: {status: failed, code: SCRIPT_ERROR}
*/
const e = new Error("not a policy");
e.code = "APPROVAL_REQUIRED";
throw e
