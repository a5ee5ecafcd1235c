/** A backtest in words: lines for the command line, sentences on a card for a reader who does not program. */
import { count, shortJson, upTo } from "../../kernel/text.ts";
import type { Call } from "../../kernel/ports.ts";
import { fromExact, minus, sizeOf, toExact } from "../../workspace/books/amounts.ts";
import { factLine } from "./differences.ts";
import { wilson } from "../../rules/grounding.ts";
import { entryWords, grouped, shortAccount, firstDifference } from "./partings.ts";
import type { ActDifference, BacktestReport, Divergence, Harm, RunDifference } from "./types.ts";

// The reader sees the first few; the report has all.
const FIRST = 5;

/** The report as lines: results of the runs, money moved, first differences, waiting runs. */
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
    ...askedLines(report),
  ];
}

function askedLines({ asked }: BacktestReport): string[] {
  if (asked === undefined) return [];
  const { budget, usd, same, compared, left, differ } = asked;
  const open = left === 0 ? "" : `, ${left} not answered`;
  const [low, high] = wilson(same, compared).map((one) => `${Math.round(100 * one)} %`);
  const share = compared === 0 ? "" : `, which says ${low} to ${high} for all (Wilson, 95 %)`;
  return [
    `  models were asked ${count(asked.asked, "question")} again, for ${usd} of ${budget} USD: ${same} of ${compared} answered as recorded${share}${open}`,
    ...differ.slice(0, FIRST).map(({ run, call, was, now }) => `    ${run} ${call}: ${was} -> ${now}`),
    ...(differ.length > FIRST ? [`    and ${differ.length - FIRST} more (--json has them)`] : []),
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
    return `  a policy gets other facts: ${factLine(fact)} (${fact.run}${more})`;
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

const named = (call: Call | null): string => `${call?.tool}(${shortJson(call?.params ?? {}, 100)})`;

/** What the recorded runs would have done differently, most important first; empty if nothing changes. `name`: the agent's. */
export function changeOf({ differences, counts, runs, entries: all, acts = [], facts = [] }: BacktestReport, name: string): string[] {
  const changed = differences.filter((one) => one.class === "changed" || one.class === "worse");
  if (changed.length === 0) return counts.failed === 0 ? [] : [`${name} would fail in ${counts.failed} of ${count(runs, "recorded run")}`];
  const entries = changed.flatMap((one) => one.entries);
  const [first] = entries;
  const booked =
    first === undefined
      ? []
      : [`${name} would book ${count(all || entries.length, "entry", "entries")} differently (${entryWords(first)})`];
  const files = changed
    .flatMap((one) => one.files ?? [])
    .map(({ path, kind, says }) =>
      kind === "bank file" ? `${name}, bank file: ${says.join("; ")}` : `${name}, file ${shortPath(path)}: ${says.join("; ")}`,
    );
  const judged = facts.map((fact) => `${name} would give its policy other facts: ${factLine(fact)} (${count(fact.runs, "run")})`);
  const told = [...booked, ...judged, ...acts.map((one) => `${name} ${actWords(one)}`), ...files];
  // Differences that appear only in results or ends of runs.
  return told.length > 0 ? told : [...new Set(changed.flatMap(({ why }) => why))].slice(0, FIRST).map((line) => `${name}: ${line}`);
}

/** True for a line of changeOf about results only. */
export const isAnswer = (line: string): boolean => /^[^:]*: result: /.test(line);

/** Receipts are named by the hash of their statement; it is shortened. */
const shortPath = (path: string): string => path.replace(/[0-9a-f]{64}/, (hash) => `${hash.slice(0, 8)}…`);

const times = (n: number): string => (n === 1 ? "once" : `${n} times`);

/** `would call erp/pay 3 times instead of 2` */
function actWords({ kind, what, was, now, differ, fields }: ActDifference): string {
  const act = {
    call: `call ${what}`,
    notice: `notify ${what}`,
    question: "ask a person",
    review: "ask for a review",
    event: `emit ${what}`,
  }[kind];
  if (now.count === 0) return `would no longer ${act} (before, ${times(was.count)})`;
  if (was.count === 0) return `would ${act} ${times(now.count)}, which it did not before`;
  if (was.count !== now.count) return `would ${act} ${times(now.count)} instead of ${was.count}${fieldWords(fields, now.count)}`;
  return `would ${act} ${times(differ)} with other ${kind === "call" || kind === "event" ? "values" : "words"}${fieldWords(fields, differ)}`;
}

/** ` (amount "10.00" -> "12.00" in 3, and 2 more)` */
function fieldWords(fields: ActDifference["fields"], all: number): string {
  const told = fields.map(
    ({ key, says, count: n }) =>
      `${key === "" ? "" : `${key} `}${says.replace(/"(-?\d+\.\d\d)"/g, (_, amount: string) => grouped(amount))}${n === all ? "" : ` in ${n}`}`,
  );
  return fields.length === 0 ? "" : ` (${upTo(told, 3).join(", ")})`;
}

/** Why the recorded runs prevent approval, worst first; empty if none is worse. */
export function harmOf({ harm = [], counts, differences }: BacktestReport, name: string): string[] {
  if (counts.worse + counts.failed === 0) return [];
  const told = HARMS.flatMap((kind) => harm.filter((one) => one.kind === kind).map(({ count: n, about }) => HARM[kind](n, about, name)));
  // A report written by another version may have no kinds.
  return told.length > 0
    ? told
    : [`${count(counts.worse + counts.failed, "recorded run")} of ${name} would be worse (${differences[0]?.why[0] ?? ""})`];
}

const HARM: Record<Harm["kind"], (n: number, about: string, name: string) => string> = {
  books: (_, about, name) => `${name} would break the books (${about})`,
  confirmed: (n, about) => `${count(n, "entry", "entries")} you confirmed would be booked differently (${about})`,
  after_no: (n, about, name) => `${name} would act ${times(n)} where it had been stopped (${about})`,
  without_yes: (n, about) => `${count(n, "call")} would be made without the approval ${n === 1 ? "it" : "they"} had (${about})`,
  again: (n, about, name) => `${name} would do ${n === 1 ? "something" : `${n} things`} twice (${about})`,
  undecided: (n, about) => `${count(n, "question")} you decided would no longer be asked (${about})`,
  unseen: (n, about) => `${count(n, "entry", "entries")} would be confirmed without a person (${about})`,
  unasked: (n, about) => `${count(n, "question")} would no longer be asked at all (${about})`,
  fails: (n, about, name) => `${name} would fail in ${count(n, "recorded run")} (${about})`,
};
/** Worst first. */
export const HARMS = Object.keys(HARM) as [Harm["kind"], ...Harm["kind"][]];

/** Where money goes, and the total difference. */
export function moneyLines({ moves, net, acts = [] }: BacktestReport): string[] {
  const lines = moves.map(({ from, to, entries, amount, currency }) => {
    const way =
      from === ""
        ? `new on ${shortAccount(to)}`
        : to === ""
          ? `no longer on ${shortAccount(from)}`
          : `from ${shortAccount(from)} to ${shortAccount(to)}`;
    return `${count(entries, "entry", "entries")} ${way}, ${grouped(amount)} ${currency}`;
  });
  const paid = acts.flatMap(({ kind, what, was, now }) =>
    kind === "call" && (was.sum ?? now.sum) !== null ? [paymentWords(what, was, now)] : [],
  );
  if (lines.length === 0) return paid;
  const sums = Object.entries(net).filter(([, sum]) => !/^-?0+(?:\.0+)?$/.test(sum));
  const all = sums.map(([currency, sum]) => `${grouped(sum.replace("-", ""))} ${currency} ${sum.startsWith("-") ? "less" : "more"}`);
  return [...upTo(lines, FIRST), sums.length === 0 ? "in all the same as before" : `in all ${all.join(", ")} than before`, ...paid];
}

/** `12 payments (erp/schedule_payment), 7,980.00 in all, 790.00 more than before` */
function paymentWords(tool: string, was: ActDifference["was"], now: ActDifference["now"]): string {
  const word = /pay|transfer|refund|disburse/.test(tool) ? "payment" : "call";
  const more = minus(toExact(now.sum ?? "0"), toExact(was.sum ?? "0"));
  const by = grouped(fromExact(sizeOf(more), 2));
  const than = more === 0n ? "the same as before" : `${by} ${more > 0n ? "more" : "less"} than before`;
  if (now.count === 0) return `no more ${word} (${tool}), ${than}`;
  return `${count(now.count, word)} (${tool}), ${grouped(now.sum ?? "0.00")} in all, ${than}`;
}
