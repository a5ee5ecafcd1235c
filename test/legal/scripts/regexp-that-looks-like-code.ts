/*
expect: {status: done, result: [true, "x})", 2]}
*/
const quote = /["'`]\/\*(?:\(|\))/;
[quote.test("`/*("), "x})", "a//b".split("//").length]
