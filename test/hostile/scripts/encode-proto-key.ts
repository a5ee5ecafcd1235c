/*
expect: {status: failed, code: SCRIPT_RESULT}
*/
echo({ x: JSON.parse('{"__proto__": {"admin": true}}') })
