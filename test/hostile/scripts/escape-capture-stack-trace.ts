/*
expect: {status: done, result: "undefined"}
*/
const target = {};
Error.captureStackTrace(target);
typeof target.stack
