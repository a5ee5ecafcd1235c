/*
expect: {status: done, result: "\u2028 \u2029 \" \\ \0"}
*/
echo("\u2028 \u2029 \" \\ \0")
