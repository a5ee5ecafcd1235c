/*
expect: {status: failed, code: SCRIPT_ERROR}
*/
echo({ get x() { throw new Error("mine") } })
