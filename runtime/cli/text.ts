/** Lines printed by several commands: a run, a card, a receipt, a duration; and parsing of JSON arguments. */
import { readFileSync } from "node:fs";
import { notRequester } from "../engine/authority.ts";
import { restatedBy } from "../engine/store/cards.ts";
import { ClearedError, EXIT, formatAt, kindOf } from "../kernel/errors.ts";
import type { Card, Decision, Json, Receipt, RunRecord } from "../kernel/ports.ts";
import { clip } from "../kernel/text.ts";
import { actionLines } from "../rules/answers/documents.ts";
import { callsOf, editsOf, editWords, titleOf } from "../rules/edits.ts";
import { cardFacts, OF_ROWS, sectionsOf } from "../app/card-facts.ts";
import { rowAnswers, summaryOf } from "../web/story.ts";
import type { Options } from "./invocation.ts";
import type { Output } from "./output.ts";

/** @throws USAGE naming the option */
export function parseJson(text: string | undefined, what: string): Json {
  if (text === undefined) return {};
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    throw new ClearedError("USAGE", `${what} is not JSON: ${(error as Error).message}. Quote it for the shell: '{"id": 1}'.`);
  }
}

/** A file named on the command line, or a pipe of the shell. @throws FILE_MISSING */
export function readNamed(file: string, more = ""): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    throw new ClearedError("FILE_MISSING", `${file} cannot be read${more}.`, { cause });
  }
}

/** A whole number from the command line. @throws USAGE naming the option */
export function toCount(text: unknown, what: string, most = 1_000_000): number {
  if (!/^\d{1,7}$/.test(String(text)) || Number(text) > most)
    throw new ClearedError("USAGE", `${what} takes a whole number up to ${most}, not "${String(text)}".`);
  return Number(text);
}

/** The exit code for a run's end: failed by kind, 5 for diverged, 3 for a rejection by a person or rule, else 0. */
export function exitOf(run: RunRecord): number {
  if (run.status === "failed" || run.status === "diverged") return EXIT[kindOf(run.error?.code ?? "INTERNAL")];
  if (run.status === "canceled" || (run.status === "done" && run.outcome !== "completed")) return EXIT.policy;
  return 0;
}

/** The values of these options that were given. */
export const textsOf = <N extends string>(options: Options, ...names: N[]) =>
  Object.fromEntries(names.flatMap((name) => (options[name] === undefined ? [] : [[name, String(options[name])]]))) as {
    [K in N]?: string;
  };

/** The result of a case: `failed  ap: over the limit: blocks` */
export const caseLine = (output: Output, name: string, failure: string | null): string =>
  failure === null ? `${output.green("ok")}  ${name}` : `${output.red("failed")}  ${name}: ${failure}`;

/** `120.00 USD, 5.00 EUR` */
export const moneyOf = (amounts: Readonly<Record<string, string>>): string =>
  Object.entries(amounts)
    .map(([currency, amount]) => `${amount} ${currency}`)
    .join(", ");

// Length shown of a run's result or reason for waiting; the card and the run have all of it.
const LONG = 160;
const clipped = (text: string): string => clip(text, LONG);

export function runLine(output: Output, run: RunRecord): string[] {
  const word = run.status === "done" ? (run.outcome ?? "done") : run.status;
  const paints: Partial<Record<RunRecord["status"], Output["red"]>> = {
    ...{ failed: output.red, diverged: output.red, waiting: output.yellow, done: output.green },
  };
  const why =
    run.error !== null
      ? `${run.error.code}${run.error.at === undefined ? "" : ` at ${formatAt(run.error.at)}`}`
      : run.waitsFor !== null
        ? `${run.reason}: ${clipped(run.waitsFor)}`
        : run.status === "queued" && run.notBefore !== undefined
          ? `not before ${when(run.notBefore)}`
          : clipped(summaryOf(run));
  return [run.id, (paints[run.status] ?? output.dim)(word), run.agent, when(run.createdAt), why];
}

export const when = (ms: number | null): string => (ms === null ? "-" : new Date(ms).toISOString().slice(0, 19).replace("T", " "));

export function cardLines(output: Output, card: Card): string[] {
  const { decision, kind } = card;
  // A verdict has one line per rule.
  const [title, ...more] = kind === "escalation" ? card.title.split("; ") : [titleOf(card)];
  const calls = actionLines(callsOf(card));
  const head = `${output.bold(decision === null ? card.name : String(card.id))}  ${decision?.decision ?? output.yellow("open")}  ${kind}  ${title}`;
  const about =
    decision === null ? [...answerLines(card), ...calls, ...openLines(card)] : [...calls, ...edited(card), decidedLine(decision)];
  return [head, ...[...more, ...about].map((line) => `      ${line}`)];
}

