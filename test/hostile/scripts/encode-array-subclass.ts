/*
expect: {status: done, result: [1, 2]}
*/
class A extends Array { static get [Object.getOwnPropertySymbols(Array)[0]]() { return echo } }
echo(A.from([1, 2]))
