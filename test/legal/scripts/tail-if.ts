/*
expect: {status: done, result: "small"}
*/
const n: number = echo(3);
if (n > 5) {
  "large";
} else {
  "small";
}
