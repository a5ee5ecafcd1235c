/** `cleared correct ENTRY --account X`: moves a confirmed entry to another account, as the person whose key this shell holds. */
import { ClearedError } from "../../kernel/errors.ts";
import type { Invocation } from "../commands.ts";
import { withApi } from "../../app/connect.ts";
import { decideAll } from "../deciding.ts";
import { findWorkspace } from "../../app/find.ts";

export async function run(at: Invocation, [entry]: (string | string[] | undefined)[], options: Record<string, unknown>): Promise<number> {
  if (options["account"] === undefined)
    throw new ClearedError("USAGE", `Say on which account it belongs: \`cleared correct ${String(entry)} --account NUMBER\`.`);
  const card = await withApi(findWorkspace(at.dir), (api) => api.correction({ entry: String(entry), account: String(options["account"]) }));
  return decideAll(at, [String(card.id)], () => ({ decision: "approved" }), options);
}
