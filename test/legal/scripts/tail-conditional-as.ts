/*
expect: {status: done, result: "yes" }
*/
(echo(true) ? "yes" : "no") as string
