/*
expect: {status: failed, code: SCRIPT_ERROR}
*/
journal_void({ id: "1" })
