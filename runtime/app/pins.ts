/**
 * Commits that waiting runs depend on are held by refs, so that git's garbage collection does not remove a script after its commit was dropped
 * from the branch. A ref is created when a run begins to wait and removed when no run depends on it any more.
 */
import { getFact, setFact } from "../engine/store/facts.ts";
import { ClearedError } from "../kernel/errors.ts";
import type { Database } from "../engine/store/database.ts";
import { pinnedCommits } from "../engine/store/run-queries.ts";
import type { Git, RunRecord } from "../kernel/ports.ts";

const PINS = "pins";

export function createPins(database: Database, git: Git) {
  const held = new Set<string>(JSON.parse(getFact(database, PINS) ?? "[]") as string[]);
  const missing = new Set<string>();
  /** If another git process is in the way, it is tried again next time. A lost commit cannot be held; the run reports it when it continues. */
  const settle = async (dropped: readonly string[]) => {
    const before = [...held].join();
    const kept = (error: unknown) => error instanceof ClearedError && error.data?.["lock"] !== undefined;
    for (const commit of dropped)
      await git.unpin(commit).then(
        () => held.delete(commit),
        () => undefined,
      );
    for (const commit of [...missing])
      await git.pin(commit).then(
        () => held.add(commit) && missing.delete(commit),
        (error) => kept(error) || missing.delete(commit),
      );
    if ([...held].join() !== before) setFact(database, PINS, JSON.stringify([...held]));
  };
  return {
    async note(run: RunRecord): Promise<void> {
      if (run.status === "waiting" && !held.has(run.pin.commit)) missing.add(run.pin.commit);
      if (missing.size > 0) await settle([]);
    },
    async sweep(): Promise<void> {
      const needed = new Set(pinnedCommits(database));
      // A kill may have happened between the start of the wait and its ref.
      for (const commit of needed) if (!held.has(commit)) missing.add(commit);
      await settle([...held].filter((commit) => !needed.has(commit)));
    },
  };
}
