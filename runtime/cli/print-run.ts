/** The state of a run, as text and JSON, for the commands that start or resume one; and its full history, for `runs show`. */
import { clip } from "../kernel/text.ts";
import { type RunMetadata, footer, mutationLog, mutationText } from "../rules/answers/mutations.ts";
import type { RunDetail } from "../app/look.ts";
import type { RunRecord, Step } from "../kernel/ports.ts";
import { type Note, actsUnread, toldBy } from "../web/story.ts";
import { type Output, formatError, table } from "./output.ts";
import { cardLines, exitOf, runLine, when } from "./text.ts";

/** Prints the state of a run and returns its exit code. */
export function printRun(output: Output, record: RunRecord, dir: string): number {
  output.result(record);
  output.line(runLine(output, record).join("  ").trimEnd());
  if (record.result !== null) output.text(JSON.stringify(record.result, null, 2));
  if (record.error !== null && !output.json) output.note(formatError(record.error, dir));
  if (record.status === "waiting" && (record.reason === "approval" || record.reason === "escalation"))
    output.line("Decide with `cleared queue`, then `cleared approve N` or `cleared reject N`.");
  if (record.status === "waiting" && record.reason === "input")
    output.line("Look with `cleared queue`, then answer with `cleared answer N name=value`.");
  return exitOf(record);
}

/** Why a run waits at its gate, for whom, and at which card: the policy's reason, and who is asked. */
export function gateLines({ steps, cards }: RunDetail): string[] {
  const said = steps.flatMap((step) => step.changes.flatMap((change) => (change.op === "verdict" ? [change.verdict.summary] : [])));
  return cards
    .filter((card) => card.decision === null && card.gate !== null)
    .flatMap((card) => {
      const who = (card.levels ?? [card.level ?? "anyone who may approve"]).join(" and ");
      const waits = `waits for: ${who}; card ${card.id}${card.brief === undefined ? "" : ", brief attached"}`;
      return said.length === 0 ? [waits] : [said.join("; "), `-> ${waits}`];
    });
}

/** `runs show`: states with times, each call with its effect and what it did, then logs, commits, cards, the result. */
export function printDetail(output: Output, detail: RunDetail, dir: string): void {
  const { run, steps, events, cards } = detail;
  const paint = { good: output.green, bad: output.red, attention: output.yellow, quiet: output.dim } satisfies Record<
    Note["tone"],
    unknown
  >;
  const writes = steps.flatMap((step) => step.changes.flatMap((change) => (change.op === "verified" ? [change.write] : [])));
  output.result(writes.length === 0 ? detail : { ...detail, mutations: mutationLog(writes) });
  output.line(runLine(output, run).join("  ").trimEnd());
  const who = run.by === undefined ? "" : ` by ${run.by}`;
  const given = Object.entries(run.given ?? {}).map(([key, value]) => `, given ${key}: ${clip(String(value), 90)}`);
  output.line(output.dim(`  ${run.cause.kind}${who}, commit ${run.pin.commit.slice(0, 7)}, attempt ${run.attempt}${given.join("")}`));
  const told = steps.map((step) => toldBy(step, cards, when));
  const calls = table(steps.map((step) => stepLine(output, step)));
  if (told.some((one) => one.states.length > 0)) output.line(`  ${output.bold("DECOMPOSE")}  ${when(run.startedAt)}`);
  steps.forEach((step, i) => {
    const { states, notes } = told[i] ?? { states: [], notes: [] };
    output.line(`  ${calls[i]}`);
    for (const { tone, text } of notes) output.line(`     ${paint[tone](text)}`);
    for (const state of states) output.line(`  ${output.bold(state)}  ${when(step.at)}`);
  });
  for (const { type, body } of events) {
    const { level, message, commit } = body as { level?: string; message?: string; commit?: string };
    if (type === "log") output.line(output.dim(`  ${level === "warn" ? "warning" : "log"}  ${message ?? ""}`));
    if (type === "commit") output.line(output.dim(`  commit ${commit?.slice(0, 7) ?? ""}  ${message ?? ""}`));
  }
  for (const card of cards) for (const line of cardLines(output, card)) output.line(`  ${line}`);
  if (writes.length > 0) output.text(mutationText(writes));
  if (run.result !== null) output.text(JSON.stringify(run.result, null, 2));
  if (run.meta !== null) output.line(output.dim(footer(run.meta as unknown as RunMetadata, actsUnread(steps))));
  if (run.error !== null) output.text(formatError(run.error, dir));
}

function stepLine(output: Output, step: Step): string[] {
  const answer =
    step.state === "intent"
      ? output.yellow("no outcome yet")
      : step.error !== null
        ? output.red(`${step.error.code} ${clip(step.error.message, 90)}`)
        : clip(step.result ?? "null", 90);
  return [String(step.seq), step.effect, `${step.name}(${clip(step.params, 90)})`, answer];
}