function edited(card: Card): string[] {
  const edits = editsOf(card);
  return edits.length === 0 ? [] : [clipped(`changed: ${editWords(edits)}`)];
}

const decidedLine = ({ by, at, reason }: Decision): string =>
  `${by === "runtime" ? "without a decision" : `by ${by}`} ${when(at)}${reason === undefined ? "" : `: ${reason}`}`;

function answerLines(card: Card): string[] {
  const { booked = [], about = {} } = (card.body ?? {}) as { booked?: string[]; about?: { approve?: string; reject?: string } };
  if (!OF_ROWS.includes(card.kind)) return booked;
  const { approve = "", reject = "" } = card.kind === "row" ? rowAnswers(card) : about;
  const name = card.kind === "account" || card.kind === "correction" ? [`name it: cleared approve ${card.name} --account NUMBER`] : [];
  return [...booked, `approve: ${approve}`, `reject: ${reject}`, ...name];
}

function openLines(card: Card): string[] {
  const { state, started_by, said = [], fields = {}, expires } = card;
  const changed = restatedBy(card);
  const needs = neededFor(card);
  const asked = Object.keys(fields as object);
  return [
    ...(changed === null ? [] : [clipped(changed)]),
    ...(state === undefined ? [] : [state]),
    ...(started_by === undefined ? [] : [`started by ${started_by}`]),
    ...(needs === "" ? [] : [`needs ${needs}`]),
    ...(said.length === 0 ? [] : [`${card.kind === "in_doubt" ? "no" : "yes"} so far: ${said.join(", ")}`]),
    ...(asked.length === 0 ? [] : [`asks for ${asked.join(", ")}`]),
    ...(expires === null ? [] : [`expires ${when(expires)}`]),
  ];
}

/** The number of a card named on the command line, with or without its version. @throws USAGE */
export function cardNumber(name: unknown): number {
  if (typeof name === "string" && /^\d{1,9}(\.\d{1,4})?$/.test(name)) return Number.parseInt(name, 10);
  throw new ClearedError("USAGE", `"${String(name)}" is not a card's number; \`cleared queue\` shows them.`);
}

/** Who must decide a card, in words. */
function neededFor(card: Card): string {
  const level = card.levels?.join(" and ") ?? card.level ?? "";
  const people = (card.approvals ?? 1) > 1 ? `${card.approvals} different people` : "";
  const barred = card.not_by === undefined ? "" : `not ${card.not_by}, who started the run`;
  const needs = [level, people, barred, notRequester(card)].filter((one) => one !== "").join(", ");
  return needs === "" || card.kind !== "in_doubt" ? needs : `${needs}, to make it again`;
}

// The first few are enough to find the cause; the receipt has the rest.
const SHOWN = 10;

export function receiptLines(output: Output, receipt: Receipt): string[] {
  const tie =
    receipt.closing === null
      ? "the statement states no closing balance"
      : receipt.later !== undefined
        ? "its balance is compared once all rows are booked"
        : receipt.gap === null
          ? output.green(`ties to the bank's ${receipt.closing} ${receipt.currency}`)
          : output.red(`off by ${receipt.gap} ${receipt.currency} from the bank's ${receipt.closing}`);
  const { rows, known, twin, asked, refused, unbooked, removed, later = 0 } = receipt;
  const counts = {
    ...{ new: receipt.new, "already in the books": known, "equal to another row, booked too": twin, refused: refused.length },
    ...{ "not booked by the script": unbooked.length, "to be answered": asked.length, "deleted from the books": removed.length },
    "left for the next run": later,
  };
  const waits = asked.length === 1 ? "waits for an answer" : "wait for an answer";
  const left = rows - Object.values(counts).reduce((sum, count) => sum + count, 0);
  const parts = Object.entries({ ...counts, "left out by a person": left }).flatMap(([what, count]) =>
    count > 0 ? [`${count} ${what}`] : [],
  );
  return [
    receipt.dialect === ""
      ? `${output.bold(receipt.file)}  not read`
      : `${output.bold(receipt.file)}  ${receipt.dialect}  account ${receipt.account || "not known"}`,
    // Refused as a whole, its rows are not counted.
    receipt.account === ""
      ? `  nothing of it is booked${receipt.refused.length > 0 ? "" : `: a person left it out; \`cleared revive ${receipt.file}\` asks again about its account, \`cleared import --again\` with the file reads it anew`}`
      : `  ${rows === 1 ? "1 row" : `${rows} rows`}${parts.length === 0 ? "" : `: ${parts.join(", ")}`}; ${tie}`,
    ...(receipt.earlier === undefined ? [] : ["  begins with a statement that was imported before: its file was extended"]),
    ...(asked.length === 0
      ? []
      : [output.yellow(`  ${asked.length} may be in the books under another name and ${waits}: \`cleared queue\``)]),
    ...receipt.removed
      .slice(0, SHOWN)
      .map((id) => output.yellow(`  ${id} was deleted from the books and is not booked again; \`cleared revive ${id}\` books it again`)),
    ...receipt.refused
      .slice(0, SHOWN)
      .map((row) => output.red(`  ${row.line === 0 ? "" : `line ${row.line} `}${row.code}: ${row.message}`)),
    ...(receipt.refused.length > SHOWN
      ? [`  and ${receipt.refused.length - SHOWN} more: import/receipts/${receipt.hash}.yaml has them all`]
      : []),
  ];
}

