/*
expect: {status: done, result: 1}
*/
var leaked = 1;
leaked
