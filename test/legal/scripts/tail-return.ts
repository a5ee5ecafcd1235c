/*
expect: {status: done, result: "early"}
*/
const rows: string[] = echo([]);
if (rows.length === 0) return "early";
rows.length
