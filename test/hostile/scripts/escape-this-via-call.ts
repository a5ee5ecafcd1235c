/*
expect: {status: done, result: "undefined"}
*/
(function () { return typeof this }).call(undefined)
