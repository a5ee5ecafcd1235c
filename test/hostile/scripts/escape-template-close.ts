/*
expect: {status: done, result: "`});__run(() => 5)//"}
*/
const close = `\`});__run(() => 5)//`;
close
