/*
expect: {status: done, result: 7}
*/
echo(3) + 4;
function later() {
  return 1;
}
type Unused = { a: number };
