/*
expect: {status: failed, code: LIMIT_CPU}
*/
async function again() { for (;;) await 0 }
again();
1
