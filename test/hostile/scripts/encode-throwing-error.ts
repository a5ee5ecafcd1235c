/*
expect: {status: failed, code: SCRIPT_ERROR}
*/
const e = new Error("x");
Object.defineProperty(e, "message", { get() { throw new Error("again") } });
Object.defineProperty(e, "stack", { get() { for (;;) echo(1) } });
throw e
