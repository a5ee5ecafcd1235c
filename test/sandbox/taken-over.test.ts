/** A child that a script has taken over may say anything: no call it may not make reaches the host, and every run ends in a code. */
import { describe, expect, test } from "vitest";
import type { DoorAnswer, DoorCall, Job, JobEnd } from "../../runtime/kernel/ports.ts";
import { FRAME, type Frame, SERVED_NONE, createFrameReader, encodeFrame, servedHash } from "../../runtime/sandbox/frames.js";
import { converse } from "../../runtime/sandbox/slot.ts";
import type { Child } from "../../runtime/sandbox/spawn.ts";
import { LIMITS } from "./corpus.ts";

const CALL = { seq: 1, name: "echo", served: SERVED_NONE };

/** The other end of the pipe, in the hands of a stranger: `says` is sent once the job has arrived. */
function taken(says: Frame[], history: Job["history"] = [], given: DoorAnswer = { kind: "value", json: "1", now: 1 }) {
  const seen: DoorCall[] = [];
  let gone: (signal: NodeJS.Signals | null) => void = () => undefined;
  let listener: (frame: Frame) => void = () => undefined;
  let killed = false;
  const child: Child = {
    pid: process.pid,
    ready: Promise.resolve(true),
    exited: new Promise((resolve) => (gone = resolve)),
    alive: () => !killed,
    send: () => {
      for (const frame of says.splice(0, says[0]?.kind === FRAME.CALL && given.kind !== "value" ? 1 : says.length)) listener(frame);
    },
    listen: (next) => (listener = next),
    kill: () => {
      killed = true;
      gone(null);
    },
  };
  const job: Job = {
    main: { file: "agents/a.ts", blob: "b", code: "", shifts: [], scripts: [], calls: [], flow: { main: { all: [] }, functions: [] } },
    scripts: {},
    primitives: { echo: "x" },
    input: "{}",
    seed: "s",
    startedAt: 0,
    history,
    // The test's own process stands in for the child: its CPU and memory are not the matter here.
    limits: { ...LIMITS, cpu_ms: 1e6, wall_ms: 1e6, memory_mb: 4000 },
    async call(call) {
      seen.push(call);
      await new Promise((resolve) => setTimeout(resolve, 5));
      return given;
    },
  };
  return { end: converse(child, job), seen, killed: () => killed };
}

const frame = (kind: number, head: unknown, body = ""): Frame => ({ kind, head, body: Buffer.from(body) });
const served = [{ name: "echo", params: '{"x":1}', result: "1", error: null, at: 1 }];
const refused = [{ name: "echo", params: '{"x":1}', result: null, error: { code: "FSM_EFFECT_DENIED", message: "No." }, at: 1 }];
const failed = (code: string, message: string) => frame(FRAME.END, { kind: "failed", calls: 0, error: { code, message }, last: false });
const crashed = { kind: "failed", error: { code: "SANDBOX_CRASHED" } };

describe("messages that are not calls", () => {
  const rows: [string, Frame[], Job["history"]?][] = [
    ["a second call while the first is answered", [frame(FRAME.CALL, CALL, "{}"), frame(FRAME.CALL, { ...CALL, seq: 2 }, "{}")]],
    ["a list as the name, which would read as one", [frame(FRAME.CALL, { ...CALL, name: ["echo"] }, "{}")]],
    ["a name of every object", [frame(FRAME.CALL, { ...CALL, name: "constructor" }, "{}")]],
    ["a primitive the run does not have", [frame(FRAME.CALL, { ...CALL, name: "git_commit" }, "{}")]],
    ["a position as text", [frame(FRAME.CALL, { ...CALL, seq: "1" }, "{}")]],
    ["a position that is not next", [frame(FRAME.CALL, { ...CALL, seq: 5 }, "{}")]],
    ["null", [frame(FRAME.CALL, null, "{}")]],
    ["another history than it was given", [frame(FRAME.CALL, { ...CALL, seq: 2 }, "{}")], served],
    ["parameters over the limit", [frame(FRAME.CALL, CALL, "x".repeat(LIMITS.call_bytes + 1))]],
    ["an unknown kind of frame", [frame(77, {})]],
    ["the host's own kind of frame", [frame(FRAME.VALUE, {}, "[1,true,1]")]],
    ["a result while its call is answered", [frame(FRAME.CALL, CALL, "{}"), frame(FRAME.END, { kind: "result", calls: 1, cpuMs: 1 }, "1")]],
    ["a failure while its call is answered", [frame(FRAME.CALL, CALL, "{}"), failed("SCRIPT_ERROR", "m")]],
    [
      "a call after a recorded failure",
      [frame(FRAME.CALL, { ...CALL, seq: 2, served: servedHash(SERVED_NONE, 1, served[0] as never) }, "{}")],
      refused,
    ],
  ];
  for (const [what, says, history] of rows) {
    test(`${what} kills the child`, async () => {
      const one = taken(says, history);
      expect(await one.end).toMatchObject(crashed);
      expect(one.killed()).toBe(true);
      expect(one.seen.length).toBeLessThanOrEqual(1);
    });
  }
});

