/**
 * Pausing agents by hand, one or all. Written directly into the store, whoever owns the workspace: a pause waits for nothing, not even for a
 * running command, and running executions read the store before each act. Resuming is done by the owner, which executes what waited.
 */
import { beginPause, endPauses, openPauses, pauseWords } from "../engine/store/pauses.ts";
import { ClearedError, amongThese } from "../kernel/errors.ts";
import type { Pause, PausesBeside } from "../kernel/ports.ts";
import { keepFor, keptAt } from "../workspace/own-folders.ts";
import type { Host } from "./host.ts";

type Named = Pick<Host, "agents" | "engine" | "database" | "clock">;

/** Open pauses in the user's state folder, for whatever workspace is at this path: one whose id is lost with its store stays paused. */
export const pausesBeside = (dir: string): PausesBeside => ({
  read: () => keptAt<{ open: Pause[] }>("paused", dir)?.open ?? [],
  write: (open) => keepFor("paused", dir, { open }),
});

/**
 * `agent` null: all agents. `known`: it was already paused. `underWay`: executing runs, which stop before their next act outside or commit.
 * @throws AGENT_UNKNOWN
 */
export async function pauseAgents(host: Named, given: { agent: string | null; by: string | null; reason: string }) {
  if (given.agent !== null) await needAgent(host, given.agent);
  const wanted: Pause = { ...given, at: host.clock.now() };
  const before = beginPause(host.database, wanted);
  const running = await host.engine.list({ status: ["running"], limit: 1000, ...(given.agent === null ? {} : { agent: given.agent }) });
  return { pause: before ?? wanted, known: before !== null, underWay: running.filter((run) => run.mode === "live").length };
}

/**
 * Ends the pause of one agent, or with null all pauses. Returns the paused runs that are queued again, and the pauses that remain.
 * @throws AGENT_UNKNOWN, RUN_PAUSED if only the pause of all agents holds this one
 */
export async function resumeAgents(host: Named, { agent, by }: { agent: string | null; by: string | null }) {
  const open = openPauses(host.database);
  const all = open.find((one) => one.agent === null);
  if (agent !== null && !open.some((one) => one.agent === agent)) {
    await needAgent(host, agent);
    if (all !== undefined) throw new ClearedError("RUN_PAUSED", `${agent} is not paused individually. ${pauseWords(all)}.`);
  }
  const { ended, runs } = endPauses(host.database, agent, by, host.clock.now());
  // They were queued in the store only; retrying the first wakes the executor.
  if (runs[0] !== undefined) await host.engine.retry(runs[0]);
  return { ended, runs, still: openPauses(host.database) };
}

/** An agent at HEAD, or a removed one that still has runs. */
async function needAgent({ agents, engine }: Named, name: string): Promise<void> {
  const names = (await agents()).map((one) => one.name);
  if (names.includes(name) || (await engine.list({ agent: name, limit: 1 })).length > 0) return;
  throw new ClearedError("AGENT_UNKNOWN", `There is no agent "${name}" to pause or resume.${amongThese(name, names)}`);
}
