/** What every command says on standard error until a person has read it: what was not delivered, and who did not run. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Database } from "../engine/store/database.ts";
import { ClearedError } from "../kernel/errors.ts";
import { openAlerts } from "../outside/notices/alerts.ts";
import { assertUntracked } from "../workspace/git/working-edits.ts";
import { STORE } from "../workspace/layout.ts";
import type { Invocation } from "./invocation.ts";

/** A command that is not about a workspace, or whose store cannot be read, has said so itself. */
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
