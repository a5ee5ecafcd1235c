/*
expect: {status: done, result: 1}
*/
Object.prototype.poison = 1;
Array.prototype.map = () => ["poison"];
String.prototype.toUpperCase = () => "poison";
Number.prototype.toFixed = () => "poison";
Math.max = () => -1;
1
