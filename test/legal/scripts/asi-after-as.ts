/*
expect: {status: done, result: [7, [8], 1]}
*/
// What stands behind an erased type begins a statement of its own.
let a = echo(1) as number
const b: number[] = []
b.push(a)
let c = 2 as number
[8].forEach((x) => { b.push(x) })
type T = number
const d: T = 7
;[d, [8], b[0]]