// A list of cards must be readable at a glance.
const LINES = 4;
const FACTS = 6;

/**
 * The facts of an open card besides its question and calls: why it asks, the amounts, what the script provides, the brief. In a list only the
 * beginning of each; `cleared queue show N` prints all.
 */
export function factLines(output: Output, card: Card, whole: boolean): string[] {
  const { own, heading, details } = cardFacts(card);
  const [first, second] = [own, details].map((facts) => Object.entries(facts).map(named)) as [Fact[], Fact[]];
  const most = whole ? Number.POSITIVE_INFINITY : FACTS;
  const [shown, inside] = [first.slice(0, most), second.slice(0, Math.max(0, most - first.length))];
  const more = first.length + second.length - shown.length - inside.length;
  const lines = (facts: readonly Fact[]) => facts.flatMap(([name, text]) => labelled(output.dim(`${name}:`), text, whole));
  const rest = [
    ...(more > 0 ? [`${more} more fact${more === 1 ? "" : "s"}`] : []),
    ...(whole || (brief(card).length === 0 && card.kind !== "proposal")
      ? []
      : [card.kind === "proposal" ? "what it changes" : "the brief"]),
  ];
  return [
    ...lines(shown),
    ...(inside.length === 0 ? [] : [output.dim(`${heading}:`), ...lines(inside).map((line) => `  ${line}`)]),
    ...(whole ? lines([...brief(card), ...origins(card)]) : []),
    ...(rest.length === 0 ? [] : [output.dim(`${rest.join(" and ")}: cleared queue show ${card.id}`)]),
  ].map((line) => `      ${line}`);
}

type Fact = [name: string, text: string];

function labelled(label: string, text: string, whole: boolean): string[] {
  const lines = text.split("\n");
  const shown = whole ? lines : lines.slice(0, LINES).map(clipped);
  const rest = lines.length > shown.length ? [`and ${lines.length - shown.length} more lines`] : [];
  return shown.length === 1 ? [`${label} ${shown[0]}`, ...rest] : [label, ...[...shown, ...rest].map((line) => `  ${line}`)];
}

const brief = (card: Card): Fact[] =>
  Object.entries(sectionsOf(card)).flatMap((one) => (one[0] === "approver_decision" && card.decision !== null ? [] : [named(one)]));

function origins({ body, run }: Card): Fact[] {
  const { entry } = (body ?? {}) as { entry?: Json };
  return [...(typeof entry === "string" ? [["entry", entry] as Fact] : []), ...(run === null ? [] : [["run", run] as Fact])];
}

const named = ([name, value]: [string, Json]): Fact => [name.replaceAll("_", " "), textOf(value)];

/** Scalars as they are; lists one item per line; deeper values as `name value, name value`. */
function textOf(value: Json): string {
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.map(inline).join("\n");
  return inline(value);
}

function inline(value: Json): string {
  if (value === null) return "none";
  if (typeof value !== "object") return String(value);
  if (Array.isArray(value))
    return value.length === 0 ? "none" : value.map((one) => (isScalar(one) ? inline(one) : `(${inline(one)})`)).join(", ");
  return Object.entries(value)
    .map(([name, one]) => `${name.replaceAll("_", " ")} ${isScalar(one) ? inline(one) : `(${inline(one)})`}`)
    .join(", ");
}

const isScalar = (value: Json): boolean => value === null || typeof value !== "object";
