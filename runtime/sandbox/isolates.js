/**
 * The isolates of the child: one bound to the last script, with a fresh context ready, and one unused. An isolate is never
 * used for a second script. Every run gets a fresh context, except a sealed one that follows one of the same script: it leaves nothing
 * behind (realm.js `seal`). Sealed runs are short, so a few isolates are kept for them. Plain JavaScript for the jitless child.
 */
import { readFileSync } from "node:fs";

const MAX_RUNS_PER_ISOLATE = 200;
const HEAP_GROWTH = 16e6;
// Sealed runs leave only garbage, and reading the heap size takes as long as a tenth of a short one; a longer one may leave much.
const LOOK_EVERY = 16;
const SHORT_NS = 1_000_000n;
// Scripts that call several tools in turn; an isolate takes about 4 MB.
const MAX_SEALED = 4;
// Making a snapshot takes as long as 20 contexts, and a context made from it a third of the usual time.
const WORTH_SNAPSHOT = 12;

/**
 * An isolate with its prepared context. `key` is the script it may run again; null while it has run nothing.
 * @typedef {{ isolate: any, memory: number, key: string | null, runs: number, baseHeap: number, began: bigint, before: any[], context: any, scripts: Map<string, any>, target: { run: any } }} Prepared
 */

/** @param {any} ivm @param {string} decimalPath @param {(run: any, parts: unknown[]) => unknown} onDoor must not throw */
export function createIsolates(ivm, decimalPath, onDoor) {
  const realmSource = readFileSync(new URL("./realm.js", import.meta.url), "utf8");
  const decimalSource = readFileSync(decimalPath, "utf8");

  const sources = [
    { code: decimalSource, filename: "decimal" },
    { code: realmSource, filename: "realm" },
  ];
  /** Both sources in the state of a context that has run them. */
  let snapshot = /** @type {any} */ (undefined);

  /** @param {number} memory @returns {Prepared} */
  function prepareIsolate(memory) {
    const isolate = new ivm.Isolate({ memoryLimit: memory, snapshot });
    const before = snapshot === undefined ? sources.map(({ code, filename }) => isolate.compileScriptSync(code, { filename })) : [];
    const prepared = {
      isolate,
      memory,
      key: null,
      runs: 0,
      baseHeap: 0,
      began: 0n,
      before,
      context: null,
      scripts: new Map(),
      target: { run: null },
    };
    prepareContext(prepared);
    prepared.baseHeap = isolate.getHeapStatisticsSync().used_heap_size;
    return prepared;
  }

  /** A fresh context; its door leads to the run in `target`, so an old context's door is dead. @param {Prepared} prepared */
  function prepareContext(prepared) {
    const context = prepared.isolate.createContextSync();
    /** @type {{ run: any }} */
    const target = { run: null };
    const door = new ivm.Callback((/** @type {unknown[]} */ ...parts) => (target.run === null ? undefined : onDoor(target.run, parts)), {
      sync: true,
    });
    for (const script of prepared.before) script.runSync(context);
    context.global.getSync("__enter", { reference: true }).applySync(undefined, [door]);
    prepared.context = context;
    prepared.target = target;
  }

  /** Isolates by the script they are bound to, the least recently used first. @type {Map<string, Prepared>} */
  const bound = new Map();
  /** @type {Prepared | null} */
  let current = null;
  /** @type {Prepared | null} */
  let spare = null;
  let taken = 0;

  /** @param {Prepared | null | undefined} prepared */
  function dispose(prepared) {
    if (prepared && !prepared.isolate.isDisposed) prepared.isolate.dispose();
  }

  /** The isolate for this script: the one that ran it before, else an unused one. @param {string} key @param {number} memory @param {boolean} sealed */
  function take(key, memory, sealed) {
    taken++;
    const found = bound.get(key);
    bound.delete(key);
    if (found !== undefined && found.memory === memory && !found.isolate.isDisposed && found.context !== null) current = found;
    else {
      dispose(found);
      for (const [old, prepared] of bound) {
        if (bound.size < (sealed ? MAX_SEALED : 1)) break;
        bound.delete(old);
        dispose(prepared);
      }
      if (spare !== null && spare.memory !== memory) {
        dispose(spare);
        spare = null;
      }
      current = spare ?? prepareIsolate(memory);
      spare = null;
      current.key = key;
    }
    bound.set(key, current);
    current.began = current.isolate.cpuTime;
    return current;
  }

  /**
   * While the host works: a fresh context for the same script, and an unused isolate for another.
   * @param {boolean} clean the run was sealed and ended well: its context is unchanged
   */
  function prepareNext(clean) {
    if (taken === WORTH_SNAPSHOT) {
      snapshot = ivm.Isolate.createSnapshot(sources);
      dispose(spare);
      spare = null;
    }
    if (current !== null) {
      const { isolate, key, runs, baseHeap, began, before } = current;
      const full = () =>
        (!clean && (runs >= MAX_RUNS_PER_ISOLATE || (snapshot !== undefined && before.length > 0))) ||
        ((!clean || runs % LOOK_EVERY === 0 || isolate.cpuTime - began > SHORT_NS) &&
          isolate.getHeapStatisticsSync().used_heap_size - baseHeap > HEAP_GROWTH);
      if (isolate.isDisposed || full()) {
        dispose(current);
        bound.delete(key ?? "");
      } else if (!clean) {
        current.context?.release();
        current.context = null;
        current.target.run = null;
        prepareContext(current);
      }
      current = null;
    }
    // A command executes one run and exits: only a child that is used again prepares for another script.
    if (taken !== 1) spare ??= prepareIsolate([...bound.values()].at(-1)?.memory ?? 64);
  }

  return { take, prepareNext };
}
