/*
expect: {status: done, result: [1, 2]}
*/
let a = 1
interface Row { a: number }
;[1, 2].filter((x: number) => x > 0)
