/*
expect: {status: failed, code: SCRIPT_RESULT}
*/
echo({ x: Object.getOwnPropertySymbols(Array.prototype)[0] })
