/**
 * What a synthesized tool costs: 500 calls from one run, against 500 calls of a function the host answers at once, in turns; and a
 * script that calls three tools by turns. Run: node bench/tools.ts.
 */
import type { Compiled, Job, Limits } from "../runtime/kernel/ports.ts";
import { createSandbox } from "../runtime/sandbox/pool.ts";

const CALLS = 500;
const ROUNDS = 7;
const LIMITS: Limits = {
  memory_mb: 64,
  cpu_ms: 5000,
  wall_ms: 20_000,
  calls: 10_000,
  call_bytes: 1 << 20,
  answer_bytes: 1 << 20,
  total_bytes: 64 << 20,
  source_bytes: 65_536,
};

const sandbox = createSandbox({ slots: 1 });
const names = ["compute_a", "compute_b", "compute_c"];
const compile = async (source: string, file: string): Promise<Compiled> => {
  const { compiled, findings } = await sandbox.compile(source, { file, blob: source + file, lint: true, primitives: names });
  if (compiled === null) throw new Error(JSON.stringify(findings));
  return compiled;
};
const job = (main: Compiled, input: string, call: Job["call"]): Job => ({
  main,
  scripts: {},
  primitives: Object.fromEntries(names.map((name) => [name, null])),
  input,
  seed: "bench",
  startedAt: 0,
  history: [],
  limits: LIMITS,
  call,
});
const nothing: Job["call"] = () => Promise.resolve({ kind: "suspend" });
const tools = Object.fromEntries(
  await Promise.all(
    names.map(
      async (name) =>
        [name, await compile("({ result: new Decimal(input.rate).times(3).toFixed(2) })", `scripts/tools/${name}.ts`)] as const,
    ),
  ),
);
const one = await compile(`for (let i = 0; i < ${CALLS}; i++) compute_a({ rate: "28.00" });`, "agents/one.ts");
const turns = await compile(
  `for (let i = 0; i < ${CALLS}; i += 3) { compute_a({ rate: "1" }); compute_b({ rate: "1" }); compute_c({ rate: "1" }); }`,
  "agents/turns.ts",
);

const plain: Job["call"] = () => Promise.resolve({ kind: "value", json: '{"result":"84.00"}', now: 0 });
const tool: Job["call"] = async ({ name, params }) => {
  const main = tools[name];
  if (main === undefined) throw new Error(`no tool ${name}`);
  const end = await sandbox.executeBeside({ ...job(main, params, nothing), primitives: {}, sealed: true }, 0);
  if (end.kind !== "result") throw new Error(JSON.stringify(end));
  return { kind: "value", json: end.json, now: 0 };
};
const us = async (script: Compiled, call: Job["call"]): Promise<number> => {
  const start = performance.now();
  const end = await sandbox.execute(job(script, "{}", call));
  if (end.kind !== "result") throw new Error(JSON.stringify(end));
  return ((performance.now() - start) / CALLS) * 1000;
};
const measured: Record<string, number[]> = { "host function": [], tool: [], "three tools by turns": [] };
for (let i = 0; i < ROUNDS; i++) {
  measured["host function"]?.push(await us(one, plain));
  measured["tool"]?.push(await us(one, tool));
  measured["three tools by turns"]?.push(await us(turns, tool));
}
for (const [what, values] of Object.entries(measured)) {
  const sorted = values.sort((a, b) => a - b);
  console.log(`${what.padEnd(22)} ${sorted[ROUNDS >> 1]?.toFixed(0)} us a call (${sorted[0]?.toFixed(0)}..${sorted.at(-1)?.toFixed(0)})`);
}
const [base = 0, cost = 0] = [measured["host function"]?.[ROUNDS >> 1], measured["tool"]?.[ROUNDS >> 1]];
console.log(`a tool costs ${(cost - base).toFixed(0)} us more than a function of the host; wanted: 200`);
await sandbox.close();
