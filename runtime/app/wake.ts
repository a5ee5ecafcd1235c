/**
 * Resumes what waits for a person's uncommitted edit, for the branch, or for changed people: runs, and approved proposals whose commit was
 * interrupted. Done by whoever owns the workspace.
 */
import { canonicalJson } from "../kernel/canonical.ts";
import { getFact, setFact } from "../engine/store/facts.ts";
import { hasLinks } from "../engine/store/remote-calls.ts";
import { approvalsHere } from "../change/proposals/deciding.ts";
import type { Host } from "./host.ts";

const PEOPLE = "people of trust.yaml";
/** Runs that were retried while their obstacle had not changed: the time until the next try, ms. */
const tried = new Map<string, { due: number; wait: number }>();
const FIRST_WAIT_MS = 500;
let looking = false;
const LONGEST_WAIT_MS = 60_000;

/** Queues runs whose obstacle is gone, and completes approvals. A run that stops again at once is retried at growing intervals. */
export async function wakeWaiting(host: Host): Promise<void> {
  if (approvalsHere(host.database).size > 0)
    await (await import("../change/proposals/apply.ts")).settleApproved(host, async (id) =>
      (await import("./proposals-api.ts")).prepareProposal(host, id),
    );
  await askAnew(host);
  // Not awaited: a remote server that hangs must not delay schedules and files.
  if (!looking) void lookAfar(host);
  const waiting = await host.engine.list({ status: ["waiting"], reason: "user_edit", limit: 100 });
  if (waiting.length === 0) tried.clear();
  if (waiting.length === 0 || (await host.git.blockedBy()) !== null) return;
  for (const one of waiting) {
    const obstacle = `${one.id} ${one.waitsFor}`;
    const before = tried.get(obstacle);
    if (before !== undefined && performance.now() < before.due) continue;
    // For a lock, a read-only folder or another branch the reason is a sentence, which names no edited file.
    const paths = (one.waitsFor ?? "").split(", ");
    if ((await host.git.edited(paths)).length > 0) continue;
    const wait = before === undefined ? FIRST_WAIT_MS : Math.min(LONGEST_WAIT_MS, 2 * before.wait);
    tried.set(obstacle, { due: performance.now() + wait, wait });
    await host.engine.retry(one.id);
  }
}

/** Runs whose remote task has progressed, and remote tasks whose run has ended. */
async function lookAfar({ database, engine, afar }: Host): Promise<void> {
  looking = true;
  try {
    if (!hasLinks(database)) return;
    await afar.tidy();
    for (const reason of ["remote", "remote_gate"] as const)
      for (const { id } of await engine.list({ status: ["waiting"], reason, limit: 1000 }))
        if (await afar.moved(id)) await engine.retry(id);
  } catch {
    // The run was canceled or the store is closing; checked again in half a second.
  } finally {
    looking = false;
  }
}

/** Who may decide, and whose yes is enough, follows trust.yaml: after any change of people, each run that waits for one asks again, and its card names them. */
async function askAnew({ database, engine, trust }: Host): Promise<void> {
  const now = canonicalJson(trust.people);
  const before = getFact(database, PEOPLE);
  if (before === now) return;
  if (before !== null)
    for (const reason of ["approval", "escalation"] as const)
      for (const { id } of await engine.list({ status: ["waiting"], reason, limit: 1000 })) await engine.retry(id);
  setFact(database, PEOPLE, now);
}
