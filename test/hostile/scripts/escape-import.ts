/*
expect: {status: failed, code: SCRIPT_ERROR}
*/
const got = import("node:fs");
void got;
(() => { throw new Error("import gave a promise only") })()
