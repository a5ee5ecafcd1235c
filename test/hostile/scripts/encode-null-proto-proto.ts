/*
expect: {status: failed, code: SCRIPT_RESULT}
*/
const o = Object.create(null);
o["__proto__"] = { admin: true };
echo([o])
