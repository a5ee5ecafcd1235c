/*
expect: {status: done, result: 3}
*/
const a /* :number */ = /* 1 */ 1 // one
// # sourceURL is only words here
/* a */ a /* b */ + /* c */ 2 /* d */ // e
