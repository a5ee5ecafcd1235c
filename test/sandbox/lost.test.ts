/** A child that dies, is killed or stands still is a lost slot: its script goes on in another one, and each call is made once. */
import { spawn } from "node:child_process";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { typecheck } from "../../runtime/change/checks/typecheck.ts";
import { createSandbox } from "../../runtime/sandbox/pool.ts";
import { whyNoJail } from "../../tools/system-tools.ts";
import { patiently } from "../patience.ts";
import { below, commandOf, expectGone, seeded, signal } from "../kill/processes.ts";
import { runScript } from "./corpus.ts";

const sandbox = createSandbox({ slots: 2 });
afterAll(() => sandbox.close());

const LONG = process.env["CLEARED_LONG"] === "1";
const VICTIMS = { script: /sandbox\/child\.js/, compiler: /compile-child/, checker: /--api/ };
const victims = (what: keyof typeof VICTIMS): number[] => below(process.pid).filter((pid) => VICTIMS[what].test(commandOf(pid)));
const sleep = (ms: number) => new Promise((next) => setTimeout(next, ms));

/** Sends the signal at seeded moments, at most so often, until the work is over, which goes on until somebody was hit; answers how often. */
async function under<T>(
  what: keyof typeof VICTIMS,
  { name, most, withinMs }: { name: NodeJS.Signals; most: number; withinMs: number },
  work: (hits: () => number) => Promise<T>,
): Promise<[value: T, hits: number]> {
  const random = seeded(withinMs);
  let hits = 0;
  let over = false;
  const killing = (async () => {
    while (!over && hits < most) {
      // Between two kills there is time for what is killed, also where others want the cores.
      await sleep(patiently(random() * withinMs));
      for (const pid of over ? [] : victims(what)) hits += Number(signal(pid, name));
    }
  })();
  try {
    return [await work(() => hits), hits];
  } finally {
    over = true;
    await killing;
  }
}

const LOOP = "let sum = 0;\nfor (let i = 0; i < 60; i++) sum += echo(i);\nsum";

// A stopped child is given up after two seconds: two of them are enough to wait for.
const WAYS = [
  { name: "SIGKILL", most: 20, withinMs: 700 },
  { name: "SIGSTOP", most: 2, withinMs: 300 },
] as const;

describe.each(WAYS)("$name", (way) => {
  test("of a script's child: the result is the same and no call is made twice", async () => {
    const seen: string[] = [];
    const script = (hit: () => number) => {
      const answer = async ({ params }: { params: string }) => {
        seen.push(params);
        // In the last call somebody is hit, if nobody was before.
        do await sleep(30);
        while (seen.length === 60 && hit() === 0);
        return { kind: "value", json: String(JSON.parse(params).x), now: 1 };
      };
      return runScript(sandbox, LOOP, { answer });
    };
    const [outcome, hits] = await under("script", way, script);
    expect(outcome.result, JSON.stringify(outcome.end)).toBe(1770);
    expect(seen).toEqual(Array.from({ length: 60 }, (_, i) => JSON.stringify({ x: i })));
    expect(hits).toBeGreaterThan(0);
  });

  test("of the process that compiles scripts: each is compiled", async () => {
    const read = async (hits: () => number) => {
      for (let i = 0; i < 80 || hits() === 0; i++) {
        await sleep(10);
        const options = { file: "agents/a.ts", blob: `${way.name} ${i}`, lint: true, primitives: ["echo"] };
        const { compiled, findings } = await sandbox.compile(`const n = ${i};\necho(n)`, options);
        expect([findings, compiled?.file]).toEqual([[], "agents/a.ts"]);
      }
    };
    const [, hits] = await under("compiler", way, read);
    expect(hits).toBeGreaterThan(0);
  });

  test("of the type checker: it reports the same as undisturbed", async () => {
    const check = async (hits: () => number) => {
      for (let i = 0; i < 60 || hits() === 0; i++) {
        await sleep(20);
        const found = await typecheck([{ file: "agents/a.ts", source: `const a: string = ${i};` }], "");
        expect(found.map((one) => one.message)).toEqual(["Type 'number' is not assignable to type 'string'."]);
      }
    };
    const [, hits] = await under("checker", way, check);
    expect(hits).toBeGreaterThan(0);
  });
});

