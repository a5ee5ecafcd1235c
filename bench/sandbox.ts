/**
 * Numbers of the sandbox door, medians in ms or us: warm start, one call, one replayed step, 50,000 rows through the door; and what the
 * jail around a child costs: a cold start with it and without, taken by turns, and a call.
 * Run: node bench/sandbox.ts. Own loop, fixed counts; the machine's load is printed because it moves everything.
 */
import { cpus, loadavg } from "node:os";
import type { Compiled, Job, Limits, Served } from "../runtime/kernel/ports.ts";
import { TOOLS } from "../runtime/sandbox/jail.ts";
import { createSandbox } from "../runtime/sandbox/pool.ts";
import { scriptChild, spawnChild } from "../runtime/sandbox/spawn.ts";

const LIMITS: Limits = {
  memory_mb: 64,
  cpu_ms: 5000,
  wall_ms: 10_000,
  calls: 250_000,
  call_bytes: 4 << 20,
  answer_bytes: 32 << 20,
  total_bytes: 256 << 20,
  source_bytes: 65_536,
};
const STEPS = 2000;

const median = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1] ?? 0;

for (const jit of [false, true]) {
  const target = jit ? { warm: 3, call: 100, replay: 20 } : { warm: 5, call: 120, replay: 25 };
  const sandbox = createSandbox({ slots: 1, jit });
  const compile = async (source: string): Promise<Compiled> => {
    const { compiled, findings } = await sandbox.compile(source, {
      file: "agents/bench.ts",
      blob: source,
      lint: true,
      primitives: ["echo", "rows", "add"],
    });
    if (compiled === null) throw new Error(JSON.stringify(findings));
    return compiled;
  };
  const job = (main: Compiled, history: Served[], answer: (name: string, params: string) => string): Job => ({
    main,
    scripts: {},
    primitives: { echo: "x", rows: null, add: "entries" },
    input: "{}",
    seed: "bench",
    startedAt: 0,
    history,
    limits: LIMITS,
    call: (call) => Promise.resolve({ kind: "value", json: answer(call.name, call.params), now: call.seq }),
  });
  const echo = (_: string, params: string) => JSON.stringify((JSON.parse(params) as { x: unknown }).x);
  const time = async (one: Job) => {
    const start = performance.now();
    const end = await sandbox.execute(one);
    if (end.kind !== "result") throw new Error(JSON.stringify(end));
    return { ms: performance.now() - start, cpu: end.cpuMs };
  };
  const pause = () => new Promise((resolve) => setTimeout(resolve, 12));

  const tiny = await compile("echo(1)");
  const loop = await compile(`let n = 0; for (let i = 0; i < ${STEPS}; i++) n += echo({ x: i }); n`);
  const history: Served[] = Array.from({ length: STEPS }, (_, i) => ({
    name: "echo",
    params: `{"x":${i}}`,
    result: `${i}`,
    error: null,
    at: i,
  }));
  const warm: number[] = [];
  const call: number[] = [];
  const replay: number[] = [];
  for (let i = 0; i < 40; i++) {
    await pause();
    warm.push((await time(job(tiny, [], echo))).ms);
  }
  for (let i = 0; i < 7; i++) {
    call.push(((await time(job(loop, [], echo))).ms * 1000) / STEPS);
    replay.push(((await time(job(loop, history, echo))).ms * 1000) / STEPS);
  }

  const rows = JSON.stringify(
    Array.from({ length: 50_000 }, (_, i) => ({
      id: `r${i}`,
      date: "2026-01-02",
      description: `COFFEE SHOP ${i}`,
      raw_description: `COFFEE SHOP  ${i} NYC`,
      amount: "-4.50",
      currency: "USD",
      reference: `REF${i}`,
      type: "DEBIT",
      account: "1010",
      balance: "100.00",
    })),
  );
  const wide = await compile(`let sent = 0; let batch = [];
for (const row of rows()) {
  batch.push({ date: row.date, description: row.description, reference: row.reference, amount: row.amount.replace("-", ""), debit_account: "5020",
    credit_account: row.account, currency: row.currency, status: "auto-confirmed", confidence: "0.95", key: row.id });
  if (batch.length === 1000) { sent += add({ entries: batch }); batch = []; }
}
sent`);
  const cpu: number[] = [];
  const wall: number[] = [];
  for (let i = 0; i < 5; i++) {
    const one = await time(job(wide, [], (name) => (name === "rows" ? rows : "1000")));
    cpu.push(one.cpu);
    wall.push(one.ms);
  }
  console.log(
    `${jit ? "jit    " : "jitless"}  warm start ${median(warm).toFixed(2)} ms (target ${target.warm})  call ${median(call).toFixed(0)} us (${target.call})  replay ${median(replay).toFixed(1)} us/step (${target.replay})` +
      `  50,000 rows (${(rows.length / 1e6).toFixed(1)} MB in) ${median(cpu).toFixed(0)} ms CPU, ${median(wall).toFixed(0)} ms`,
  );
  if (!jit && TOOLS.bwrap !== null) {
    const { bwrap } = TOOLS;
    // A child alone holds no process.
    const hold = setInterval(() => undefined, 1000);
    TOOLS.bwrap = null;
    const bare = createSandbox({ slots: 1, jit });
    const us = async (box: typeof sandbox) => {
      const start = performance.now();
      await box.execute(job(loop, [], echo));
      return ((performance.now() - start) * 1000) / STEPS;
    };
    const [cold, calls]: Record<"jail" | "bare", number[]>[] = [
      { jail: [], bare: [] },
      { jail: [], bare: [] },
    ];
    for (let i = 0; i < 20; i++)
      for (const way of ["jail", "bare"] as const) {
        TOOLS.bwrap = way === "jail" ? bwrap : null;
        const start = performance.now();
        const child = spawnChild(scriptChild({ jit, maxFrame: () => 1 << 20 }));
        await child.ready;
        cold?.[way].push(performance.now() - start);
        child.kill();
        await child.exited;
        if (i % 3 === 0) calls?.[way].push(await us(way === "jail" ? sandbox : bare));
      }
    const told = (all: number[] = []) => `${median(all).toFixed(0)} (least ${Math.min(...all).toFixed(0)})`;
    console.log(
      `jail     cold start ${told(cold?.jail)} ms, without ${told(cold?.bare)} (at most 20 more)  call ${told(calls?.jail)} us, without ${told(calls?.bare)}`,
    );
    TOOLS.bwrap = bwrap;
    clearInterval(hold);
    await bare.close();
  }
  await sandbox.close();
}
console.log(
  `load ${loadavg()
    .map((one) => one.toFixed(1))
    .join(" ")} on ${cpus().length} cores, node ${process.version}`,
);
