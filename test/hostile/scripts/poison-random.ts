/*
expect: {status: done, result: "number"}
*/
try { Math.random = () => 4 } catch {}
typeof Math.random()
