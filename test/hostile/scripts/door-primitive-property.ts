/*
expect: {status: failed, code: SCRIPT_ERROR}
*/
echo.hidden = 1
