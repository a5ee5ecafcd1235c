/** `cleared backtest agents/NAME.ts`: what other code of an agent would have done to the runs that are recorded. Changes nothing. */
import { basename } from "node:path";
import { ClearedError } from "../../kernel/errors.ts";
import type { Which } from "../../change/evidence/types.ts";
import { backtestLines } from "../../change/evidence/words.ts";
import type { Backtesting } from "../../app/evidence-api.ts";
import { withAnyApi } from "../../app/connect.ts";
import type { Command } from "../invocation.ts";
import { withProgress } from "../progress.ts";

export const run: Command = async (at, [file], options) => {
  const dir = at.workspace();
  const asked: Backtesting = {
    agent: basename(String(file), ".ts"),
    at: typeof options["at"] === "string" ? options["at"] : null,
    which: whichOf(options),
  };
  const report = await withAnyApi(dir, (api) => withProgress(api, null, () => api.backtest(asked)));
  at.output.result(report);
  for (const line of backtestLines(report)) at.output.line(line);
  return report.counts.worse + report.counts.failed === 0 ? 0 : 1;
};

/** @throws USAGE */
function whichOf({ days, runs }: Record<string, unknown>): Which {
  if (typeof runs === "string") return { runs: runs.split(",").map((one) => one.trim()) };
  if (days === undefined) return { all: true };
  if (!/^[1-9]\d{0,4}$/.test(String(days)))
    throw new ClearedError("USAGE", `--days ${String(days)}: write a whole number of days, such as 90.`);
  return { days: Number(days) };
}
