/*
expect: {status: done, result: ["undefined", true]}
*/
[typeof new.target, arguments.length === 1]
