/*
expect: {status: failed, code: SCRIPT_RESULT}
*/
const o = { then(resolve) { resolve(echo(1)) } };
o