describe("what stands around a child", () => {
  const noJail = whyNoJail();
  beforeEach(({ skip }) => skip(noJail !== null, noJail ?? ""));

  const HITS: [what: string, hit: (jail: number) => void][] = [
    ["is stopped", (jail) => signal(jail, "SIGSTOP")],
    ["is killed", (jail) => signal(jail, "SIGKILL")],
    ["is stopped, and what is in it killed", (jail) => [signal(jail, "SIGSTOP"), ...below(jail).map((pid) => signal(pid, "SIGKILL"))]],
  ];
  test.each(HITS)(
    "%s: the script continues, and nothing is left behind",
    async (_, hit) => {
      const others = below(process.pid);
      const own = () => below(process.pid).filter((pid) => !others.includes(pid));
      // What it leaves to the next sandbox is ended at once.
      const box = createSandbox({ slots: 1, idleMs: 1 });
      let pids: number[] = [];
      const answer = ({ params }: { params: string }) => {
        const { x } = JSON.parse(params);
        if (x === 20) {
          pids = own();
          for (const jail of pids.filter((pid) => !pids.some((other) => below(other).includes(pid)))) hit(jail);
        }
        return { kind: "value", json: String(x), now: 1 };
      };
      const outcome = await runScript(box, LOOP, { answer });
      expect(outcome.result, JSON.stringify(outcome.end)).toBe(1770);
      expect(pids.length).toBeGreaterThan(1);
      await box.close();
      await expectGone([...pids, ...own()]);
    },
    120_000,
  );
});

test("a script that crashes each of its children at one place fails with SANDBOX_CRASHED, and the pool serves the next one", async () => {
  let crashes = 0;
  const crashing = setInterval(() => {
    // As native code dies.
    if (seen.length > 0) for (const pid of victims("script")) crashes += Number(signal(pid, "SIGSEGV"));
  }, 50);
  const seen: string[] = [];
  const boom = await runScript(sandbox, "echo(1);\nfor (;;);", {
    answer: ({ params }) => void seen.push(params),
    limits: { cpu_ms: 60_000, wall_ms: 60_000 },
  });
  clearInterval(crashing);
  expect(boom.end).toMatchObject({ kind: "failed", error: { code: "SANDBOX_CRASHED", message: expect.stringContaining("after call 1") } });
  expect(seen).toHaveLength(1);
  expect(crashes).toBeGreaterThan(2);
  expect((await runScript(sandbox, "echo(7)")).result).toBe(7);
});

test("a host that was suspended for longer than any limit ends no script, compiler or checker because of it", async () => {
  const module = (path: string) => JSON.stringify(new URL(path, import.meta.url).href);
  const code = `import { createSandbox } from ${module("../../runtime/sandbox/pool.ts")}; import { runScript } from ${module("corpus.ts")};
    import { typecheck } from ${module("../../runtime/change/checks/typecheck.ts")};
    const box = createSandbox({ slots: 2 });
    const say = (word) => process.stdout.write(word + " ");
    for (let i = 0; i < 40; i++) {
      if (i === 1) say("up");
      const { status, code } = await runScript(box, "let n = " + i + ";\\nfor (let i = 0; i < 1e6; i++) n += i;\\necho(n)", {});
      const found = await typecheck([{ file: "agents/a.ts", source: "const a: string = " + i + ";" }], "");
      if (status !== "done" || found[0]?.code !== "SCRIPT_TYPES" || !/assignable/.test(found[0].message)) say(JSON.stringify([status, code, found]));
    }
    say("over");
    await box.close();`;
  const host = spawn(process.execPath, ["--input-type=module", "-e", code], { stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  host.stdout.on("data", (text) => (said += text));
  host.stderr.on("data", (text) => (said += text));
  const ended = new Promise((resolve) => host.once("exit", resolve));
  while (!said.includes("up")) await sleep(5);
  // Longer than a script's wall limit; the compilers' are longer and counted the same way.
  for (const everybody of [true, false]) {
    await sleep(60);
    const pids = [host.pid ?? 0, ...(everybody ? below(host.pid ?? 0) : [])];
    for (const pid of pids) signal(pid, "SIGSTOP");
    await sleep(LONG ? 13_000 : 3500);
    for (const pid of pids.reverse()) signal(pid, "SIGCONT");
  }
  expect([await ended, said]).toEqual([0, "up over "]);
});
