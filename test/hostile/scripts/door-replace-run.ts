/*
expect: {status: failed, code: SCRIPT_ERROR}
*/
__run = () => "R1"
