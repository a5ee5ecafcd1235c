/** A host as the preparation of proposals sees it: the same ports, with the next tick of a schedule and a count of what is tried. */
import { join } from "node:path";
import type { Subject } from "../change/checks/pipeline.ts";
import { type Preparing, prepare } from "../change/proposals/prepare.ts";
import type { Proposal } from "../change/proposal-types.ts";
import { createDiskCache } from "../scripts/disk-cache.ts";
import { nextTick } from "../outside/triggers/cron.ts";
import { CACHE } from "../workspace/layout.ts";
import { toWire } from "../kernel/errors.ts";
import { noteSubject, subjectOf } from "./check-api.ts";
import { signAs } from "./decide.ts";
import type { Host } from "./host.ts";

/** Checks a proposal on HEAD, in this process: it is ready or blocked afterwards. @throws PROPOSAL_UNKNOWN, PROPOSAL_STATE */
export async function prepareProposal(host: Host, id: string | number): Promise<Proposal> {
  const cache = createDiskCache(join(host.dir, CACHE));
  let looked = null as Subject | null;
  const world: Preparing = {
    ...host,
    around: { sandbox: host.sandbox, registry: host.registry, trust: host.trust, cache, nextTick },
    subject: async (base, tree, paths) => (looked = await subjectOf(host, base, tree, paths)),
    vouch: (gate) => {
      try {
        return signAs(host.dir, host.trust, { card: 0, gate, decision: "approved", at: host.clock.now() });
      } catch (error) {
        // No person of trust.yaml has a key here: what is tried counts in this clone only.
        if (toWire(error).code === "APPROVAL_IDENTITY") return null;
        throw error;
      }
    },
    progress: (done, total) => void (host.progress.tried = { done, total }),
  };
  try {
    const proposal = await prepare(world, id);
    // Once it is applied its code is known to have passed.
    if (looked !== null && proposal.report !== null) await noteSubject(host, looked, proposal.report.checks);
    return proposal;
  } finally {
    delete host.progress.tried;
  }
}
