/*
expect: {status: done, result: [1, {b: "two"}]}
*/
Array.prototype.push = () => 0;
Array.prototype[Symbol_iterator()] = null;
Object.prototype.toJSON = () => "forged";
String.prototype.toJSON = () => "forged";
String.prototype.slice = () => "forged";
String.prototype.charCodeAt = () => 0;
WeakMap.prototype.get = () => "forged";
Object.getPrototypeOf(() => 1).call = () => "forged";
Object.getPrototypeOf(() => 1).apply = () => "forged";
function Symbol_iterator() { return Object.getOwnPropertySymbols(Array.prototype)[0] }
echo({ x: [1, { b: "two" }] })
