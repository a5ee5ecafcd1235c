/*
expect: {status: done, result: true}
*/
echo("\ud800") === "\ud800"
