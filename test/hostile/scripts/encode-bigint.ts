/*
expect: {status: failed, code: SCRIPT_RESULT}
*/
echo({ x: 1n })
