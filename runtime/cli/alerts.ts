/** What every command says on standard error until a person has read it: what was not delivered, and who did not run. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Database } from "../engine/database.ts";
import { ClearedError } from "../errors.ts";
import { openAlerts } from "../notices/alerts.ts";
import { STORE } from "../workspace/layout.ts";
import { findWorkspace } from "./find.ts";
import type { Invocation } from "./commands.ts";

/** A command that is not about a workspace, or whose store cannot be read, has said so itself. */
export function tellAlerts({ dir, output }: Invocation): void {
  let database: Database | null = null;
  try {
    const path = join(findWorkspace(dir), STORE);
    if (!existsSync(path)) return;
    database = new Database(path);
    for (const alert of openAlerts(database, Date.now())) output.note(`! ${alert}`);
  } catch (error) {
    if (!(error instanceof ClearedError)) throw error;
  } finally {
    database?.close();
  }
}
