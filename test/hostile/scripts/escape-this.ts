/*
expect: {status: done, result: "undefined"}
*/
typeof this
