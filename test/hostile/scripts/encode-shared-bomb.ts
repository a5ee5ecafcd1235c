/*
expect: {status: failed, code: [LIMIT_BYTES, LIMIT_CPU, LIMIT_MEMORY]}
*/
let o = ["x"];
for (let i = 0; i < 50; i++) o = [o, o];
echo({ x: o })
