/** `cleared backtest agents/NAME.ts`: what other code of an agent would have done in the recorded runs. Changes nothing. */
import { basename } from "node:path";
import { ClearedError, EXIT } from "../../kernel/errors.ts";
import type { LogEntry } from "../../kernel/ports.ts";
import type { Which } from "../../change/evidence/types.ts";
import { backtestLines, partingLine } from "../../change/evidence/words.ts";
import type { Backtesting, Bisected } from "../../app/evidence-api.ts";
import { withAnyApi, withApi } from "../../app/connect.ts";
import type { Command } from "../invocation.ts";
import type { Output } from "../output.ts";
import { atWork } from "../progress.ts";

export const run: Command = async ({ output, dir }, [file = ""], options) => {
  const asked: Backtesting = {
    agent: basename(file, ".ts"),
    at: typeof options["at"] === "string" ? options["at"] : null,
    which: whichOf(options),
    ...budgetOf(options),
  };
  // The owner records costs.
  const report = await atWork(asked.budget === undefined ? withAnyApi : withApi, dir, (api) => api.backtest(asked));
  output.result(report);
  output.lines(backtestLines(report));
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

// The first ones for a reader; --json has all.
const FIRST = 5;

/** `cleared bisect RUN|ENTRY`: finds the commit that changed a recorded run's result, and shows the change. Changes nothing. */
export const bisect: Command = async ({ output, dir }, [name = ""]) => {
  const found = await atWork(withAnyApi, dir, (api) => api.bisect({ name }));
  output.result(found);
  output.lines(linesOf(output, found));
  return found.verdict === "unproven" ? EXIT.divergence : 0;
};

function linesOf(output: Output, found: Bisected): string[] {
  const { run, agent, entry, verdict, commits, difference, candidates, trials, from, head, proposal, why } = found;
  const what = `${run} (${agent})${entry === null ? "" : `, which made ${entry},`}`;
  const looked = `${candidates} ${candidates === 1 ? "commit" : "commits"} from ${short(from)} to ${short(head)} touch what it reads; ${trials} tried.`;
  const skipped = found.skipped.map((one) => output.dim(`  passed over ${short(one.commit)} "${one.subject}": ${one.why}`));
  if (verdict === "same") return [output.green(`${what} has the recorded result with the code of HEAD.`), looked, ...skipped];
  const applied = proposal === null ? "" : `  (proposal ${proposal.number ?? proposal.id})`;
  const told: Record<Exclude<Bisected["verdict"], "same">, string[]> = {
    found: [`${what} changed its result with this commit:`, ...commits.map((one) => `  ${commitLine(output, one)}${applied}`)],
    between: [
      `${what} changed its result with one of these commits; those in between cannot be tried:`,
      ...commits.map((one) => `  ${commitLine(output, one)}`),
    ],
    unproven: [output.yellow(`${what}: the commit could not be determined: ${why}.`)],
  };
  return [...told[verdict], ...(difference === null ? [] : differenceOf(found, difference)), looked, ...skipped];
}

function differenceOf({ entry }: Bisected, { divergence, why, entries }: NonNullable<Bisected["difference"]>): string[] {
  const own = entries.filter(({ was, now }) => entry !== null && (was ?? now)?.id === entry);
  const legs = (side: (typeof own)[number]["was"]) =>
    side === null ? "nothing" : side.legs.map((leg) => `${leg.account} ${leg.amount} ${leg.currency}`).join(", ");
  const call = (side: NonNullable<typeof divergence>["now"]) =>
    side === null ? "nothing" : `${side.tool}(${JSON.stringify(side.params)})`;
  return [
    ...own.map(({ was, now }) => `  ${entry}: ${legs(was)} -> ${legs(now)}`),
    ...why.slice(0, FIRST).map((line) => `  ${line}`),
    ...(divergence === null
      ? []
      : [
          `  first difference: ${partingLine(divergence)}`,
          `    recorded  ${call(divergence.recorded)}`,
          `    now       ${call(divergence.now)}`,
        ]),
  ];
}

const short = (commit: string): string => commit.slice(0, 7);

function commitLine(output: Output, { commit, date, author, subject }: LogEntry): string {
  return `${output.bold(short(commit))}  ${date.slice(0, 10)}  ${author}  ${subject}`;
}
