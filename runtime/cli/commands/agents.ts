/** `cleared agents`: what HEAD of the branch has, when each runs next and how it ran last. `agents show NAME` draws one. */
import { pauseWords } from "../../engine/pauses.ts";
import { ClearedError, didYouMean } from "../../kernel/errors.ts";
import { type AgentDetail, agentDetail, drawMachine, fieldRows } from "../agent-detail.ts";
import type { AgentFact } from "../../app/api.ts";
import { withLook } from "../../app/connect.ts";
import type { Command } from "../invocation.ts";
import type { Output } from "../output.ts";
import { markWords } from "../../app/marks.ts";
import { pasted } from "../../app/starts.ts";
import { runLine, when } from "../text.ts";

export const run: Command = async ({ output, workspace }, [verb, name]) => {
  const dir = workspace();
  if (verb === "show") {
    if (typeof name !== "string")
      throw new ClearedError("USAGE", "Name an agent: `cleared agents show NAME`; `cleared agents` lists them.");
    return show(output, dir, name);
  }
  const agents = await withLook(dir, (api) => api.agents());
  output.result(agents);
  const rows = agents.map((one) => [
    output.bold(one.name),
    one.header?.name ?? output.red(one.error?.message ?? ""),
    one.header?.trigger.join(", ") ?? "",
    one.paused !== null
      ? output.yellow(`paused by ${one.paused.by ?? "an unidentified user"}`)
      : one.nextRun === null
        ? ""
        : `next ${when(one.nextRun)}`,
    one.lastRun === null ? "never ran" : `last ${one.lastRun.outcome ?? one.lastRun.status} ${when(one.lastRun.createdAt)}`,
    output.yellow(markWords(one.checked) ?? ""),
  ]);
  output.rows(rows);
  return 0;
};

async function show(output: Output, dir: string, name: string): Promise<number> {
  const { found, detail } = await withLook(dir, async (api, host) => {
    const agents = await api.agents();
    const one = agents.find((agent) => agent.name === name);
    if (one === undefined) {
      const names = agents.map((agent) => agent.name);
      throw new ClearedError("AGENT_UNKNOWN", `There is no agent "${name}".${didYouMean(name, names)} There are: ${names.join(", ")}.`);
    }
    return { found: one, detail: await agentDetail(host, one) };
  });
  output.result({ ...found, detail });
  printAgent(output, found, detail);
  return 0;
}

function printAgent(output: Output, found: AgentFact, detail: AgentDetail): void {
  const { header } = found;
  output.line(`${output.bold(found.name)}  ${header?.name ?? ""}  ${output.dim(`${found.file}@${found.blob.slice(0, 12)}`)}`);
  if (found.error !== null) output.line(output.red(found.error.message));
  if (found.paused !== null) output.line(output.yellow(`${pauseWords(found.paused)}.`));
  for (const problem of detail.problems) output.line(output.red(problem));
  const mark = markWords(found.checked);
  if (mark !== null) output.line(output.yellow(`${mark}: \`cleared check --all\` shows more`));
  if (header !== null) {
    if (header.description !== "") output.line(header.description);
    const { schedule, watch, on_event, webhook, trigger, risk, mutates } = header;
    const when_ = [schedule, watch, on_event, webhook].filter((one) => one !== undefined);
    const rows = [
      ["  trigger", [trigger.join(", ") || "on demand", ...when_].join("; ")],
      ["  uses", header.uses.join(", ")],
      ...(risk === undefined ? [] : [["  risk", risk]]),
      ...(mutates === false ? [["  mutates", "no: it only reads"]] : []),
      ...(found.nextRun === null ? [] : [["  next run", when(found.nextRun)]]),
      ...(found.lastRun === null ? [] : [["  last run", runLine(output, found.lastRun).join("  ").trimEnd()]]),
    ];
    output.rows(rows);
    for (const [title, fields] of Object.entries({ Input: header.input, Output: header.output })) {
      if (Object.keys(fields).length > 0) output.line(output.bold(title));
      output.rows(fieldRows(fields));
    }
    output.line(`${output.bold("Example")}  ${pasted(`cleared run ${found.name}`, header)}`);
    if (header.machine !== null) {
      output.line(output.bold("States"));
      for (const line of drawMachine(header.machine)) output.line(`  ${line}`);
    }
  }
  for (const { state, conditional, line, allows, calls } of detail.states) {
    output.line(`  ${output.bold(`${state}${conditional ? "?" : ""}`)}${line === "" ? "" : `  ${line}`}`);
    output.line(`      may ${allows.length === 0 ? "compute and log only" : allows.join("; ")}`);
    if (calls.length > 0) output.line(`      calls ${calls.join(", ")}`);
  }
  if (detail.calls.length > 0) output.line(`${output.bold("Calls")}  ${detail.calls.join(", ")}`);
  if (detail.policy === null) return;
  output.line(`${output.bold("Policy")}  ${detail.policy.file}`);
  for (const { id, does, when: condition } of detail.policy.rules) output.line(`  ${id}: ${does} when ${condition}`);
}
