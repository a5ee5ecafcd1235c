/**
 * What waits for a person's uncommitted edit, or for the branch: runs, and approved proposals whose commit was cut off. Whoever owns the
 * workspace looks whether they can go on.
 */
import { approvalsHere } from "../proposals/deciding.ts";
import type { Host } from "./host.ts";

/** Queues again the runs whose obstacle is gone, and finishes approvals. */
export async function wakeWaiting(host: Host): Promise<void> {
  if (approvalsHere(host.database).size > 0) await (await import("../proposals/apply.ts")).settleApproved(host);
  const waiting = await host.engine.list({ status: ["waiting"], reason: "user_edit", limit: 100 });
  if (waiting.length === 0 || (await host.git.blockedBy()) !== null) return;
  for (const one of waiting) {
    // For a foreign branch the reason is a sentence, which names no file and so is not edited.
    const paths = (one.waitsFor ?? "").split(", ");
    if ((await host.git.edited(paths)).length === 0) await host.engine.retry(one.id);
  }
}
