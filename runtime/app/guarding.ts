/**
 * When the guard of applied changes looks (change/proposals/guard.ts): for an owner after runs have ended and once a minute, for a command that
 * has executed runs once at its end. Looks never overlap.
 */
import type { Host } from "./host.ts";

const EVERY_MS = 60_000;
// Runs that end together are looked at together.
const SOON_MS = 1000;

/** Looks until stopped. `rested`: a run has ended. */
export function keepGuarding(host: Host, note: (message: string) => void, onError: (error: unknown) => void) {
  let due = true;
  let lookedAt = performance.now();
  let busy: Promise<void> | null = null;
  const guard = import("../change/proposals/guard.ts").then(({ createGuard }) => createGuard(host));
  const look = async (): Promise<void> => {
    for (const said of await (await guard).look()) note(said);
  };
  const timer = setInterval(() => {
    if (busy !== null || (!due && performance.now() - lookedAt < EVERY_MS)) return;
    due = false;
    lookedAt = performance.now();
    busy = look()
      .catch(onError)
      .finally(() => {
        busy = null;
      });
  }, SOON_MS);
  return {
    rested(): void {
      due = true;
    },
    async stop(): Promise<void> {
      clearInterval(timer);
      await busy;
    },
  };
}

/** One look, where any proposal has been decided. */
export async function guardOnce(host: Host, note: (message: string) => void): Promise<void> {
  if (host.database.get("SELECT 1 FROM cards WHERE kind = 'proposal' AND decision IS NOT NULL LIMIT 1") === undefined) return;
  const { createGuard } = await import("../change/proposals/guard.ts");
  for (const said of await createGuard(host).look()) note(said);
}
