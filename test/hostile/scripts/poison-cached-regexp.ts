/*
expect: {status: done, result: true}
*/
const r = /x/g;
r.lastIndex = 5;
RegExp.prototype.exec = () => null;
true
