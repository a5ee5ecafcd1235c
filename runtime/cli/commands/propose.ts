/** `cleared propose`: what is edited here, on a branch or in a folder becomes a proposal. */
import { relative, resolve } from "node:path";
import { ClearedError } from "../../kernel/errors.ts";
import { withApi } from "../../app/connect.ts";
import { starterHere } from "../../app/identity.ts";
import type { Command } from "../invocation.ts";
import { withProgress } from "../progress.ts";
import { proposalLines } from "../proposal-lines.ts";

export const run: Command = async (at, [paths], options) => {
  const { output } = at;
  const dir = at.workspace();
  const text = (name: string) => (options[name] === undefined ? undefined : String(options[name]));
  const title = (text("message") ?? "").replace(/\s+/g, " ").trim();
  if (title === "") throw new ClearedError("USAGE", "Say in one line what changes: `cleared propose -m TITLE`.");
  if (title.length > 200) throw new ClearedError("USAGE", "A title has at most 200 characters; --reason takes the rest.");
  const [from, branch, despite] = [text("from"), text("branch"), text("despite")];
  const made = await withApi(dir, (api) =>
    withProgress(api, null, () =>
      api.propose({
        title,
        reason: text("reason") ?? "",
        paths: ((paths ?? []) as string[]).map((path) => inWorkspace(dir, path)),
        ...starterHere(dir),
        ...(from === undefined ? {} : { from: resolve(from) }),
        ...(branch === undefined ? {} : { branch }),
        ...(despite === undefined ? {} : { despite }),
      }),
    ),
  );
  output.result(made);
  if (made.known) output.line(output.dim("This is already proposed:"));
  for (const line of proposalLines(output, made)) output.line(line);
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
