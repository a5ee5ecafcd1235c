/*
expect: {status: failed, code: SCRIPT_SYNTAX}
*/
let x = 1, y = 2;
x <!-- /* 
}); throw 1; (() => { /* */
1
