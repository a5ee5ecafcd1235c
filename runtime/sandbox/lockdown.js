/**
 * What a child gives up after loading. A script that broke out of its isolate is in this process's own context: there it finds no
 * `process` (no signals, no inspector, no setuid, no modules), no timer, no network, and no way to make code from text or to change
 * a flag. Plain JavaScript for the jitless child. Called once, before anything untrusted is read.
 */

/** Flags of Node and V8 with the same purpose. */
export const LOCKED = ["--disallow-code-generation-from-strings", "--disable-sigusr1"];

/**
 * Returns what is still needed and cannot be obtained afterwards.
 * @returns {{ exit(): never, gc(): void, cpuUsage(): { user: number, system: number } }}
 */
export function lockDown() {
  const own = /** @type {any} */ (process);
  const { reallyExit, permission, threadCpuUsage } = own;
  const v8 = own.getBuiltinModule("node:v8");
  const { runInNewContext } = own.getBuiltinModule("node:vm");
  // The flag is set only for this one context: in the script's contexts `gc` could not be deleted.
  v8.setFlagsFromString("--expose-gc");
  const [gc, names] = runInNewContext("[gc, Object.getOwnPropertyNames(globalThis)]");
  v8.setFlagsFromString("--no-expose-gc");
  const kept = new Set(["Buffer", ...names]);
  for (const name of ["console", "gc"]) kept.delete(name);
  permission?.drop?.("fs.read");
  permission?.drop?.("addon");
  for (const name of Object.getOwnPropertyNames(process)) Reflect.deleteProperty(process, name);
  Object.setPrototypeOf(process, null);
  for (const name of Object.getOwnPropertyNames(globalThis)) if (!kept.has(name)) Reflect.deleteProperty(globalThis, name);
  return { exit: () => reallyExit(0), gc, cpuUsage: () => threadCpuUsage() };
}
