/*
expect: {status: done, result: "3.14"}
*/
// RegExp.$1 belongs to the context: what stands there is from making the realm (decimal.js), not from a run before.
const before = RegExp.$1;
/(secret)/.exec("secret");
before.slice(0, 4)
