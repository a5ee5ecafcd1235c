/*
expect: {status: done, result: [null, null, false]}
*/
const get = Object.getOwnPropertyDescriptor(new Error("x"), "stack").get;
[get.call(echo) ?? null, get.call({}) ?? null, /[/\\](work|home|usr|tmp|node_modules)[/\\]|node:|child\.js/.test(get.call(new Error("y")))]
