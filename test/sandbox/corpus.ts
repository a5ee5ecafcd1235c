/** Runs one script of a corpus in a sandbox: header `expect: {status, code? | result?}`, the plugin primitive `echo(x)`, recorded calls. */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import type { Compiled, DoorCall, Finding, JobEnd, Json, Limits, Sandbox, Served } from "../../runtime/kernel/ports.ts";

export const LIMITS: Limits = {
  memory_mb: 64,
  cpu_ms: 1000,
  wall_ms: 2500,
  calls: 10_000,
  call_bytes: 4 << 20,
  answer_bytes: 32 << 20,
  total_bytes: 256 << 20,
  source_bytes: 65_536,
};
export const PRIMITIVES = { echo: "x", ctx_log: "message", script_run: null } as const;

export interface Expectation {
  status: "done" | "failed";
  /** A list where the machine decides which limit is met first. */
  code?: string | string[];
  result?: Json;
}

export interface Outcome {
  status: string;
  code?: string;
  result?: Json;
  history: Served[];
  end: JobEnd | null;
  findings: Finding[];
}

export function corpus(folder: string): { name: string; source: string; expect: Expectation }[] {
  const files = readdirSync(folder)
    .filter((name) => name.endsWith(".ts"))
    .sort();
  return files.map((name) => {
    const source = readFileSync(join(folder, name), "utf8");
    const header = parse(/^\s*\/\*([\s\S]*?)\*\//.exec(source)?.[1] ?? "") as { expect: Expectation };
    return { name, source, expect: header.expect };
  });
}

export async function runScript(
  sandbox: Sandbox,
  source: string,
  options: {
    name?: string;
    lint?: boolean;
    history?: readonly Served[];
    limits?: Partial<Limits>;
    scripts?: Record<string, Compiled>;
    input?: Json;
    answer?: (call: DoorCall) => unknown;
    abort?: AbortSignal;
    sealed?: true;
    places?: true;
    primitives?: Record<string, string | null>;
  } = {},
): Promise<Outcome> {
  const name = options.name ?? "agents/test.ts";
  const { compiled, findings } = await sandbox.compile(source, {
    file: name,
    blob: source,
    lint: options.lint ?? false,
    primitives: Object.keys(PRIMITIVES),
  });
  const history: Served[] = [...(options.history ?? [])];
  if (compiled === null) return { status: "failed", ...(findings[0] && { code: findings[0].code }), history, end: null, findings };
  const end = await sandbox.execute({
    main: compiled,
    scripts: options.scripts ?? {},
    primitives: options.primitives ?? PRIMITIVES,
    input: JSON.stringify(options.input ?? {}),
    seed: "run_1",
    startedAt: Date.UTC(2026, 10, 6),
    history: options.history ?? [],
    limits: { ...LIMITS, ...options.limits },
    ...(options.abort && { abort: options.abort }),
    ...(options.sealed && { sealed: true }),
    ...(options.places && { places: true }),
    async call(call) {
      const custom = options.answer?.(call);
      if (custom !== undefined) return custom as never;
      const params = JSON.parse(call.params) as { x?: Json };
      const json = call.name === "echo" ? JSON.stringify(params.x ?? null) : "null";
      const now = Date.UTC(2026, 10, 6) + call.seq * 1000;
      history.push({ name: call.name, params: call.params, result: json, error: null, at: now });
      return { kind: "value", json, now };
    },
  });
  if (end.kind === "result") return { status: "done", result: JSON.parse(end.json) as Json, history, end, findings };
  return { status: end.kind, ...(end.kind === "failed" && { code: end.error.code }), history, end, findings };
}

/** True when the outcome is what the header says. */
export function fits(outcome: Outcome, expect: Expectation): boolean {
  if (outcome.status !== expect.status) return false;
  if (expect.status === "done") return JSON.stringify(outcome.result) === JSON.stringify(expect.result ?? null);
  return expect.code === undefined || [expect.code].flat().includes(outcome.code ?? "");
}
