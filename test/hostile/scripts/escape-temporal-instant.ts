/*
expect: {status: done, result: "undefined"}
*/
typeof new Date(0).toTemporalInstant
