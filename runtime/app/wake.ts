/**
 * What waits for a person's uncommitted edit, for the branch, or for people who are others now: runs, and approved proposals whose commit
 * was cut off. Whoever owns the workspace looks whether they can go on.
 */
import { canonicalJson } from "../kernel/canonical.ts";
import { getFact, setFact } from "../engine/store/facts.ts";
import { hasLinks } from "../engine/store/remote-calls.ts";
import { approvalsHere } from "../change/proposals/deciding.ts";
import type { Host } from "./host.ts";

const PEOPLE = "people of trust.yaml";
/** Runs that were tried again while what they wait for did not change: how long until the next time, ms. */
const tried = new Map<string, { due: number; wait: number }>();
const FIRST_WAIT_MS = 500;
let looking = false;
const LONGEST_WAIT_MS = 60_000;

/** Queues again the runs whose obstacle is gone, and finishes approvals. One that comes back at once is tried at growing intervals. */
export async function wakeWaiting(host: Host): Promise<void> {
  if (approvalsHere(host.database).size > 0)
    await (await import("../change/proposals/apply.ts")).settleApproved(host, async (id) =>
      (await import("./proposals-api.ts")).prepareProposal(host, id),
    );
  await askAnew(host);
  // Not waited for: a server elsewhere that hangs must not hold schedules and files up.
  if (!looking) void lookAfar(host);
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

/** Runs whose task elsewhere has moved on, and tasks elsewhere whose run has ended. */
async function lookAfar({ database, engine, afar }: Host): Promise<void> {
  looking = true;
  try {
    if (!hasLinks(database)) return;
    await afar.tidy();
    for (const reason of ["remote", "remote_gate"] as const)
      for (const { id } of await engine.list({ status: ["waiting"], reason, limit: 1000 }))
        if (await afar.moved(id)) await engine.retry(id);
  } catch {
    // A run that was canceled meanwhile, a store that is being closed: in half a second it is looked at again.
  } finally {
    looking = false;
  }
}

/** Who may decide follows trust.yaml: with other people there, each run that waits for one asks again, and its card says whom. */
async function askAnew({ database, engine, trust }: Host): Promise<void> {
  const now = canonicalJson(trust.people.map(({ name, roles }) => [name, roles]));
  const before = getFact(database, PEOPLE);
  if (before === now) return;
  if (before !== null)
    for (const reason of ["approval", "escalation"] as const)
      for (const { id } of await engine.list({ status: ["waiting"], reason, limit: 1000 })) await engine.retry(id);
  setFact(database, PEOPLE, now);
}
