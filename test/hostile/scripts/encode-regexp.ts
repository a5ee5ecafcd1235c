/*
expect: {status: failed, code: SCRIPT_RESULT}
*/
echo({ x: /a/ })
