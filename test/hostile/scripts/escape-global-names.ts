/*
expect: {status: done, result: []}
*/
const names = ["globalThis", "eval", "Function", "process", "require", "fetch", "setTimeout", "WebAssembly", "SharedArrayBuffer", "Atomics", "ArrayBuffer",
  "Uint8Array", "DataView", "Proxy", "Reflect", "Symbol", "Promise", "Intl", "Temporal", "WeakRef", "FinalizationRegistry", "BigInt", "Iterator", "__door", "queueMicrotask"];
const found = [];
if (typeof globalThis !== "undefined") found.push("globalThis");
if (typeof process !== "undefined") found.push("process");
if (typeof require !== "undefined") found.push("require");
if (typeof fetch !== "undefined") found.push("fetch");
if (typeof setTimeout !== "undefined") found.push("setTimeout");
if (typeof WebAssembly !== "undefined") found.push("WebAssembly");
if (typeof SharedArrayBuffer !== "undefined") found.push("SharedArrayBuffer");
if (typeof Atomics !== "undefined") found.push("Atomics");
if (typeof Uint8Array !== "undefined") found.push("Uint8Array");
if (typeof Proxy !== "undefined") found.push("Proxy");
if (typeof Reflect !== "undefined") found.push("Reflect");
if (typeof Intl !== "undefined") found.push("Intl");
if (typeof Temporal !== "undefined") found.push("Temporal");
if (typeof WeakRef !== "undefined") found.push("WeakRef");
if (typeof __door !== "undefined") found.push("__door");
void names;
found
