/**
 * Commits that waiting runs stand on are held by refs, so that no garbage collection of git takes a run's script away when the user
 * has dropped the commit from the branch. A pin is set when a run begins to wait and dropped when nothing waits on it any more.
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
  /** What another git holds up is tried again the next time. What git has lost cannot be held; the run itself says so when it goes on. */
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
      // A kill may have come between the wait and its pin.
      for (const commit of needed) if (!held.has(commit)) missing.add(commit);
      await settle([...held].filter((commit) => !needed.has(commit)));
    },
  };
}
