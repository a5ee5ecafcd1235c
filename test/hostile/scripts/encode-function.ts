/*
expect: {status: failed, code: SCRIPT_RESULT}
*/
echo({ x: { f: () => 1 } })
