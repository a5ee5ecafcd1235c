/*
expect: {status: failed, code: SCRIPT_RESULT}
*/
echo({ x: new Map([[1, 2]]) })
