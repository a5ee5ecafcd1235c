/*
expect: {status: done, result: 3000}
*/
let n = 0;
for (let i = 0; i < 3000; i++) n += echo(1);
n
