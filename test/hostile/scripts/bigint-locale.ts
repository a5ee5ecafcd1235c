/*
expect: {status: done, result: ["1234567", "1234567,1.5"]}
*/
// What the language of the machine would change is fixed.
[(1234567n).toLocaleString("de-DE"), [1234567n, 1.5].toLocaleString("de")]
