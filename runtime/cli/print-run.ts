/** How a run stands, for people and as JSON; shared by the commands that start or resume one. */
import type { RunRecord } from "../ports.ts";
import { type Output, formatError } from "./output.ts";
import { exitOf, runLine } from "./text.ts";

/** Prints how a run stands and answers its exit code. */
export function printRun(output: Output, record: RunRecord, dir: string): number {
  output.result(record);
  output.line(runLine(output, record).join("  ").trimEnd());
  if (record.result !== null) output.line(JSON.stringify(record.result, null, 2));
  if (record.error !== null && !output.json) output.note(formatError(record.error, dir));
  if (record.status === "waiting" && record.reason === "approval")
    output.line("Decide with `cleared queue`, then `cleared approve N` or `cleared reject N`.");
  return exitOf(record);
}
