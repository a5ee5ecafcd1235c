/*
expect: {status: done, result: [1, "x", 3]}
*/
Array.prototype[1] = "x";
echo([1, , 3])
