/**
 * The disposable child: owns the isolates and the one synchronous door. A blocking loop on fd 3, no event loop.
 * Plain JavaScript with JSDoc types: Node's type stripping needs WebAssembly, which --jitless does not have.
 * It trusts the host and never the script: the script can reach realm.js, and of this file only `onDoor`, by value.
 * Size: the door, the run and its ends share one state.
 * It imports no Node module that its neighbours do not: node:crypto and node:process take half of its start time.
 * Every end of a run goes through `run.end`; after a limit or a suspend the isolate is disposed, which no script can catch.
 */
import { FRAME, SERVED_NONE, encodeFrame, readFrame, servedHash, writeFrame } from "./frames.js";
import { createIsolates } from "./isolates.js";
import { lockDown } from "./lockdown.js";

// An error thrown at the edge of the stack would carry this process's file names into the script.
Error.stackTraceLimit = 0;

const FD = 3;
const [addonPath = "", decimalPath = ""] = process.argv.slice(2);
/** @type {{ exports: any }} */
const addon = { exports: {} };
process.dlopen(addon, addonPath);
const isolates = createIsolates(addon.exports.ivm, decimalPath, onDoor);
const { exit, gc, cpuUsage } = lockDown();

const GARBAGE = 16e6;
// More stack than a call needs here (measured: at every depth around the edge, a tenth of it was enough).
const HEADROOM = new Array(1000).fill(0);
const nothing = () => undefined;
const TOO_DEEP = "The script recursed too deep.";

/**
 * Ends the run now: nothing after this reaches the script.
 * @param {any} run @param {Record<string, unknown>} end @param {string} [body]
 */
function finish(run, end, body = "") {
  run.end ??= { head: { ...end, calls: run.seq }, body };
  run.inDoor = false;
  run.isolate.dispose();
  return undefined;
}

/** @param {any} run @param {string} code @param {string} message @param {unknown} stack */
function stop(run, code, message, stack) {
  const at = place(run, stack) ?? { file: run.main };
  return finish(run, { kind: "failed", error: { code, message, at } });
}

let garbage = 0;

/** Large texts in transit become garbage at once, but V8 does not count their weight here; the watchdog does. @param {number} bytes */
function collect(bytes) {
  garbage += bytes;
  if (garbage < GARBAGE) return;
  garbage = 0;
  gc();
}

/** The only function a script can reach. It must not throw: the error would carry this process's stack into the script. @param {any} run @param {unknown[]} parts */
function onDoor(run, parts) {
  try {
    // Once broken, a later call could take an earlier call's answer as its own.
    if (run.broken) return stop(run, "LIMIT_DEPTH", TOO_DEEP, undefined);
    run.inDoor = true;
    // At the edge of the stack this fails before anything has happened.
    nothing.apply(null, HEADROOM);
    const answer = serve(run, parts);
    run.inDoor = false;
    return answer;
  } catch {
    // Out of stack: whether the call was sent is unknown, so this process ends after the run.
    run.broken = true;
    return undefined;
  }
}

/** @param {any} run @param {unknown[]} parts */
function serve(run, parts) {
  if (run.end !== null) return undefined;
  const [op] = parts;
  if (op === 0) return run.load !== null ? JSON.stringify({ load: run.load }) : run.begin;
  if (op === 4) {
    run.told ??= String(parts[1]);
    return undefined;
  }
  if (op === 3) return stop(run, String(parts[1]), String(parts[2]), parts[3]);
  if (op === 2 && run.refused !== null) {
    const at = place(run, parts[1]);
    const { error } = run.refused;
    return finish(run, { ...run.refused, ...(error ? { error: { at: at ?? { file: run.main }, ...error } } : at && { at }) });
  }
  // A refused call stays refused, even if the script caught its error.
  if (op !== 1 || run.refused !== null) return undefined;
  const name = String(parts[1]);
  const params = String(parts[2]);
  const size = Buffer.byteLength(params);
  const { limits } = run;
  run.bytes += size;
  collect(size);
  if (run.seq >= limits.calls) return refuse(run, "LIMIT_CALLS", `The script makes more than ${limits.calls} calls.`);
  if (size > limits.call_bytes)
    return refuse(run, "LIMIT_BYTES", `The call ${name} carries ${size} bytes; the limit is ${limits.call_bytes}.`);
  if (run.bytes > limits.total_bytes) return refuse(run, "LIMIT_BYTES", `The run moved more than ${limits.total_bytes} bytes.`);
  if (overCpu(run)) return refuse(run, "LIMIT_CPU", cpuText(run));
  run.seq++;
  return run.seq <= run.history.length ? serveRecorded(run, name, params) : askHost(run, name, params, parts[3]);
}

/** @param {any} run @param {string} name @param {string} params */
function serveRecorded(run, name, params) {
  const step = run.history.read(run.seq - 1);
  if (step.name !== name || (step.params !== params && canonical(step.params) !== canonical(params))) {
    run.refused = { kind: "diverged", seq: run.seq, recorded: { name: step.name, params: step.params }, actual: { name, params } };
    return undefined;
  }
  run.bytes += step.size;
  run.served = servedHash(run.served, run.seq, step);
  const live = run.seq === run.history.length;
  if (step.error !== null) run.refused = { kind: "failed", error: step.error };
  return step.error === null ? `[${step.at},${live},${step.result}]` : undefined;
}

