/*
expect: {status: failed, code: SCRIPT_ERROR}
*/
echo = () => 2;
echo(1)
