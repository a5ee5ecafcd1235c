/** Replay, divergence, suspend, limits, sub-scripts and the life of the children, through the public entry. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { createSandbox } from "../../runtime/sandbox/pool.ts";
import { below, commandOf, expectGone } from "../kill/processes.ts";
import { runScript } from "./corpus.ts";

const sandbox = createSandbox({ slots: 2 });
afterAll(() => sandbox.close());

const THREE = 'const a = echo(1);\nconst b = echo({ x: [a, "two"] });\necho({ x: { b, t: Date.now(), r: Math.random() } })';

describe("replay", () => {
  test("a replayed run gives the same result, clock and random numbers without asking the host", async () => {
    const live = await runScript(sandbox, THREE);
    const asked: number[] = [];
    const again = await runScript(sandbox, THREE, { history: live.history, answer: (call) => void asked.push(call.seq) });
    expect(again.result).toEqual(live.result);
    expect(asked).toEqual([]);
  });

  test("a run continues live after its recorded prefix, with the next index", async () => {
    const live = await runScript(sandbox, THREE);
    const asked: unknown[] = [];
    const again = await runScript(sandbox, THREE, {
      history: live.history.slice(0, 2),
      places: true,
      answer: (call) => void asked.push([call.seq, call.at?.line]),
    });
    expect(again.result).toEqual(live.result);
    expect(asked).toEqual([[2, 3]]);
  });

  test("parameters that differ only in the order of keys are the same call", async () => {
    const history = [{ name: "echo", params: '{"x":{"b":2,"a":1}}', result: '"old"', error: null, at: 1 }];
    expect((await runScript(sandbox, "echo({ x: { a: 1, b: 2 } })", { history })).result).toBe("old");
  });

  test("a recorded error is thrown again, with its code and the line of the call", async () => {
    const history = [
      { name: "echo", params: '{"x":1}', result: null, error: { code: "ACCOUNT_UNKNOWN", message: "No account 9." }, at: 1 },
    ];
    const { end } = await runScript(sandbox, "const a = 1;\necho(a)", { history });
    expect(end).toMatchObject({
      kind: "failed",
      error: { code: "ACCOUNT_UNKNOWN", message: "No account 9.", at: { file: "agents/test.ts", line: 2, col: 1 } },
    });
  });
});

describe("divergence", () => {
  const history = [{ name: "echo", params: '{"x":1}', result: "1", error: null, at: 1 }];
  test("a call other than the recorded one is reported with both sides and its place", async () => {
    const { end } = await runScript(sandbox, "  echo(2)", { history });
    expect(end).toEqual({
      kind: "diverged",
      seq: 0,
      recorded: { name: "echo", params: '{"x":1}' },
      actual: { name: "echo", params: '{"x":2}' },
      at: { file: "agents/test.ts", line: 1, col: 3 },
    });
  });
  test("a script that ends before its history diverges", async () => {
    expect((await runScript(sandbox, "1", { history })).end).toMatchObject({ kind: "diverged", seq: 0, actual: null });
  });
  test("a script cannot catch a divergence", async () => {
    expect((await runScript(sandbox, "for (;;) { try { echo(2) } catch {} finally { echo(3) } }", { history })).status).toBe("diverged");
  });
});

test("a suspended script executes nothing more, not even finally, and the next run is unaffected", async () => {
  const seen: string[] = [];
  const { end } = await runScript(sandbox, 'try { echo("gate") } finally { echo("after") }', {
    answer: (call) => {
      seen.push(call.params);
      return { kind: "suspend" };
    },
  });
  expect(end).toEqual({ kind: "suspended", calls: 1 });
  expect(seen).toEqual(['{"x":"gate"}']);
  expect((await runScript(sandbox, "echo(7)")).result).toBe(7);
});

test("an error of the host ends execute with that error, and the pool stays usable", async () => {
  const failing = runScript(sandbox, "echo(1)", {
    answer: () => {
      throw new Error("fenced");
    },
  });
  await expect(failing).rejects.toThrow("fenced");
  expect((await runScript(sandbox, "echo(7)")).result).toBe(7);
});

test("an aborted run ends suspended, even while it computes", async () => {
  const abort = new AbortController();
  setTimeout(() => abort.abort(), 150);
  expect((await runScript(sandbox, "for (;;);", { abort: abort.signal })).status).toBe("suspended");
});

describe("limits", () => {
  const rows: [string, string, Parameters<typeof runScript>[2]][] = [
    ["LIMIT_CALLS", "for (let i = 0; i < 6; i++) echo(i)", { limits: { calls: 5 } }],
    ["LIMIT_BYTES", 'echo("x".repeat(200))', { limits: { call_bytes: 100 } }],
    ["LIMIT_BYTES", 'echo("ä".repeat(80))', { limits: { call_bytes: 100 } }],
    [
      "LIMIT_BYTES",
      "echo(1)",
      { limits: { answer_bytes: 100 }, answer: () => ({ kind: "value", json: JSON.stringify("y".repeat(300)), now: 1 }) },
    ],
    ["LIMIT_BYTES", 'for (let i = 0; i < 100; i++) echo("x".repeat(90))', { limits: { total_bytes: 5000 } }],
    ["LIMIT_CPU", "for (;;);", { limits: { cpu_ms: 200, wall_ms: 1500 } }],
    ["LIMIT_DEPTH", "const f = (n: number): number => f(n + 1) + 1;\nf(0)", {}],
  ];
  for (const [code, source, options] of rows) {
    test(`${code} ends ${JSON.stringify(source)}`, async () => {
      const { end } = await runScript(sandbox, source, options);
      expect(end).toMatchObject({ kind: "failed", error: { code } });
    });
  }
  test("waiting for the host costs the script nothing", async () => {
    const slow = () => new Promise((resolve) => setTimeout(() => resolve({ kind: "value", json: "5", now: 1 }), 700));
    expect((await runScript(sandbox, "echo(1)", { limits: { cpu_ms: 100, wall_ms: 300 }, answer: slow })).result).toBe(5);
  });
});

describe("sub-scripts", () => {
  const sub = async (name: string, source: string) => {
    const { compiled } = await sandbox.compile(source, {
      file: `scripts/${name}.ts`,
      blob: source,
      lint: true,
      primitives: ["echo", "script_run"],
    });
    if (compiled === null) throw new Error("sub-script does not compile");
    return compiled;
  };
  test("script_run is a recorded call, returns a copy of the result, and replays", async () => {
    const scripts = { twice: await sub("twice", "const { n } = input as { n: number };\necho(n) * 2") };
    const source =
      'const before = input;\nconst a = script_run("twice", { n: 4 });\n[a, script_run({ name: "twice", params: { n: 5 } }), before]';
    const live = await runScript(sandbox, source, { scripts, input: { main: true }, lint: true });
    expect(live.result, JSON.stringify(live.end)).toEqual([8, 10, { main: true }]);
    expect(live.history.map((step) => [step.name, step.params])).toEqual([
      ["script_run", '{"name":"twice","params":{"n":4}}'],
      ["echo", '{"x":4}'],
      ["script_run", '{"name":"twice","params":{"n":5}}'],
      ["echo", '{"x":5}'],
    ]);
    expect((await runScript(sandbox, source, { scripts, input: { main: true }, history: live.history })).result).toEqual(live.result);
  });
  test("an unknown name and endless nesting end with their codes, and errors name the sub-script's line", async () => {
    expect((await runScript(sandbox, 'script_run("none", {})')).code).toBe("SCRIPT_MISSING");
    const again = await sub("again", 'script_run("again", {})');
    expect((await runScript(sandbox, 'script_run("again", {})', { scripts: { again } })).code).toBe("LIMIT_DEPTH");
    const broken = await sub("broken", "const a: any = null;\n  a.x");
    const { end } = await runScript(sandbox, 'script_run("broken", {})', { scripts: { broken } });
    expect(end).toMatchObject({ error: { code: "SCRIPT_ERROR", at: { file: "scripts/broken.ts", line: 2, col: 5 } } });
  });
});

test("two slots run two scripts at once and a third waits its turn", async () => {
  const running: number[] = [];
  let open = 0;
  const both = Promise.withResolvers<void>();
  const slow = async () => {
    running.push(++open);
    if (open === 2) both.resolve();
    await both.promise;
    await new Promise((resolve) => setTimeout(resolve, 100));
    open--;
    return { kind: "value", json: "1", now: 1 };
  };
  await Promise.all([1, 2, 3, 4].map((n) => runScript(sandbox, `echo(${n})`, { answer: slow })));
  expect(Math.max(...running)).toBe(2);
});

test.runIf(existsSync("/proc"))(
  "no child outlives a killed host, not even one that computes",
  async () => {
    const pool = fileURLToPath(new URL("../../runtime/sandbox/pool.ts", import.meta.url));
    const corpus = fileURLToPath(new URL("corpus.ts", import.meta.url));
    const code = `import { createSandbox } from ${JSON.stringify(pool)}; import { runScript } from ${JSON.stringify(corpus)};
    const box = createSandbox({ slots: 2 }); await runScript(box, "1"); console.log("up"); await runScript(box, "for (;;);", { limits: { cpu_ms: 60000, wall_ms: 60000 } });`;
    const host = spawn(process.execPath, ["--input-type=module", "-e", code], { stdio: ["ignore", "pipe", "inherit"] });
    await new Promise((resolve) => host.stdout.once("data", resolve));
    const children = below(host.pid ?? 0);
    expect(children.length).toBeGreaterThan(0);
    host.kill("SIGKILL");
    await expectGone(children);
  },
  120_000,
);

test.runIf(existsSync("/proc"))("after some idle time no child is left, and the next run starts one", async () => {
  const before = new Set(below(process.pid));
  const box = createSandbox({ slots: 2, idleMs: 100 });
  try {
    expect((await runScript(box, "echo(1)")).status).toBe("done");
    const left = () => below(process.pid).filter((pid) => !before.has(pid) && commandOf(pid).includes("child.js"));
    expect(left().length).toBeGreaterThan(0);
    for (let i = 0; i < 100 && left().length > 0; i++) await new Promise((resolve) => setTimeout(resolve, 50));
    expect(left()).toEqual([]);
    expect((await runScript(box, "echo(1)")).status).toBe("done");
  } finally {
    await box.close();
  }
});
