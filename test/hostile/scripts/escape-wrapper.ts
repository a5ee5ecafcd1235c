/*
expect: {status: failed, code: SCRIPT_SYNTAX}
*/
1 });
__run(() => 2);
(() => {
