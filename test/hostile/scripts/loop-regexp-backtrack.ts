/*
expect: {status: done, result: false}
*/
/^(a+)+$/.test("a".repeat(40) + "b")
