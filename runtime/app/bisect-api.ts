/** `cleared bisect` on a host: the search, and the proposal that the commit it finds applied. */
import { type Bisection, bisect } from "../change/evidence/bisect.ts";
import { withRecordings } from "./check-api.ts";
import type { Host } from "./host.ts";

export interface Bisected extends Bisection {
  /** What the commit applied: the proposal's id, and its number where this workspace's store has its card. */
  proposal: { id: string; number: number | null } | null;
}

/** @throws RUN_UNKNOWN, RUN_STATUS, JOURNAL_ENTRY_MISSING, USAGE */
export async function bisectRun(host: Host, name: string): Promise<Bisected> {
  const { progress } = host;
  return withRecordings(host, async (bench) => {
    try {
      const found = await bisect(name, bench, (done, total) => void (progress.tried = { done, total }));
      const id = found.verdict === "found" ? found.commits[0]?.trailers["Proposal"] : undefined;
      const card = bench.cards.list({ kind: "proposal" }).find(({ body }) => (body as { proposal?: string }).proposal === id);
      return { ...found, proposal: id === undefined ? null : { id, number: card?.id ?? null } };
    } finally {
      delete progress.tried;
    }
  });
}
