/*
expect: {status: failed, code: SCRIPT_RESULT}
*/
let o = {};
for (let i = 0; i < 100; i++) o = { o };
echo({ x: o })