describe("messages that are not ends", () => {
  const rows: [string, Frame, Job["history"]?][] = [
    ["an unknown kind", frame(FRAME.END, { kind: "approved", calls: 0, last: false })],
    ["a result that is no JSON", frame(FRAME.END, { kind: "result", calls: 0, cpuMs: 1, last: false }, "{oops")],
    ["a result before the history was served", frame(FRAME.END, { kind: "result", calls: 0, cpuMs: 1, last: false }, "1"), served],
    ["a result after calls that nobody saw", frame(FRAME.END, { kind: "result", calls: 9, cpuMs: 1, last: false }, "1")],
    ["an error without words", frame(FRAME.END, { kind: "failed", calls: 0, error: null, last: false })],
    ["a divergence that names nothing", frame(FRAME.END, { kind: "diverged", seq: 1, recorded: "x", actual: null, last: false })],
    ["a list", frame(FRAME.END, [])],
    ["a wait that the host did not ask for", frame(FRAME.END, { kind: "suspended", calls: 0, last: false })],
    ["a failure with a code of the host", failed("POLICY_BLOCKED", "m")],
    ["a failure with an endless code", failed("X".repeat(1e6), "m")],
    ["a failure with an endless message", failed("SCRIPT_ERROR", "m".repeat(100_000))],
    [
      "a failure after calls that nobody saw",
      frame(FRAME.END, { kind: "failed", calls: 9, error: { code: "SCRIPT_ERROR", message: "m" } }),
    ],
    ["a result after a recorded failure", frame(FRAME.END, { kind: "result", calls: 1, cpuMs: 1, last: false }, "1"), refused],
    ["a result of endless CPU time", frame(FRAME.END, { kind: "result", calls: 0, cpuMs: 1e300, last: false }, "1")],
    ["a divergence where nothing is recorded", frame(FRAME.END, { kind: "diverged", seq: 2, actual: null, last: false }), served],
    [
      "a divergence to a primitive the run does not have",
      frame(FRAME.END, { kind: "diverged", seq: 1, actual: { name: "git_commit", params: "{}" }, last: false }),
      served,
    ],
    [
      "a divergence with endless parameters",
      frame(FRAME.END, { kind: "diverged", seq: 1, actual: { name: "echo", params: "x".repeat(LIMITS.call_bytes + 1) }, last: false }),
      served,
    ],
  ];
  for (const [what, says, history] of rows) {
    test(`${what} ends as a crash`, async () => {
      expect(await taken([says], history).end).toMatchObject(crashed);
    });
  }

  const after = { kind: "failed", calls: 1, error: { code: "FSM_EFFECT_DENIED", message: "No." } } as const;
  const ends: [string, DoorAnswer, Frame, object][] = [
    ["another call", { kind: "error", error: after.error, now: 1 }, frame(FRAME.CALL, { ...CALL, seq: 2 }, "{}"), after],
    ["a result", { kind: "error", error: after.error, now: 1 }, frame(FRAME.END, { kind: "result", calls: 1, cpuMs: 1 }, "1"), after],
    ["a milder failure", { kind: "error", error: after.error, now: 1 }, failed("SCRIPT_ERROR", "never mind"), after],
    ["a wait", { kind: "error", error: after.error, now: 1 }, frame(FRAME.END, { kind: "suspended", calls: 1 }), after],
    ["a result", { kind: "suspend" }, frame(FRAME.END, { kind: "result", calls: 1, cpuMs: 1 }, "1"), { kind: "suspended", calls: 1 }],
    ["another call", { kind: "suspend" }, frame(FRAME.CALL, { ...CALL, seq: 2 }, "{}"), { kind: "suspended", calls: 1 }],
  ];
  for (const [what, given, says, wanted] of ends) {
    test(`${what} after the host has answered "${given.kind}" changes nothing of how the run ends`, async () => {
      const one = taken([frame(FRAME.CALL, CALL, "{}"), says], [], given);
      expect(await one.end).toEqual(wanted);
      expect(one.seen).toHaveLength(1);
    });
  }

  test("a place outside the run's files is not believed", async () => {
    const at = { file: "/etc/passwd", line: 1 };
    const end = (await taken([
      frame(FRAME.END, { kind: "failed", calls: 0, error: { code: "SCRIPT_ERROR", message: "m", at }, last: true }),
    ]).end) as JobEnd;
    expect(end).toEqual({ kind: "failed", error: { code: "SCRIPT_ERROR", message: "m" }, calls: 0 });
  });
});

describe("frames", () => {
  const reader = (max = 1 << 20) => {
    const frames: Frame[] = [];
    return {
      frames,
      push: createFrameReader(
        (one) => frames.push(one),
        () => max,
      ).push,
    };
  };
  test("arrive whole, however the pipe splits them", () => {
    const { frames, push } = reader();
    const bytes = Buffer.concat([encodeFrame(FRAME.CALL, CALL, "é\0\u2028"), encodeFrame(FRAME.READY, {})]);
    for (const byte of bytes) push(Buffer.from([byte]));
    expect(frames.map(({ kind, body }) => [kind, body.toString()])).toEqual([
      [FRAME.CALL, "é\0\u2028"],
      [FRAME.READY, ""],
    ]);
  });
  test("of an impossible size are refused before they are buffered", () => {
    const huge = Buffer.alloc(4);
    huge.writeUInt32LE(0xffffffff);
    expect(() => reader().push(huge)).toThrow("impossible size");
    expect(() => reader().push(Buffer.from([0, 0, 0, 0]))).toThrow("impossible size");
  });
  test("with a head longer than the frame, or invalid JSON, are refused", () => {
    const bytes = encodeFrame(FRAME.CALL, CALL);
    bytes.writeUInt32LE(0x7fffffff, 5);
    expect(() => reader().push(bytes)).toThrow();
    const text = encodeFrame(FRAME.CALL, CALL);
    text.write("]", 9);
    expect(() => reader().push(text)).toThrow();
  });
});
