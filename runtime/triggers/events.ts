/** Events: what a committed run emitted starts the agents that listen, once each, with their own rights. */
import { ClearedError } from "../errors.ts";
import type { Cause, Json } from "../ports.ts";
import type { Header } from "../sandbox/header.ts";
import { listensTo } from "./listens.ts";

export interface EventPorts {
  agents(): Promise<{ name: string; blob: string; header: Header | null }[]>;
  start(agent: string, options: { cause: Cause; input: Json }): Promise<{ id: string; created: boolean }>;
  /** Emitted and not yet delivered, oldest first. */
  emitted(): { key: string; run: string; event: string; payload: Json }[];
  takeEmitted(key: string): void;
  cause(run: string): Promise<Cause | null>;
  note(message: string): void;
}

// Two agents that answer each other's events would go on for ever; no business process is this long.
const LONGEST_CHAIN = 32;

/** Starts the listeners of everything emitted so far. A crash in between starts nothing twice: the emission's key is the run's. */
export async function deliverEvents(ports: EventPorts): Promise<void> {
  const emitted = ports.emitted();
  if (emitted.length === 0) return;
  const agents = await ports.agents();
  for (const one of emitted) {
    const chain = 1 + chainOf(await ports.cause(one.run));
    for (const { name, header } of agents) {
      if (!listensTo(header, "event") || header.on_event !== one.event) continue;
      if (chain > LONGEST_CHAIN) {
        ports.note(
          `Event "${one.event}" of ${one.run} does not start ${name}: it is the ${chain}th of a chain of events, and ${LONGEST_CHAIN} are the limit. Look for agents that answer each other's events.`,
        );
        continue;
      }
      try {
        await ports.start(name, {
          cause: { kind: "event", key: one.key, detail: { event: one.event, run: one.run, chain } },
          input: one.payload,
        });
      } catch (error) {
        // A payload that the listener refuses stays refused: said once, so that the events behind it are not held up.
        if (!(error instanceof ClearedError) || (error.kind !== "input" && error.kind !== "script")) throw error;
        ports.note(`Event "${one.event}" of ${one.run} does not start ${name}: ${error.message}`);
      }
    }
    ports.takeEmitted(one.key);
  }
}

function chainOf(cause: Cause | null): number {
  const chain = cause?.kind === "event" ? (cause.detail as { chain?: unknown } | undefined)?.chain : undefined;
  return typeof chain === "number" ? chain : 0;
}
