/** `cleared agents`: what HEAD of the branch has, when each runs next and how it ran last. `agents show NAME` prints one. */
import { ClearedError, didYouMean } from "../../errors.ts";
import { withLook } from "../connect.ts";
import { findWorkspace } from "../find.ts";
import type { Invocation } from "../main.ts";
import { table } from "../output.ts";
import { runLine, when } from "../text.ts";

export async function run(at: Invocation, [verb, name]: (string | string[] | undefined)[]): Promise<number> {
  const { output } = at;
  const agents = await withLook(findWorkspace(at.dir), (api) => api.agents({}));
  if (verb === undefined || verb === "list") {
    output.result(agents);
    const rows = agents.map((one) => [
      output.bold(one.name),
      one.header?.name ?? output.red(one.error?.message ?? ""),
      one.header?.trigger.join(", ") ?? "",
      one.nextRun === null ? "" : `next ${when(one.nextRun)}`,
      one.lastRun === null ? "never ran" : `last ${one.lastRun.outcome ?? one.lastRun.status} ${when(one.lastRun.createdAt)}`,
    ]);
    for (const line of table(rows)) output.line(line);
    return 0;
  }
  if (verb !== "show") throw new ClearedError("USAGE", `\`cleared agents ${String(verb)}\` is not known: list or show.`);
  const found = agents.find((one) => one.name === name);
  if (found === undefined)
    throw new ClearedError(
      "AGENT_UNKNOWN",
      `There is no agent "${String(name)}".${didYouMean(
        String(name),
        agents.map((one) => one.name),
      )}`,
    );
  output.result(found);
  output.line(`${output.bold(found.name)}  ${found.file}@${found.blob.slice(0, 12)}`);
  if (found.error !== null) output.line(output.red(found.error.message));
  for (const [key, value] of Object.entries(found.header ?? {}))
    output.line(`  ${key}: ${typeof value === "string" ? value : JSON.stringify(value)}`);
  if (found.nextRun !== null) output.line(`  next run: ${when(found.nextRun)}`);
  if (found.lastRun !== null) output.line(`  last run: ${runLine(output, found.lastRun).join("  ")}`);
  return 0;
}
