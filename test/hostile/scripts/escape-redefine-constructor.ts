/*
expect: {status: failed, code: SCRIPT_ERROR}
*/
const proto = Object.getPrototypeOf(() => 1);
Object.defineProperty(proto, "constructor", { value: 1 })
