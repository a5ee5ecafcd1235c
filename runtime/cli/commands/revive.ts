/** `cleared revive NAME…`: book rows again that somebody has deleted from the books, or leave them out for good. */
import { withApi } from "../../app/connect.ts";
import { findWorkspace } from "../../app/find.ts";
import { starter } from "../../app/identity.ts";
import { readLocal } from "../../app/local.ts";
import type { Invocation } from "../commands.ts";

export async function run(at: Invocation, [names]: (string | string[] | undefined)[], options: Record<string, unknown>): Promise<number> {
  const { output } = at;
  const dir = findWorkspace(at.dir);
  const by = starter(dir, readLocal(dir).trust).by ?? "an unidentified user";
  const leave = options["leaveOut"] === true;
  const done = await withApi(dir, (api) => api.revive({ names: names as string[], leave, by }));
  output.result(done);
  for (const id of done.entries) output.line(`${id}  ${leave ? "stays out" : "is in the books again"}`);
  if (done.commit !== null) output.line(`      commit ${done.commit.slice(0, 7)}`);
  return 0;
}
