/**
 * What waits for a person's uncommitted edit, or for the branch: runs, and approved proposals whose commit was cut off. Whoever owns the
 * workspace looks whether they can go on.
 */
import { approvalsHere } from "../proposals/deciding.ts";
import type { Host } from "./host.ts";

/** Runs that were tried again while what they wait for did not change: how long until the next time, ms. */
const tried = new Map<string, { due: number; wait: number }>();
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 60_000;

/** Queues again the runs whose obstacle is gone, and finishes approvals. One that comes back at once is tried at growing intervals. */
export async function wakeWaiting(host: Host): Promise<void> {
  if (approvalsHere(host.database).size > 0) await (await import("../proposals/apply.ts")).settleApproved(host);
  const waiting = await host.engine.list({ status: ["waiting"], reason: "user_edit", limit: 100 });
  if (waiting.length === 0) tried.clear();
  if (waiting.length === 0 || (await host.git.blockedBy()) !== null) return;
  for (const one of waiting) {
    const obstacle = `${one.id} ${one.waitsFor}`;
    const before = tried.get(obstacle);
    if (before !== undefined && performance.now() < before.due) continue;
    // For a lock, a read-only folder or a foreign branch the reason is a sentence, which names no file and so is not edited.
    const paths = (one.waitsFor ?? "").split(", ");
    if ((await host.git.edited(paths)).length > 0) continue;
    const wait = before === undefined ? FIRST_WAIT_MS : Math.min(LONGEST_WAIT_MS, 2 * before.wait);
    tried.set(obstacle, { due: performance.now() + wait, wait });
    await host.engine.retry(one.id);
  }
}
