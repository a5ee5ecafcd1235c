/*
expect: {status: done, result: [false, false, false, false, false]}
*/
// The text of our own functions tells how the realm is made.
[echo, Date, console.log, Error.prepareStackTrace, (5).toLocaleString].map((f) => /door|slice|RealDate|sites/.test(f + Object.getPrototypeOf(() => 1).toString.call(f)))
