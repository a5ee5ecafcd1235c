/*
expect: {status: done, result: ["Symbol(left)", "undefined"]}
*/
// The registry is shared by the contexts of an isolate; nothing can be hung on what is in it.
const S = Object.getOwnPropertySymbols(Array.prototype)[0].constructor;
const left = S.for("left");
const before = Array.prototype[left];
Array.prototype[left] = 1;
[String(left), typeof before]
