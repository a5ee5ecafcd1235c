/*
expect: {status: done, result: [7, 7, 7, "undefined", false]}
*/
const tried = (f) => { try { return f() } catch { return 7 } };
const key = ["__", "proto__"].join("");
[tried(() => ({})[key]), tried(() => { ({})[key] = { poison: 1 } }), tried(() => Object.assign({}, JSON.parse(`{"${key}": {"poison": 1}}`))), typeof ({})[["__defineGetter", "__"].join("")], "poison" in {}]
