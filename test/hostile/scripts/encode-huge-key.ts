/*
expect: {status: failed, code: LIMIT_BYTES}
*/
echo([{ ["k".repeat(5e6)]: 1 }])
