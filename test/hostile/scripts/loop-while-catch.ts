/*
expect: {status: failed, code: LIMIT_CPU}
*/
while (true) { try { for (;;); } catch {} finally { for (;;); } }
