/** `cleared pause [agent]`: no run of it (without a name: no run at all) starts, acts outside or commits until `cleared resume`. */
import { pauseWords } from "../../engine/store/pauses.ts";
import { withLook, withApi } from "../../app/connect.ts";
import { starterHere } from "../../app/identity.ts";
import type { Command } from "../invocation.ts";
import { pauseAgents } from "../../app/pause.ts";
import type { RunRecord } from "../../kernel/ports.ts";
import { atWork } from "../progress.ts";
import { runLine } from "../text.ts";

export const pause: Command = async ({ output, dir }, [name], options) => {
  const { by = null } = starterHere(dir);
  const reason = String(options["reason"] ?? "");
  const done = await withLook(dir, (_, host) => pauseAgents(host, { agent: name ?? null, by, reason }));
  output.result(done);
  output.line(`${done.known ? "Nothing changed: " : ""}${pauseWords(done.pause)}.`);
  const { underWay } = done;
  if (underWay > 0)
    output.line(`${underWay} ${underWay === 1 ? "run is" : "runs are"} under way; each stops before it next acts outside or commits.`);
};

/** Ends a pause, or all of them, and shows how far the runs that waited get. */
export const resume: Command = async ({ output, dir }, [name]) => {
  const { by = null } = starterHere(dir);
  const agent = name ?? null;
  const done = await atWork(withApi, dir, async (api) => {
    const resumed = await api.resumeAgents({ agent, by });
    const runs: RunRecord[] = [];
    for (const id of resumed.runs) runs.push(await api.status({ run: id, wait: true }));
    return { ...resumed, runs };
  });
  output.result(done);
  for (const one of done.ended) output.line(`${one.agent ?? "Every agent"} continues${one.reason === "" ? "" : ` (${one.reason})`}.`);
  if (done.ended.length === 0) output.line(`${agent ?? "No agent"} is ${agent === null ? "" : "not "}paused.`);
  output.rows(done.runs.map((one) => runLine(output, one)));
  for (const one of done.still) output.line(`Still: ${pauseWords(one)}.`);
};
