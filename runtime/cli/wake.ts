/** Runs that wait for a person's uncommitted edit, or for the branch: whoever owns the workspace looks whether they can go on. */
import type { Host } from "./host.ts";

/** Queues again those whose obstacle is gone. */
export async function wakeWaiting(host: Host): Promise<void> {
  const waiting = await host.engine.list({ status: ["waiting"], reason: "user_edit", limit: 100 });
  if (waiting.length === 0 || (await host.git.blockedBy()) !== null) return;
  for (const one of waiting) {
    // For a foreign branch the reason is a sentence, which names no file and so is not edited.
    const paths = (one.waitsFor ?? "").split(", ");
    if ((await host.git.edited(paths)).length === 0) await host.engine.retry(one.id);
  }
}
