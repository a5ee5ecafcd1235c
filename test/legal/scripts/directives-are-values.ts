/*
expect: {status: done, result: "use strict"}
*/
"use strict"
