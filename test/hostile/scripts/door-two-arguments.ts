/*
expect: {status: failed, code: PARAMS_INVALID}
*/
echo({ x: 1 }, { x: 2 })
