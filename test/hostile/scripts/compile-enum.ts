/*
expect: {status: failed, code: SCRIPT_SYNTAX}
*/
enum A { B }
1
