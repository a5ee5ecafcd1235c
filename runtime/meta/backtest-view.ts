/** A backtest as reported to the meta-agent: counts, money, changed entries, clipped to a readable length. */
import type { BacktestReport } from "../change/evidence/types.ts";
import { moneyLines } from "../change/evidence/words.ts";
import type { Json } from "../kernel/ports.ts";
import { count } from "../kernel/text.ts";
import { quarantined } from "./quarantine.ts";

/** A backtest as shown to the writer. */
export function backtestView({
  runs,
  counts,
  money,
  moves,
  net,
  entries,
  acts = [],
  harm = [],
  differences,
  waiting,
}: BacktestReport): Json {
  const first = differences.find(({ divergence }) => divergence !== null);
  return quarantined({
    ...{ runs, counts, entries_changed: entries, moves, money: money.slice(0, 20), net, harm },
    calls_and_notices: acts.map(({ kind, what, was, now, fields }) => ({ kind, what, was, now, fields: fields.slice(0, 3) })),
    entries: differences
      .flatMap((one) => one.entries)
      .slice(0, 20)
      .map(({ was, now }) => {
        const shown = (one: typeof was) =>
          one === null ? null : { status: one.status, legs: one.legs.map(({ account, amount }) => `${account} ${amount}`) };
        return { date: (now ?? was)?.date, description: (now ?? was)?.description, was: shown(was), now: shown(now) };
      }),
    worst: differences.slice(0, 5).map(({ run, class: kind, why }) => ({ run, class: kind, why: why.slice(0, 3) })),
    first_difference: first?.divergence ?? null,
    waiting_runs_that_could_not_move: waiting.filter(({ moves: may }) => !may).length,
  });
}

/** As a progress line. */
export function backtestWords(report: BacktestReport): string {
  const { runs, counts } = report;
  if (runs === 0) return "no recorded run";
  const [first] = moneyLines(report);
  const others = (["worse", "failed", "not_replayable"] as const).flatMap((kind) =>
    counts[kind] === 0 ? [] : [`${counts[kind]} ${kind.replace("_", " ")}`],
  );
  return [
    ...(first === undefined ? [] : [first]),
    ...(counts.changed > 0 ? [`${counts.changed} changed`] : []),
    ...others,
    `${counts.same} of ${count(runs, "run")} unchanged`,
  ].join(", ");
}
