/** `cleared resume [agent]`: ends a pause, or all of them, and shows where the runs that waited for it get to. */
import { pauseWords } from "../../engine/pauses.ts";
import type { RunRecord } from "../../kernel/ports.ts";
import { withApi } from "../../app/connect.ts";
import { findWorkspace } from "../../app/find.ts";
import { starter } from "../../app/identity.ts";
import { readLocal } from "../../app/local.ts";
import type { Invocation } from "../commands.ts";
import { table } from "../output.ts";
import { withProgress } from "../progress.ts";
import { runLine } from "../text.ts";

export async function run(at: Invocation, [name]: (string | string[] | undefined)[]): Promise<number> {
  const { output } = at;
  const dir = findWorkspace(at.dir);
  const { by = null } = starter(dir, readLocal(dir).trust);
  const agent = typeof name === "string" ? name : null;
  const done = await withApi(dir, (api) =>
    withProgress(api, null, async () => {
      const resumed = await api.resumeAgents({ agent, by });
      const runs: RunRecord[] = [];
      for (const id of resumed.runs) runs.push(await api.status({ run: id, wait: true }));
      return { ...resumed, runs };
    }),
  );
  output.result(done);
  for (const one of done.ended) output.line(`${one.agent ?? "Every agent"} goes on${one.reason === "" ? "" : ` (${one.reason})`}.`);
  if (done.ended.length === 0) output.line(`${agent ?? "No agent"} is ${agent === null ? "" : "not "}paused.`);
  for (const line of table(done.runs.map((one) => runLine(output, one)))) output.line(line);
  for (const one of done.still) output.line(`Still: ${pauseWords(one)}.`);
  return 0;
}
