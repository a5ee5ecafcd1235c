/*
expect: {status: done, result: 6}
*/
const o = Object.create(null);
for (const key of ["constructor", "then", "toJSON", "\0", "\ud800", ""]) o[key] = 1;
Object.keys(echo([o])[0]).length
