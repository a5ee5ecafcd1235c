/*
expect: {status: done, result: "string"}
*/
try { Error.prepareStackTrace = (_, frames) => frames } catch {}
typeof new Error("x").stack
