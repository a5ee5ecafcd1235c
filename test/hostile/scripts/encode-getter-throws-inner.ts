/*
expect: {status: failed, code: SCRIPT_RESULT}
*/
echo({ a: { get b() { try { echo(() => 1) } catch {} return NaN } } })
