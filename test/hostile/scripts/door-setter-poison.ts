/*
expect: {status: done, result: {a: 1}}
*/
Object.defineProperty(Object.prototype, "x", { set() { throw new Error("seen") }, configurable: true });
Object.defineProperty(Object.prototype, "get", { value: () => 1, configurable: true });
echo({ x: { a: 1 } })
