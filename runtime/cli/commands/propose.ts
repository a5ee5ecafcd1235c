/** `cleared propose`: what is edited here, on a branch or in a folder becomes a proposal. */
import { relative, resolve } from "node:path";
import { ClearedError } from "../../kernel/errors.ts";
import { withApi } from "../../app/connect.ts";
import { starterHere } from "../../app/identity.ts";
import type { Command } from "../invocation.ts";
import { withProgress } from "../progress.ts";
import { proposalLines } from "../proposal-lines.ts";
import { textsOf } from "../text.ts";

export const run: Command = async ({ output, workspace }, [paths], options) => {
  const dir = workspace();
  const { message = "", from, ...rest } = textsOf(options, "message", "reason", "from", "branch", "despite");
  const title = message.replace(/\s+/g, " ").trim();
  if (title === "") throw new ClearedError("USAGE", "Say in one line what changes: `cleared propose -m TITLE`.");
  if (title.length > 200) throw new ClearedError("USAGE", "A title has at most 200 characters; --reason takes the rest.");
  const made = await withApi(dir, (api) =>
    withProgress(api, null, () =>
      api.propose({
        ...{ title, reason: "", ...rest },
        paths: ((paths ?? []) as string[]).map((path) => inWorkspace(dir, path)),
        ...starterHere(dir),
        ...(from === undefined ? {} : { from: resolve(from) }),
      }),
    ),
  );
  output.result(made);
  if (made.known) output.line(output.dim("This is already proposed:"));
  output.lines(proposalLines(output, made));
  if (made.kept.length > 0)
    output.line(`  ${made.kept.join(", ")}: edited again in the meantime; that edit is still in the file and not in the proposal.`);
  if (made.left.length > 0) output.line(output.dim(`  left as edited: ${some(made.left)}`));
  return made.proposal.state === "blocked" ? 1 : 0;
};

/** Path of a file as the workspace calls it. @throws USAGE */
function inWorkspace(dir: string, path: string): string {
  const inside = relative(dir, resolve(path));
  if (inside.startsWith("..")) throw new ClearedError("USAGE", `"${path}" is not in the workspace ${dir}.`);
  return inside;
}

const some = (paths: readonly string[]): string =>
  `${paths.slice(0, 8).join(", ")}${paths.length > 8 ? ` and ${paths.length - 8} more` : ""}`;
