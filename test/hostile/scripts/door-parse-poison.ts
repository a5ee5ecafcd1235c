/*
expect: {status: done, result: {a: 1}}
*/
JSON.parse = () => "forged";
JSON.stringify = () => "forged";
Object.keys = () => [];
Array.isArray = () => false;
echo({ x: { a: 1 } })
