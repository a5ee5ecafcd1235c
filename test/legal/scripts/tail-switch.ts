/*
expect: {status: done, result: "two"}
*/
switch (echo(2) as number) {
  case 1:
    "one";
    break;
  case 2: {
    "two";
    break;
  }
  default:
    "many";
}
