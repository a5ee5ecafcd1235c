/*
expect: {status: failed, code: SCRIPT_RESULT}
*/
echo({ x: { toJSON() { return "forged" } } })
