/*
expect: {status: failed, code: SCRIPT_ERROR}
*/
Object.defineProperty(Error.prototype, "stack", { get() { for (;;); } });
throw new Error("still told")
