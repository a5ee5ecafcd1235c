/**
 * Takes back a write that is still in effect (`undo:` of its tool in trust.yaml): an agent with its input, started as a
 * run of its own that asks at its own gate, so that a compensation is approved, recorded and verified like any other act.
 */
import { toWire } from "../../kernel/errors.ts";
import type { Json, VerifiedWrite } from "../../kernel/ports.ts";
import type { StepContext } from "../../kernel/primitive.ts";
import { hasChanged } from "./compare.ts";
import { fieldNamed, isObject } from "./shape.ts";

type Undo = NonNullable<VerifiedWrite["undo"]>;
type Servers = Readonly<Record<string, { tools: Readonly<Record<string, { undo?: Undo | undefined }>> }>>;

/** A write that may have happened, with its undo: a value `$x` is field x of the record as read back, else parameter x of the call. */
export function withUndo(servers: Servers, write: VerifiedWrite): VerifiedWrite {
  const slash = write.tool.indexOf("/");
  const undo = servers[write.tool.slice(0, slash)]?.tools[write.tool.slice(slash + 1)]?.undo;
  const records = [write.before, write.after].map((one) => (isObject(one) ? one : null));
  const nothing = write.status === "MISMATCH" && !hasChanged(records[0] ?? null, records[1] ?? null);
  if (undo === undefined || write.status === "WRITE_FAILED" || nothing) return write;
  const known = [write.after, write.params].filter(isObject);
  const value = (name: string): Json => known.map((one) => fieldNamed(one, [name])).find((one) => one !== undefined) ?? null;
  const fill = (_: string, one: Json): Json => (typeof one === "string" && one.startsWith("$") ? value(one.slice(1)) : one);
  return { ...write, undo: JSON.parse(JSON.stringify(undo), fill) as Undo };
}

/** Starts the undo of these writes, last first; a repeat starts nothing more. Returns a line for each. */
export async function takeBack({ ports, run, now }: Pick<StepContext, "ports" | "run" | "now">, writes: readonly VerifiedWrite[]) {
  const lines: string[] = [];
  for (const [i, { tool, undo }] of [...writes.entries()].reverse()) {
    if (undo === undefined) continue;
    const once = { ...undo, at: now, key: `undo ${run.id}/${i}`, by: run.id };
    const asked = ports.notices.schedule(once, { live: run.mode === "live" });
    const asks = (created: boolean) => (created ? "asks" : "was asked before");
    const found = (one: { run: string; created: boolean }) => `${one.run} (${undo.agent}) ${asks(one.created)} to take back ${tool}`;
    lines.push(await asked.then(found, (error) => `${undo.agent} could not be started to take back ${tool}: ${toWire(error).message}`));
  }
  return lines;
}