/** @param {any} run @param {string} name @param {string} params @param {unknown} stack */
function askHost(run, name, params, stack) {
  const at = place(run, stack);
  const served = run.seq === run.history.length + 1 ? run.served : undefined;
  if (!writeFrame(FD, encodeFrame(FRAME.CALL, { seq: run.seq, name, at, served }, params))) exit();
  const frame = readFrame(FD);
  if (frame === null) exit();
  switch (frame.kind) {
    case FRAME.VALUE:
      // The host built the body `[now,true,value]`, so that a large answer is not copied again here.
      run.bytes += frame.body.length;
      collect(frame.body.length);
      if (run.bytes > run.limits.total_bytes) return refuse(run, "LIMIT_BYTES", `The run moved more than ${run.limits.total_bytes} bytes.`);
      return frame.body.toString("utf8");
    // A failed or denied call ends the run: whatever a script could do with the error, it makes no further call.
    case FRAME.STOP:
      run.refused = { kind: "failed", error: frame.head.error };
      return undefined;
    default:
      return finish(run, { kind: "suspended" });
  }
}

/** Answers nothing, so that the realm returns with the place (op 2). @param {any} run @param {string} code @param {string} message */
function refuse(run, code, message) {
  run.refused = { kind: "failed", error: { code, message } };
  return undefined;
}

/** CPU time of this process in ms. */
function cpuNow() {
  const { user, system } = cpuUsage();
  return (user + system) / 1e3;
}

/**
 * CPU time of the script, ms. The isolate's own counter excludes the work in the door, but uses wall-clock time: it also
 * runs while this process is stopped or waits for a core.
 * @param {any} run
 */
function cpuOf(run) {
  return Math.min(Number(run.isolate.cpuTime - run.isolateStart) / 1e6, cpuNow() - run.cpuStart);
}

/** Every call adds a little: 1 s per 10,000 (DESIGN.md 6). @param {any} run */
function cpuLimit(run) {
  return run.limits.cpu_ms + run.seq / 10;
}

/** Checks the wall clock first: within the limit no more CPU time can have been used. @param {any} run */
function overCpu(run) {
  const passed = Date.now() - run.began;
  return (passed < 0 || passed > cpuLimit(run)) && cpuOf(run) > cpuLimit(run);
}

/** @param {any} run */
function cpuText(run) {
  return `The script used more than ${Math.round(cpuLimit(run))} ms of CPU time.`;
}

/** Place of the topmost frame in a script of this run. The script may have forged the stack text. @param {any} run @param {unknown} stack */
function place(run, stack) {
  if (typeof stack !== "string") return undefined;
  for (const line of stack.split("\n")) {
    const match = /(?:^|[\s(])([^\s()]+):(\d{1,6}):(\d{1,6})\)?$/.exec(line);
    const script = match?.[1] === undefined ? undefined : run.files.get(match[1]);
    if (script === undefined) continue;
    const row = Number(match?.[2]);
    const col = Number(match?.[3]);
    let back = 0;
    for (const shift of script.shifts) if (shift.line === row && col >= shift.fromCol) back += shift.shift;
    return { file: script.file, line: row, col: Math.max(1, col - back) };
  }
  return undefined;
}

/** JSON with sorted keys, to compare calls that differ only in spelling. @param {string} text */
function canonical(text) {
  /** @param {any} value @returns {any} */
  const sorted = (value) => {
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) return value.map(sorted);
    return Object.fromEntries(
      Object.keys(value)
        .sort()
        .map((key) => [key, sorted(value[key])]),
    );
  };
  try {
    return JSON.stringify(sorted(JSON.parse(text)));
  } catch {
    return text;
  }
}

/** The recorded calls, cut from the frame's body on demand. @param {any} head @param {Buffer} body */
function historyOf(head, body) {
  let offset = 0;
  return {
    length: head.names.length,
    /** @param {number} i */
    read(i) {
      const start = offset + head.paramBytes[i];
      const size = head.resultBytes[i];
      const params = body.toString("utf8", offset, start);
      offset = start + size;
      const error = head.errors[i] ?? null;
      return {
        name: head.names[i],
        params,
        result: error === null ? body.toString("utf8", start, offset) : null,
        error,
        size,
        at: head.at[i],
      };
    },
  };
}

