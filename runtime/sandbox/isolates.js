/**
 * The isolates of the child: one bound to the script that ran last, with a fresh context ready, and one untouched. An isolate is never
 * used for a second script; every run gets a fresh context. Plain JavaScript for the jitless child.
 */
import { readFileSync } from "node:fs";

const MAX_RUNS_PER_ISOLATE = 200;
const HEAP_GROWTH = 16e6;

/**
 * An isolate with its prepared context. `key` is the script it may run again; null while it has run nothing.
 * @typedef {{ isolate: any, memory: number, key: string | null, runs: number, baseHeap: number, realm: any, decimal: any, context: any, scripts: Map<string, any>, target: { run: any } }} Prepared
 */

/**
 * @param {any} ivm @param {string} decimalPath
 * @param {(run: any, parts: unknown[]) => unknown} onDoor the only function a script can reach; must not throw
 */
export function createIsolates(ivm, decimalPath, onDoor) {
  const realmSource = readFileSync(new URL("./realm.js", import.meta.url), "utf8");
  const decimalSource = readFileSync(decimalPath, "utf8");

  /** @param {number} memory @returns {Prepared} */
  function prepareIsolate(memory) {
    const isolate = new ivm.Isolate({ memoryLimit: memory });
    const decimal = isolate.compileScriptSync(decimalSource, { filename: "decimal" });
    const realm = isolate.compileScriptSync(realmSource, { filename: "realm" });
    const prepared = {
      isolate,
      memory,
      key: null,
      runs: 0,
      baseHeap: 0,
      realm,
      decimal,
      context: null,
      scripts: new Map(),
      target: { run: null },
    };
    prepareContext(prepared);
    return prepared;
  }

  /** A fresh context; its door leads to the run that `target` names, so an old context's door is dead. @param {Prepared} prepared */
  function prepareContext(prepared) {
    const context = prepared.isolate.createContextSync();
    /** @type {{ run: any }} */
    const target = { run: null };
    const door = new ivm.Callback((/** @type {unknown[]} */ ...parts) => (target.run === null ? undefined : onDoor(target.run, parts)), {
      sync: true,
    });
    context.global.setSync("__door", door);
    prepared.decimal.runSync(context);
    prepared.realm.runSync(context);
    prepared.context = context;
    prepared.target = target;
  }

  /** @type {Prepared | null} */
  let bound = null;
  /** @type {Prepared | null} */
  let spare = null;
  let taken = 0;

  /** @param {Prepared | null} prepared */
  function dispose(prepared) {
    if (prepared !== null && !prepared.isolate.isDisposed) prepared.isolate.dispose();
  }

  /** The isolate for this script: the one that ran it before, else an untouched one. @param {string} key @param {number} memory */
  function take(key, memory) {
    taken++;
    if (bound !== null && bound.key === key && bound.memory === memory && !bound.isolate.isDisposed && bound.context !== null) return bound;
    dispose(bound);
    if (spare !== null && spare.memory !== memory) {
      dispose(spare);
      spare = null;
    }
    bound = spare ?? prepareIsolate(memory);
    spare = null;
    bound.key = key;
    return bound;
  }

  /** While the host thinks: a fresh context for the same script, and an untouched isolate for another. */
  function prepareNext() {
    if (bound?.isolate.isDisposed) bound = null;
    if (bound !== null) {
      bound.context?.release();
      bound.context = null;
      bound.target.run = null;
      const grown = bound.isolate.getHeapStatisticsSync().used_heap_size - bound.baseHeap > HEAP_GROWTH;
      if (bound.runs >= MAX_RUNS_PER_ISOLATE || grown) {
        dispose(bound);
        bound = null;
      } else prepareContext(bound);
    }
    // A command executes one run and ends: only a child that is used again prepares for another script.
    if (taken !== 1) spare ??= prepareIsolate(bound?.memory ?? 64);
  }

  return { take, prepareNext };
}
