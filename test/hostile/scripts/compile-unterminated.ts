/*
expect: {status: failed, code: SCRIPT_SYNTAX}
*/
const a = "abc
