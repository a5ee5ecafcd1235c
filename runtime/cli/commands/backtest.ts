/** `cleared backtest agents/NAME.ts`: what other code of an agent would have done to the runs that are recorded. Changes nothing. */
import { basename } from "node:path";
import { ClearedError } from "../../kernel/errors.ts";
import type { Which } from "../../change/evidence/types.ts";
import { backtestLines } from "../../change/evidence/words.ts";
import type { Backtesting } from "../../app/evidence-api.ts";
import { withAnyApi, withApi } from "../../app/connect.ts";
import type { Command } from "../invocation.ts";
import { withProgress } from "../progress.ts";

export const run: Command = async (at, [file], options) => {
  const dir = at.workspace();
  const asked: Backtesting = {
    agent: basename(String(file), ".ts"),
    at: typeof options["at"] === "string" ? options["at"] : null,
    which: whichOf(options),
    ...budgetOf(options),
  };
  // What is spent is kept by the owner.
  const report = await (asked.budget === undefined ? withAnyApi : withApi)(dir, (api) =>
    withProgress(api, null, () => api.backtest(asked)),
  );
  at.output.result(report);
  at.output.lines(backtestLines(report));
  return report.counts.worse + report.counts.failed === 0 ? 0 : 1;
};

/** @throws USAGE */
function budgetOf({ ask, budget }: Record<string, unknown>): { budget?: string } {
  if (ask !== true && budget === undefined) return {};
  if (ask === true && typeof budget === "string") return { budget };
  throw new ClearedError(
    "USAGE",
    "Models are asked again with both, --ask and --budget USD: `cleared backtest agents/NAME.ts --ask --budget 0.50`.",
  );
}

/** @throws USAGE */
function whichOf({ days, runs }: Record<string, unknown>): Which {
  if (typeof runs === "string") return { runs: runs.split(",").map((one) => one.trim()) };
  if (days === undefined) return { all: true };
  if (!/^[1-9]\d{0,4}$/.test(String(days)))
    throw new ClearedError("USAGE", `--days ${String(days)}: write a whole number of days, such as 90.`);
  return { days: Number(days) };
}
