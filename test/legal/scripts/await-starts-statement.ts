/*
expect: {status: done, result: [1, 5]}
*/
const a = echo(1)
const b: number[] = []
await echo(b.push(5))
;[a, b[0]]
