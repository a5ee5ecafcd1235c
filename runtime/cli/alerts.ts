/** Alerts that every command prints on standard error until a person has read them: failed deliveries, agents that did not run. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Database } from "../engine/store/database.ts";
import { ClearedError } from "../kernel/errors.ts";
import { openAlerts } from "../outside/notices/alerts.ts";
import { assertUntracked } from "../workspace/git/working-edits.ts";
import { STORE } from "../workspace/layout.ts";
import type { Invocation } from "./invocation.ts";

/** A command that is not about a workspace, or whose store cannot be read, reports that itself. */
export async function tellAlerts(at: Invocation): Promise<void> {
  let database: Database | null = null;
  try {
    const { dir } = at;
    const path = join(dir, STORE);
    if (!existsSync(path)) return;
    await assertUntracked(dir);
    database = new Database(path);
    for (const alert of openAlerts(database, Date.now())) at.output.note(`! ${alert}`);
  } catch (error) {
    if (!(error instanceof ClearedError)) throw error;
  } finally {
    database?.close();
  }
}
