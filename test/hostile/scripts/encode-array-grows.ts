/*
expect: {status: done, result: 2}
*/
const a = [{ get x() { for (let i = 0; i < 1000; i++) a.push(1); return 1 } }, 2];
echo(a).length
