/*
expect: {status: done, result: 2}
*/
1;
/*
*/ --> }); __run(() => 5); (function () {
2
