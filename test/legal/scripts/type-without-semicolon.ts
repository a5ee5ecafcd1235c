/*
expect: {status: done, result: 6}
*/
let a = 1
type H = { x: number }
;[1, 2, 3].forEach((x: number) => { a += x })
a - 1
