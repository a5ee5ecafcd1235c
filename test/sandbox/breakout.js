/**
 * Stands in for a script that has broken out of its isolate: loads the real child, and has its code called in the child's own context once
 * the child is ready. What it finds there goes out as the head of the first frame. Plain JavaScript, as the child itself.
 */
import { readFileSync } from "node:fs";

const [, , child = ""] = process.argv;
process.argv.splice(2, 1);
// More than a script could have: the object itself, from before.
const before = process;
const tried = (what) => {
  try {
    return String(what() ?? "done");
  } catch (error) {
    return error.code ?? error.name;
  }
};

Object.defineProperty(Object.prototype, "toJSON", {
  configurable: true,
  value() {
    delete Object.prototype.toJSON;
    return {
      globals: Object.getOwnPropertyNames(globalThis).filter((name) => !/^[A-Z]/.test(name)),
      odd: ["WebSocket", "Worker", "MessageChannel", "BroadcastChannel", "EventSource", "Storage", "Request"].filter(
        (name) => name in globalThis,
      ),
      process: [...Object.getOwnPropertyNames(before), Object.getPrototypeOf(before)],
      code: tried(() => new Function("return 1")()),
      evaluated: tried(() => globalThis[["ev", "al"].join("")]("1")),
      asynchronous: tried(() => (async () => undefined).constructor("return 1")),
      file: tried(() => readFileSync("/etc/passwd")),
      own: tried(() => readFileSync(child)),
    };
  },
});
await import(child);
