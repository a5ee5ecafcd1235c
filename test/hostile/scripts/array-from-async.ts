/*
expect: {status: done, result: "undefined"}
*/
typeof Array.fromAsync
