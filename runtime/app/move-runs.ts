/**
 * Runs that wait on older code than HEAD's, as a group: what differs, and for each whether today's code makes its recorded calls again. Looking
 * acts on nothing; only runs that are chosen move, each with who and why among its events (move-run.ts), and the others stay.
 */
import { agentFiles, closuresOf, reachedOf } from "../change/checks/reached.ts";
import { inSlots } from "../change/evidence/slots.ts";
import { ClearedError } from "../kernel/errors.ts";
import { codeOf, differing } from "../change/evidence/code.ts";
import type { RunRecord } from "../kernel/ports.ts";
import { agentFile } from "../workspace/layout.ts";
import type { Host } from "./host.ts";
import { createMemo } from "./memo.ts";
import { migrateRun } from "./move-run.ts";
import { execSource } from "./source.ts";

export interface Movable extends Pick<RunRecord, "agent" | "reason" | "waitsFor" | "notBefore"> {
  run: string;
  from: string;
  to: string;
  /** Files that it runs with and that are others at HEAD. */
  differs: string[];
  /** True when it can move, or has moved. */
  moves: boolean;
  /** Recorded steps that HEAD's code makes again, or null. */
  steps: number | null;
  /** The first step where HEAD's code parts, or what else keeps the run where it is. */
  why: string | null;
}

export interface Group {
  agent?: string;
  /** These alone; all that wait on older code unless told. */
  runs?: readonly string[];
  by: string | null;
  reason: string;
  /** Only look. */
  dryRun: boolean;
}

/** Oldest first. With `dryRun` each is only proven; else those that can move have moved. @throws RUN_UNKNOWN */
export async function migrateRuns(host: Host, group: Group): Promise<Movable[]> {
  const { by, reason, dryRun } = group;
  const waiting = await waitingOn(host, group);
  const older = await olderThanHead(host, waiting);
  const move = async ({ run, differs, to }: Older): Promise<Movable> => {
    const { id, agent, waitsFor, notBefore, pin } = run;
    const told = {
      run: id,
      agent,
      reason: run.reason,
      waitsFor,
      ...(notBefore === undefined ? {} : { notBefore }),
      from: pin.commit,
      to,
      differs,
    };
    try {
      const { steps } = await migrateRun(host, { run: id, to, by, reason, dryRun });
      return { ...told, moves: true, steps, why: null };
    } catch (error) {
      if (!(error instanceof ClearedError) || error.kind === "internal" || error.kind === "external") throw error;
      return { ...told, moves: false, steps: null, why: (error.data?.["findings"] as string[] | undefined)?.[0] ?? error.message };
    }
  };
  return inSlots(older, host.trust.sandbox.slots, move);
}

/** Waiting runs, and those that open later: nobody executes them now. */
async function waitingOn(host: Host, { agent, runs }: Group): Promise<RunRecord[]> {
  if (runs !== undefined) {
    const found = await Promise.all(runs.map((id) => host.engine.get(id)));
    const unknown = runs.find((_, n) => found[n] === null);
    if (unknown !== undefined) throw new ClearedError("RUN_UNKNOWN", `There is no run "${unknown}". \`cleared runs\` lists them.`);
    return found.flatMap((run) => (run === null ? [] : [run]));
  }
  const open = await host.engine.list({ status: ["waiting", "queued"], limit: 100_000, ...(agent === undefined ? {} : { agent }) });
  const now = host.clock.now();
  return open
    .filter((run) => run.mode === "live" && run.reason !== "slow_call" && (run.status === "waiting" || (run.notBefore ?? now) > now))
    .filter((run) => execSource(run.cause) === null)
    .reverse();
}

interface Older {
  run: RunRecord;
  to: string;
  differs: string[];
}

/** Runs for which something that they run with is another at HEAD. */
async function olderThanHead(host: Host, runs: readonly RunRecord[]): Promise<Older[]> {
  const to = await host.git.head();
  const head = host.git.tree(to);
  const registry = await host.registry.whole();
  const closures = await closuresOf(head, await agentFiles(head), { sandbox: host.sandbox, names: registry.names() });
  const now = await codeOf(head);
  const since = createMemo<Promise<string[]>>();
  const differs = ({ agent, pin }: RunRecord) =>
    since(`${pin.commit} ${agent}`, async () => {
      const file = agentFile(agent);
      // An agent that is gone is in no closure; of the rest, a change counts where it is reached.
      return differing(await codeOf(host.git.tree(pin.commit)), now).filter(
        (path) => path === file || reachedOf(closures, [path], registry).includes(file),
      );
    });
  const older = await Promise.all(runs.map(async (run) => ({ run, to, differs: await differs(run) })));
  return older.filter((one) => one.differs.length > 0);
}
