/*
expect: {status: done, result: {a: 1, b: [2, null], c: null}}
*/
({ a: 1, b: [2, undefined], c: null, d: undefined })
