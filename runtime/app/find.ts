/** Finds the workspace of a command. */
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { ClearedError } from "../kernel/errors.ts";
import { committedText } from "../workspace/git/environment.ts";
import { CONFIG } from "../workspace/layout.ts";
import { assertWorkspaceState } from "../workspace/workspace-state.ts";

/** The workspace of a command: --dir, else this folder or the nearest one above it. @throws WORKSPACE_MISSING, FOLDER_UNSAFE */
export function findWorkspace(dir: string | undefined): string {
  for (let at = resolve(dir ?? "."); ; at = dirname(at)) {
    if (existsSync(join(at, ".git")) && (existsSync(join(at, CONFIG)) || committedText(at, CONFIG) !== null)) {
      assertWorkspaceState(at);
      return at;
    }
    if (dir !== undefined || at === dirname(at)) {
      throw new ClearedError(
        "WORKSPACE_MISSING",
        `${resolve(dir ?? ".")} is not a workspace. Make one with \`cleared init DIR\`, or change into one.`,
      );
    }
  }
}
