/** A backtest in words, for the command and for the card: the same lines wherever it is told. */
import type { Call } from "../ports.ts";
import { factLine, firstDifference } from "./differences.ts";
import type { BacktestReport, Divergence, RunDifference } from "./types.ts";

// A person reads the first ones; the report has the others.
const FIRST = 5;

/** The report in lines: what became of the runs, where money goes, the first differences, the waiting runs. */
export function backtestLines(report: BacktestReport): string[] {
  const { counts, runs, days } = report;
  const failed = counts.failed === 0 ? "" : `, ${counts.failed} failed`;
  const span = days === null ? "" : ` (${days} days)`;
  const more = report.differences.length - FIRST;
  return [
    `backtest on ${count(runs, "real run")}${span}: ${counts.same} same, ${counts.changed} changed, ${counts.worse} worse${failed}, ${counts.not_replayable} not replayable`,
    ...moveLines(report),
    ...factLines(report),
    ...report.differences.slice(0, FIRST).flatMap(differenceLines),
    ...(more > 0 ? [`  and ${more} more (--json has them)`] : []),
    ...waitingLines(report),
  ];
}

function moveLines({ moves, net }: BacktestReport): string[] {
  const nets = Object.entries(net).map(([currency, sum]) => `${sum} ${currency}`);
  return moves.map(({ from, to, entries, amount, currency }, n) => {
    const way = from === "" ? `new on ${to}` : to === "" ? `gone from ${from}` : `${from} -> ${to}`;
    return `  ${count(entries, "entry", "entries")}  ${way}  ${amount} ${currency}${n === 0 ? `  net ${nets.join(", ")}` : ""}`;
  });
}

function factLines({ facts = [] }: BacktestReport): string[] {
  return facts.map((fact) => {
    const more = fact.runs === 1 ? "" : ` and ${fact.runs - 1} more`;
    return `  a policy is told otherwise: ${factLine(fact)} (${fact.run}${more})`;
  });
}

function differenceLines({ run, class: kind, why, divergence, supposed }: RunDifference): string[] {
  const first = divergence === null ? "" : `; first difference: ${partingLine(divergence)}`;
  return [
    `  ${run} ${kind.replace("_", " ")}: ${why[0] ?? ""}${first}`,
    ...why.slice(1, FIRST).map((line) => `    ${line}`),
    ...supposed.slice(0, FIRST).map((line) => `    supposed: ${line}`),
  ];
}

/** `step 12, journal_add_double.debit_account 5030 -> 5020` */
export function partingLine({ step, recorded, now }: Divergence): string {
  if (recorded === null || now === null) {
    const ended = recorded === null ? "the recorded run had ended" : "the code ends or stops";
    return `step ${step}, ${named(recorded ?? now)}: ${ended}`;
  }
  if (recorded.tool !== now.tool) return `step ${step}, ${recorded.tool} -> ${named(now)}`;
  return `step ${step}, ${recorded.tool}.${firstDifference(recorded.params, now.params)}`;
}

function waitingLines({ waiting }: BacktestReport): string[] {
  if (waiting.length === 0) return [];
  const stays = waiting.filter(({ moves }) => !moves);
  return [
    `  ${count(waiting.length, "waiting run")}: ${waiting.length - stays.length} could move to it, ${stays.length} could not`,
    ...stays.slice(0, FIRST).map(({ run, why }) => `    ${run}: ${(why ?? "").slice(0, 300)}`),
  ];
}

function named(call: Call | null): string {
  const text = JSON.stringify(call?.params ?? {});
  return `${call?.tool}(${text.length > 100 ? `${text.slice(0, 100)}…` : text})`;
}

function count(n: number, one: string, many = `${one}s`): string {
  return `${n} ${n === 1 ? one : many}`;
}
