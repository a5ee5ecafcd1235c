/*
expect: {status: done, result: 1}
*/
let n = 0;
echo({ x: { get v() { n++; return n === 1 ? 1 : () => 1 } } }).v