/** Answers whether the context is unchanged and reusable. @param {any} head @param {Buffer} body */
function runJob(head, body) {
  const { limits, main } = head;
  const subs = Object.entries(head.scripts);
  const key = [
    // A sealed context keeps its primitives, and a tool of the same name may have changed since.
    head.sealed ? JSON.stringify(head.primitives) : "",
    ...[main, ...subs.map(([, script]) => script)].map((script) => `${script.file}@${script.blob}`),
  ].join();
  const prepared = isolates.take(key, limits.memory_mb, head.sealed);
  const { isolate } = prepared;
  const history = historyOf(head.history, body);
  const live = history.length === 0;
  const run = {
    isolate,
    limits,
    history,
    main: main.file,
    told: /** @type {string | null} */ (null),
    load: null,
    refused: null,
    end: /** @type {any} */ (null),
    seq: 0,
    bytes: 0,
    inDoor: false,
    broken: false,
    served: SERVED_NONE,
    began: Date.now(),
    cpuStart: cpuNow(),
    isolateStart: isolate.cpuTime,
    files: new Map([main, ...subs.map(([, script]) => script)].map((script) => [script.file, script])),
    begin: `${JSON.stringify({ now: head.startedAt, live, call_bytes: limits.call_bytes, seed: head.seed, sealed: head.sealed, places: head.places, primitives: head.primitives }).slice(0, -1)},"input":${head.input}}`,
  };
  prepared.runs++;
  prepared.target.run = run;
  /** @param {any} script */
  const compiled = (script) => {
    const id = `${script.file}@${script.blob}`;
    let made = prepared.scripts.get(id);
    if (made === undefined) prepared.scripts.set(id, (made = isolate.compileScriptSync(script.code, { filename: script.file })));
    return made;
  };
  let problem;
  try {
    for (const [name, script] of subs) {
      run.load = /** @type {any} */ (name);
      compiled(script).runSync(prepared.context);
    }
    run.load = null;
    // The host's watchdog ends a loop: it excludes the time in which this process waits for a core. The isolate's timer includes that,
    // so it may only end what no watchdog watches any more.
    compiled(main).runSync(prepared.context, { timeout: Math.ceil(10 * limits.wall_ms + limits.calls / 10) });
  } catch (error) {
    problem = error instanceof Error ? error : new Error(String(error));
  }
  prepared.target.run = null;
  const end = run.end ?? endOf(run, main, problem);
  const last = run.broken || run.inDoor;
  if (!writeFrame(FD, encodeFrame(FRAME.END, { ...end.head, last }, end.body)) || last) exit();
  return head.sealed && end.head.kind === "result";
}

/** The end of a run that did not end in the door. @param {any} run @param {any} main @param {Error | undefined} problem */
function endOf(run, main, problem) {
  /** @param {string} code @param {string} message @param {any} [at] */
  const failed = (code, message, at) => {
    // The isolate may still contain what broke the limit: prepareNext drops it.
    if (!run.isolate.isDisposed) run.isolate.dispose();
    return { head: { kind: "failed", error: { code, message, ...(at && { at }) }, calls: run.seq }, body: "" };
  };
  if (run.broken || run.inDoor) return failed("LIMIT_DEPTH", TOO_DEEP, { file: main.file });
  if (run.refused !== null) return { head: { ...run.refused, calls: run.seq }, body: "" };
  if (problem !== undefined) {
    if (/timed out/.test(problem.message)) {
      return cpuOf(run) > cpuLimit(run)
        ? failed("LIMIT_CPU", cpuText(run))
        : failed("LIMIT_WALL", `The script ran longer than ${run.limits.wall_ms} ms without waiting.`);
    }
    if (/memory limit|disposed/i.test(problem.message))
      return failed("LIMIT_MEMORY", `The script used more than ${run.limits.memory_mb} MiB of memory.`);
    if (problem instanceof SyntaxError)
      return failed(
        "SCRIPT_SYNTAX",
        problem.message.replace(/\s*\[.*$/s, "").slice(0, 2000),
        place(run, `${problem.message.match(/\[(.*)\]$/)?.[1] ?? ""}`) ?? { file: main.file },
      );
    // An error after the end comes from a promise that nobody awaits.
    if (run.told === null) return failed("SCRIPT_ERROR", problem.message.slice(0, 2000), { file: main.file });
  }
  if (overCpu(run)) return failed("LIMIT_CPU", cpuText(run));
  if (run.seq < run.history.length) {
    const step = run.history.read(run.seq);
    return {
      head: { kind: "diverged", seq: run.seq + 1, recorded: { name: step.name, params: step.params }, actual: null, calls: run.seq },
      body: "",
    };
  }
  const told = run.told ?? "Rnull";
  const size = Buffer.byteLength(told);
  if (size > run.limits.call_bytes)
    return failed("LIMIT_BYTES", `The result has ${size} bytes; the limit is ${run.limits.call_bytes}.`, { file: main.file });
  if (told[0] === "R") return { head: { kind: "result", calls: run.seq, cpuMs: cpuOf(run) }, body: told.slice(1) };
  const { wire, stack } = JSON.parse(told.slice(1));
  return { head: { kind: "failed", error: { ...wire, at: place(run, stack) ?? { file: main.file } }, calls: run.seq }, body: "" };
}

isolates.prepareNext(false);
writeFrame(FD, encodeFrame(FRAME.READY, {}));
for (let jobs = 0, clean = false; ; jobs++) {
  // A command executes one run and exits: the cleanup after the first run waits until there is a second.
  if (jobs > 1) isolates.prepareNext(clean);
  const frame = readFrame(FD);
  if (frame === null) exit();
  if (jobs === 1) isolates.prepareNext(clean);
  clean = runJob(frame.head, frame.body);
}
