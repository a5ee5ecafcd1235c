/*
expect: {status: done, result: [[1], "a"]}
*/
const wrap = <T,>(x: T): T[] => [x];
function first<T extends { length: number }>(this: void, list: T & ArrayLike<string>): string { return list[0]! }
[wrap<number>(1), first(["a"])]
