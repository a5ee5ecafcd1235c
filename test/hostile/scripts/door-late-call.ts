/*
expect: {status: done, result: 1}
*/
const later = (async () => { await 0; echo("late") })();
void later;
1
