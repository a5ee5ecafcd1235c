/*
expect: {status: failed, code: SCRIPT_RESULT}
*/
echo({ x: new Date("nonsense") })
