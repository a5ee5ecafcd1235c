/*
expect: {status: failed, code: SCRIPT_ERROR}
*/
(async () => { await null; for (let i = 0; i < 10; i++) { await null; echo(i) } })();
throw new Error("over")
