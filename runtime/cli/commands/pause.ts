/** `cleared pause [agent]`: nothing of it starts, acts outside or commits until `cleared resume`; without a name nothing at all does. */
import { pauseWords } from "../../engine/pauses.ts";
import { withLook } from "../../app/connect.ts";
import { findWorkspace } from "../../app/find.ts";
import { starter } from "../../app/identity.ts";
import { readLocal } from "../../app/local.ts";
import type { Invocation } from "../commands.ts";
import { pauseAgents } from "../../app/pause.ts";

export async function run(at: Invocation, [name]: (string | string[] | undefined)[], options: Record<string, unknown>): Promise<number> {
  const dir = findWorkspace(at.dir);
  const { by = null } = starter(dir, readLocal(dir).trust);
  const reason = String(options["reason"] ?? "");
  const done = await withLook(dir, (_, host) => pauseAgents(host, { agent: typeof name === "string" ? name : null, by, reason }));
  at.output.result(done);
  at.output.line(`${done.known ? "Nothing changed: " : ""}${pauseWords(done.pause)}.`);
  const { underWay } = done;
  if (underWay > 0)
    at.output.line(`${underWay} ${underWay === 1 ? "run is" : "runs are"} under way; each stops before it next acts outside or commits.`);
  return 0;
}
