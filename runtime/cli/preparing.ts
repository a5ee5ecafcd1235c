/** A host as the preparation of proposals sees it: the same ports, with the next tick of a schedule and a count of what is tried. */
import { join } from "node:path";
import { type Preparing, prepare } from "../proposals/prepare.ts";
import type { Proposal } from "../proposals/types.ts";
import { createDiskCache } from "../sandbox/disk-cache.ts";
import { nextTick } from "../triggers/cron.ts";
import { CACHE } from "../workspace/layout.ts";
import { subjectOf } from "./check-api.ts";
import type { Host } from "./host.ts";

/** Checks a proposal on HEAD, in this process: it is ready or blocked afterwards. @throws PROPOSAL_UNKNOWN, PROPOSAL_STATE */
export async function prepareProposal(host: Host, id: string | number): Promise<Proposal> {
  const cache = createDiskCache(join(host.dir, CACHE));
  const world: Preparing = {
    ...host,
    around: { sandbox: host.sandbox, registry: host.registry, trust: host.trust, cache, nextTick },
    subject: (base, tree, paths) => subjectOf(host, base, tree, paths),
    progress: (done, total) => void (host.progress.tried = { done, total }),
  };
  try {
    return await prepare(world, id);
  } finally {
    delete host.progress.tried;
  }
}
