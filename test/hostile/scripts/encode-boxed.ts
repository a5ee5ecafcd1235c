/*
expect: {status: failed, code: SCRIPT_RESULT}
*/
echo({ x: Object(1) })
