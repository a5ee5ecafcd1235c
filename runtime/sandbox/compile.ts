/**
 * The host's side of compiling: sends untrusted source to a long-lived child and caches the result by (blob, file, lint, primitives).
 * Native parsers crash and hang on hostile text (spec/sandbox.md 4), so the child is killed on a timeout and replaced after a crash.
 */
import { Kept } from "../kernel/kept.ts";
import type { Sandbox } from "../kernel/ports.ts";
import { rests } from "../kernel/processes.ts";
import { createTurns } from "../kernel/turns.ts";
import type { DiskCache } from "../scripts/disk-cache.ts";
import { FRAME, encodeFrame } from "./frames.js";
import { type Lost, isLost, lostBy, persist } from "./lost.ts";
import { prescan } from "../scripts/prescan.ts";
import { type Child, compileChild, spawnChild } from "./spawn.ts";
import { watchAnswer } from "./watchdog.ts";

const TIMEOUT_MS = 10_000;
const IDLE_MS = 30_000;
// The leak of a parser per script is unknown, and an occasional fresh child costs almost nothing.
const MAX_COMPILES = 500;

export type CompileOptions = Parameters<Sandbox["compile"]>[1];
export type CompileResult = Awaited<ReturnType<Sandbox["compile"]>>;

function failed({ file }: CompileOptions, code: string, message: string): CompileResult {
  return { compiled: null, findings: [{ code, message, at: { file } }] };
}

/** The result may differ next time, and its child is not used again. */
function isUnusable({ findings }: CompileResult): boolean {
  return findings.some((finding) => finding.code === "LIMIT_WALL" || finding.code === "SANDBOX_CRASHED");
}

/** One child serves all sandboxes of this process: it keeps nothing of what it reads, and is ended after a while without work. */
let child: Child | null = null;
let compiles = 0;
const inTurn = createTurns();

async function drop(): Promise<void> {
  const old = child;
  child = null;
  compiles = 0;
  old?.kill();
  await old?.exited;
}

const endIdle = (): void => void drop();

async function askOnce(source: string, options: CompileOptions): Promise<CompileResult | Lost> {
  rests(endIdle, null);
  if (child === null || !child.alive() || compiles >= MAX_COMPILES) {
    await drop();
    child = spawnChild(compileChild());
  }
  compiles++;
  const used = child;
  const answer = await new Promise<CompileResult | Lost>((resolve) => {
    const done = (answer: CompileResult | Lost) => {
      unwatch();
      resolve(answer);
    };
    const unwatch = watchAnswer(used, TIMEOUT_MS, {
      late: () => done(failed(options, "LIMIT_WALL", `The script could not be read within ${TIMEOUT_MS / 1000} s.`)),
      lost: () => done({ kind: "lost", killed: true }),
    });
    used.listen((frame) => done(frame.head as CompileResult));
    void used.exited.then((signal) => done(lostBy(signal)));
    used.send(encodeFrame(FRAME.COMPILE, { options, source }));
  });
  if (isLost(answer) || isUnusable(answer)) await drop();
  rests(endIdle, IDLE_MS);
  return answer;
}

async function ask(source: string, options: CompileOptions): Promise<CompileResult> {
  const answer = await persist(() => askOnce(source, options));
  if (!isLost(answer)) return answer;
  const how = answer.killed ? "was killed repeatedly while it read the script" : "died on the script. Look for very deep nesting";
  return failed(options, "SANDBOX_CRASHED", `The parser ${how}.`);
}

/** sourceBytes: maximum size of the source of a file. */
export function createCompiler(disk?: DiskCache, sourceBytes?: (file: string) => number): Sandbox["compile"] {
  const cache = new Kept<string, Promise<CompileResult>>(1000);
  const compile = async (source: string, options: CompileOptions, key: string): Promise<CompileResult> => {
    const kept = disk?.get("compiled", key, source) ?? null;
    if (kept !== null) return JSON.parse(kept) as CompileResult;
    const result = await inTurn(() => ask(source, options));
    // A timeout may come from a busy machine, so it is not cached.
    if (isUnusable(result)) cache.delete(key);
    else if (result.compiled !== null) disk?.put(JSON.stringify(result), "compiled", key, source);
    return result;
  };
  return (source, options) => {
    const early = prescan(source, options.file, sourceBytes?.(options.file));
    if (early !== null) return Promise.resolve({ compiled: null, findings: [early] });
    const key = [options.blob, options.file, options.lint, options.survey, ...options.primitives].join("\n");
    return cache.of(key, () => compile(source, options, key));
  };
}
