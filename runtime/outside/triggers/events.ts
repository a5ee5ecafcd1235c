/** Events: what a committed run emitted starts the listening agents, once each, with their own rights. */
import type { Database } from "../../engine/store/database.ts";
import { pauseOf } from "../../engine/store/pauses.ts";
import { ClearedError } from "../../kernel/errors.ts";
import type { Cause, Json, RunSpec } from "../../kernel/ports.ts";
import type { Header } from "../../scripts/header.ts";
import { IMPORT } from "../../workspace/layout.ts";

/** What triggers need to start runs. */
export interface StartPorts {
  database: Database;
  now(): number;
  agents(): Promise<{ name: string; blob: string; header: Header | null }[]>;
  start(agent: string, options: Pick<RunSpec, "cause" | "input" | "doubted" | "elsewhere">): Promise<{ id: string; created: boolean }>;
  note(message: string): void;
}

/** The script or its input is refused, and would be every time: reported once, so that later events are not held up. */
export const isRefusal = (error: unknown): error is ClearedError =>
  error instanceof ClearedError && (error.kind === "input" || error.kind === "script");

export interface EventPorts extends Omit<StartPorts, "now"> {
  /** Emitted and not yet delivered, oldest first. */
  emitted(): { key: string; run: string; event: string; payload: Json; doubted: boolean }[];
  takeEmitted(key: string): void;
  cause(run: string): Promise<Cause | null>;
}

// Two agents that answer each other's events would continue forever; no business process is this long.
const LONGEST_CHAIN = 32;

/**
 * Starts the listeners of everything emitted so far. An event stays in the outbox for listeners that are paused; `served` records who has
 * received it. Returns whether anything was started. A crash in between starts nothing twice: the run's key is the emission's.
 */
export async function deliverEvents(ports: EventPorts, served = new Set<string>()): Promise<boolean> {
  const emitted = ports.emitted();
  if (emitted.length === 0) return false;
  let moved = false;
  const agents = await ports.agents();
  for (const one of emitted) {
    const listeners = agents.filter(({ header }) => listensTo(header, "event") && header.on_event === one.event);
    const free = listeners.filter(({ name }) => pauseOf(ports.database, name) === null);
    const held = free.length < listeners.length;
    const fresh = free.filter(({ name }) => !served.has(`${name} ${one.key}`));
    const chain = fresh.length === 0 ? 0 : 1 + chainOf(await ports.cause(one.run));
    moved ||= !held || fresh.length > 0;
    for (const { name } of fresh) {
      try {
        if (chain > LONGEST_CHAIN)
          ports.note(
            `Event "${one.event}" of ${one.run} does not start ${name}: it is the ${chain}th of a chain of events, and ${LONGEST_CHAIN} are the limit. Look for agents that answer each other's events.`,
          );
        else
          await ports.start(name, {
            cause: { kind: "event", key: one.key, detail: { event: one.event, run: one.run, chain } },
            input: one.payload,
            doubted: one.doubted,
          });
      } catch (error) {
        if (!isRefusal(error)) throw error;
        ports.note(`Event "${one.event}" of ${one.run} does not start ${name}: ${error.message}`);
      }
      if (held) served.add(`${name} ${one.key}`);
    }
    if (!held) ports.takeEmitted(one.key);
  }
  return moved;
}

function chainOf(cause: Cause | null): number {
  const chain = cause?.kind === "event" ? (cause.detail as { chain?: unknown } | undefined)?.chain : undefined;
  return typeof chain === "number" ? chain : 0;
}

export function listensTo(header: Header | null, trigger: string): header is Header {
  return header !== null && (header.trigger as readonly string[]).includes(trigger);
}

/** The folder that an agent watches, with one slash at its end. */
export function watchedFolder(header: Header): string {
  return `${(header.watch ?? IMPORT).replace(/\/+$/, "")}/`;
}
