/**
 * What the difference of two programs means, as rows: each says how it is found, in which words it is told, and whether the program may do
 * more by it. The first row that fits a difference tells it, so that nothing is told twice and nothing is left out.
 */
import { shortAccount } from "../evidence/entry-words.ts";
import { plainDecimal } from "../money.ts";
import { plainForm } from "../sandbox/form-marks.ts";
import {
  type CallChange,
  type Given,
  type Literal,
  type NameChange,
  type Place,
  type RowChange,
  type ValueChange,
  type WordChange,
  codeDifference,
  lastOf,
} from "./code-difference.ts";
import { type Around, type Program, TOOL, classIn } from "./program.ts";
import { type Written, hostsIn, recipientsIn } from "./recipients.ts";
import type { ChangeKind, WideningKind } from "./types.ts";

/** Tells one change at its place. */
export type Say = (kind: ChangeKind, widens: boolean, text: string, at: { file: string; line?: number }) => void;

/** What the rows ask beside the difference. */
export interface Asked extends Around {
  /** The confidence from which on nobody looks at an entry. */
  autoConfirm: number;
  /** The name of an account of the books, or null. */
  account(word: string): string | null;
}

interface Line {
  kind: ChangeKind;
  widens: boolean;
  text: string;
  /** Told only where nothing else is told of its line. */
  rest?: true;
}
type Row<T> = (one: T, asked: Asked) => Line | null | undefined | false;

const widen = (kind: WideningKind, text: string): Line => ({ kind, widens: true, text });
const tell = (kind: ChangeKind, text: string): Line => ({ kind, widens: false, text });
const tellElse = (kind: ChangeKind, text: string): Line => ({ ...tell(kind, text), rest: true });
const quoted = (value: unknown): string => {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
};
const all = (texts: readonly unknown[]): string => texts.map(quoted).join(", ");
/** What it is as a literal; undefined where it is computed or not there. */
const literal = (one: Given | null): Literal | undefined => (one !== null && "literal" in one ? one.literal : undefined);
const shownIn = (one: Given | null, show: (value: unknown) => string): string =>
  one === null ? "nothing" : "literal" in one ? show(one.literal) : one.shown;
/** `is NOW instead of WAS`; `is computed differently (NOW; before: WAS)` */
const swap = ({ was, now }: ValueChange, show: (value: unknown) => string = quoted): string => {
  if (now === null) return `is no longer given (${shownIn(was, show)})`;
  if ("shown" in now) return `is computed differently (${now.shown}${was === null ? "" : `; before: ${shownIn(was, show)}`})`;
  return `is ${show(now.literal)}${was === null ? "" : ` instead of ${shownIn(was, show)}`}`;
};

/** Texts that nobody acts on. */
const SILENT = /^(?:ctx_log|git_commit)\b/;
const PERSONS = /^(?:user-confirmed|user-corrected|bootstrap-confirmed)$/;
const DAY = /^(?:19|20)\d\d-\d\d(?:-\d\d)?(?:T.*)?$/;
const FACT = /(?:^|\.)facts\./;
const AMOUNT = /^(?:amount|total|sum|price|quantity|debit|credit)$/;
const ACCOUNT = /(?:^|_)account$/;
const RATE = /rate|pct|percent|threshold|limit|tolerance|discount|tax|fee|days|(?:^|_)(?:min|max)(?:_|$)/i;
const GATE = /^(?:ask|required|level|levels|approvals|expires|agent)$/;
const TITLE = /^(?:title|question|details)$/;
const PAYEE =
  /^(?:to|cc|bcc|channel|recipients?|e?mail|payee|beneficiary|creditor|iban|bic|account_number|bank_account|sort_code|routing_number|wallet)$/i;

/** What a name or list decides, from the gravest; the kind and the words of a line that says it is different. */
const DECIDES: [RegExp, WideningKind, string][] = [
  [/^(?:asks .*|ask|required|level|calls)$/, "gate", "whether a person is asked, or for what"],
  [/^(?:judges .*|facts)$/, "policy", "what the policy judges by"],
  [/^status$/, "review", "which status an entry gets"],
  [/^(?:reviews .*|confidence|items)$/, "review", "which entries a person sees"],
  [/^(?:acts .*|params of .*|tool)$/, "tool", "what is done outside"],
  [PAYEE, "recipient", "who is told or paid"],
];
const decidedBy = (reaches: readonly string[]) => DECIDES.find(([what]) => reaches.some((one) => what.test(one)));
/** Told as widening where the name reaches what matters. */
const byReach = (reaches: readonly string[], kind: ChangeKind, words: string, more = ""): Line => {
  const decides = decidedBy(reaches);
  const line = decides === undefined ? tell(kind, words) : widen(decides[1], `${words}, which decides ${decides[2]}${more}`);
  return { ...line, rest: true };
};

/** What such a list of a value's names is: new ones widen, others are told. */
const naming =
  (kind: "recipient" | "host", list: (one: Written) => string[], what: string): Row<ValueChange> =>
  (one) => {
    const of = (given: Given | null) =>
      literal(given) === undefined ? [] : list({ value: literal(given) ?? "", path: plainForm(one.path) });
    const [was, now] = [of(one.was), of(one.now)];
    const [gone, fresh] = [was.filter((value) => !now.includes(value)), now.filter((value) => !was.includes(value))];
    if (one.compared || gone.length + fresh.length === 0) return null;
    if (fresh.length > 0) return widen(kind, `names a new ${what}: ${all(fresh)}${gone.length === 0 ? "" : ` instead of ${all(gone)}`}`);
    return tell(kind, `no longer names the ${what} ${all(gone)}`);
  };
const isSure = (value: unknown, name: string, from: number): boolean =>
  typeof value !== "boolean" && value !== undefined && Number(value) >= from && (Number(value) < 1 || name === "confidence");
const isMutate = (tool: unknown, { trust }: Asked): boolean => typeof tool === "string" && classIn(trust)(tool).class === "mutate";
const isComputed = ({ now }: ValueChange): boolean => now !== null && "shown" in now && !now.fixed;
const key = ({ path, near }: ValueChange): string => `${near === null ? "" : `${quoted(near)}: `}${lastOf(path) || "a value"}`;
const named =
  (pattern: RegExp, then: (one: ValueChange, asked: Asked) => Line | null | undefined | false): Row<ValueChange> =>
  (one, asked) =>
    pattern.test(lastOf(one.path)) && then(one, asked);

const VALUES: Row<ValueChange>[] = [
  named(/^tool$/, (one) => isComputed(one) && widen("tool", `calls a tool whose name it computes (${shownIn(one.now, String)})`)),
  (one, asked) => {
    const [was, now] = [literal(one.was), literal(one.now)];
    if (now === undefined) return isTool({ value: was ?? "", path: one.path }, asked) && tell("tool", `no longer calls ${was}`);
    if (!isTool({ value: now, path: one.path }, asked)) return null;
    return (isMutate(now, asked) ? widen : tell)("tool", `calls ${now}${was === undefined ? "" : ` instead of ${was}`}`);
  },
  (one) => FACT.test(one.path) && widen("policy", `a fact for the policy, ${lastOf(one.path)}, ${swap(one)}`),
  ({ was, now, compared }) =>
    !compared &&
    literal(was) === "pending-review" &&
    widen("review", `marks fewer entries as pending-review${now === null ? "" : ` (${shownIn(now, String)} instead)`}`),
  ({ now, compared }) =>
    !compared && PERSONS.test(String(literal(now))) && widen("review", `books as ${literal(now)}, as if a person had said so`),
  ({ now, compared }) => !compared && literal(now) === "auto-confirmed" && widen("review", "books as auto-confirmed where it did not"),
  ({ now, compared }) => !compared && literal(now) === "pending-review" && tell("review", "marks more entries as pending-review"),
  ({ now }) =>
    typeof literal(now) === "string" &&
    DAY.test(String(literal(now))) &&
    widen("command", `depends on a fixed date (${literal(now)}): recorded runs do not show what it does then`),
  named(/^(?:ask|required)$/, (one) => literal(one.now) === true && tell("gate", `always asks: "${key(one)}" ${swap(one)}`)),
  named(GATE, (one) => (one.was !== null || literal(one.now) !== undefined) && widen("gate", `"${key(one)}" ${swap(one)}`)),
  (one, { autoConfirm: from }) =>
    isSure(literal(one.now), lastOf(one.path), from) &&
    !isSure(literal(one.was), lastOf(one.path), from) &&
    widen("review", `is sure by itself in one more case (${key(one)} ${swap(one)}; ${from} or more needs no person)`),
  named(PAYEE, (one) => isComputed(one) && widen("recipient", `whom it notifies or pays, "${key(one)}", ${swap(one)}`)),
  // Not sure enough to go unseen.
  named(/^confidence$/, (one) => literal(one.now) !== undefined && tell("review", `${key(one)} ${swap(one)}`)),
  naming("recipient", recipientsIn, "recipient"),
  naming("host", hostsIn, "address"),
  named(
    AMOUNT,
    (one) =>
      plainDecimal(literal(one.now)) !== null &&
      Number(literal(one.now)) !== 0 &&
      widen("tool", `has a fixed amount: ${key(one)} ${swap(one)}`),
  ),
  (one, { account }) => {
    const name = (given: Given | null) => account(String(literal(given)));
    if (!named(ACCOUNT, () => tell("account", ""))(one, {} as Asked) && name(one.was) === null && name(one.now) === null) return null;
    const words = (value: unknown) =>
      account(String(value)) === null ? quoted(value) : `${shortAccount(account(String(value)) ?? "")} (${value})`;
    return tell("account", `${one.near === null ? "" : `${quoted(one.near)}: `}the account ${swap(one, words)}`);
  },
  (one, asked) =>
    isMutate(one.tool, asked) &&
    (one.was !== null || isComputed(one) || literal(one.now) !== undefined) &&
    widen("tool", `what it sends to ${one.tool}, ${key(one)}, ${swap(one)}`),
  named(/^calls$/, (one) => one.was !== null && widen("gate", `which calls it asks for or makes ${swap(one)}`)),
  named(AMOUNT, (one) => one.was !== null && isComputed(one) && widen("tool", `an amount, ${key(one)}, ${swap(one)}`)),
  named(/^status$/, (one) => one.was !== null && isComputed(one) && widen("review", `which status an entry gets ${swap(one)}`)),
  named(/^confidence$/, (one) => one.was !== null && isComputed(one) && widen("review", `how sure it is ${swap(one)}`)),
  named(
    RATE,
    (one) =>
      [one.was, one.now].every((given) => given === null || plainDecimal(String(literal(given))) !== null) &&
      byReach(one.reaches, "rate", `${key(one)} ${swap(one, String)}`),
  ),
  (one) =>
    one.compared &&
    tellElse(
      one.near === null ? "condition" : "value",
      `${one.now === null ? "no longer looks for" : "looks for"} ${shownIn(one.now ?? one.was, quoted)}${one.now === null || one.was === null ? "" : ` instead of ${shownIn(one.was, quoted)}`}`,
    ),
  named(TITLE, (one) => tell("gate", `what a person is shown, "${key(one)}", ${swap(one)}`)),
  (one) => byReach(one.reaches, "value", `${one.path.endsWith(".") ? `what ${one.path.replace(/\.+$/, "")} gets` : key(one)} ${swap(one)}`),
];

const ROWS: Row<RowChange>[] = [
  ({ change, near, cells }, { autoConfirm: from }) =>
    change === "new" &&
    isSure(cells["confidence"], "confidence", from) &&
    widen("review", `is sure by itself in one more case (${quoted(near)}, ${cells["confidence"]}; ${from} or more needs no person)`),
  ({ change, near }) =>
    change === "order" && tell("condition", `${quoted(near)} now comes before others that it came after; the first match counts`),
  ({ change, near, cells }, { account }) => {
    const words = Object.entries(cells).flatMap(([name, value]) =>
      value === near ? [] : [`${name} ${account(String(value)) ?? quoted(value)}`],
    );
    return tell("value", `${change === "new" ? "adds" : "removes"} ${quoted(near)}${words.length === 0 ? "" : ` (${words.join(", ")})`}`);
  },
];

const NAMES: Row<NameChange>[] = [
  (one) => one.body && tell("code", `how ${one.name} works is written differently`),
  // What is put into a list is told with its conditions.
  ({ name, was, now }) => (was === "[]" || now === "[]") && tell("code", `${name} is made differently (${now ?? was})`),
  ({ name, was, now, reaches }) => {
    const words =
      now === null
        ? `is no longer ${was}`
        : was === now
          ? `is set under other conditions (${now})`
          : `is computed differently (${now}${was === null ? "" : `; before: ${was}`})`;
    return byReach(reaches, "value", `${name} ${words}`, ": compare by hand");
  },
];

/** more: told as widening when it happens in more places, else when in fewer. */
const ROLES: Record<CallChange["role"], { kind: WideningKind; more: boolean; says: string }> = {
  acts: { kind: "tool", more: true, says: "acts outside or notifies somebody" },
  writes: { kind: "tool", more: true, says: "writes" },
  puts: { kind: "tool", more: true, says: "collects" },
  asks: { kind: "gate", more: false, says: "asks a person" },
  reviews: { kind: "review", more: false, says: "asks for a review" },
  judges: { kind: "policy", more: false, says: "asks the policy" },
};
/** Where what is put into a list comes to something. */
const FED = /^(?:reviews|acts|asks|writes|params) |^(?:items|entries|calls|legs|facts|payments)$/;
const places = (n: number): string => (n === 0 ? "nowhere any more" : `in ${n} ${n === 1 ? "place" : "places"}`);

const CALLS: Row<CallChange>[] = [
  ({ role, what, was, now, all: [before, after] }) => {
    if (role === "puts" || was === now) return null;
    const { kind, more, says } = ROLES[role];
    // One that asks elsewhere asks as often.
    const isMoved = !more && now < was && after >= before;
    const words = isMoved
      ? `${says} elsewhere than before (${what}): compare by hand`
      : `${says} ${places(now)}${was === 0 ? "" : ` instead of ${was}`} (${what})`;
    return more === now > was ? widen(kind, words) : tell("condition", words);
  },
  ({ role, what, added, dropped, reaches }) => {
    const feeds = (kind: RegExp) => role === "puts" && reaches.some((one) => kind.test(one));
    const { kind, more, says } = ROLES[feeds(/^reviews|^items$/) ? "reviews" : role];
    const conditions = (all: readonly string[]) => (all.length === 0 ? "in every case" : all.join(" and ").slice(0, 200));
    const words = `${role === "puts" ? `fills ${what}` : `${says} (${what})`} ${conditions(added)}${dropped.length === 0 ? "" : `; before, ${conditions(dropped)}`}`;
    // What goes into a list that nothing acts on or books is only written differently.
    if (role === "puts" && !feeds(FED)) return tell("code", words);
    // More of what acts is more, as is less of what asks; what only acts less is told.
    return role === "acts" || !more || dropped.length > 0 ? widen(kind, `${words}: compare by hand`) : tell("condition", words);
  },
];

const WORDS: Row<WordChange>[] = [
  ({ call, word, change }) =>
    call === "config_get" &&
    word.startsWith("thresholds.") &&
    change === "gone" &&
    widen("review", `no longer reads ${word} from config.yaml`),
  ({ call, word, change }) =>
    call === "ctx_emit" &&
    (change === "new"
      ? widen("trigger", `emits ${word}, which may start other agents`)
      : tell("trigger", `no longer emits ${word}: agents that wait for it do not start`)),
  ({ call, change }) =>
    /^ctx_(?:today|now)$/.test(call) &&
    change === "new" &&
    widen("command", "depends on the date it runs: recorded runs do not show what it does on another"),
  ({ call, word, change }) =>
    !/^ctx_|^git_/.test(call) &&
    tell("value", `${change === "new" ? "also calls" : "no longer calls"} ${call}${word === "" ? "" : ` (${word})`}`),
];

/** The line of the first row that fits. */
function firstLine<T>(rows: readonly Row<T>[], one: T, asked: Asked): Line | null {
  for (const row of rows) {
    const line = row(one, asked);
    if (line) return line;
  }
  return null;
}

/** Tells what `now` does that `was` did not. `was` null: the program is new, and is told by what it may do at all. */
export function codeWidening(was: Program | null, now: Program, asked: Asked, say: Say): void {
  const tools = newTools(was, now, asked, say);
  const at = ({ file, line }: Place) => (line === 0 ? { file } : { file, line });
  if (was === null) return parties(now, asked, say);
  const { calls, words, names, rows, values } = codeDifference(was, now);
  const told = new Set<string>();
  const each = <T extends Place>(some: readonly T[], table: readonly Row<T>[]) => {
    for (const one of some) {
      const line = firstLine(table, one, asked);
      const place = `${one.file}:${one.line}`;
      if (line === null || (line.rest === true && told.has(place))) continue;
      for (const at of [one.line, ...(("lines" in one ? one.lines : []) as number[])]) if (at !== 0) told.add(`${one.file}:${at}`);
      say(line.kind, line.widens, line.text, at(one));
    }
  };
  each(calls, CALLS);
  each(words, WORDS);
  each(names, NAMES);
  each(rows, ROWS);
  const isTold = ({ path, was: old, now: given }: ValueChange) =>
    SILENT.test(path) || tools.has(literal(given) ?? "") || words.some(({ call, word }) => call === path && word === literal(given ?? old));
  each(
    values.filter((one) => !isTold(one)),
    VALUES,
  );
  const place = now.built.at(-1) ?? { file: now.file, line: 0 };
  if (now.built.length > was.built.length)
    say("tool", true, "builds names or calls while it runs, so its text does not show what it calls: compare by hand", at(place));
}

/** Who a new program names. */
function parties(now: Program, asked: Asked, say: Say): void {
  const told = new Set<string>();
  for (const one of now.literals) {
    const found = firstLine(VALUES, { ...one, near: null, was: null, now: { literal: one.value }, reaches: [] }, asked);
    if (found?.widens !== true || !["recipient", "host", "review"].includes(found.kind) || told.has(found.text)) continue;
    told.add(found.text);
    say(found.kind, true, found.text, one);
  }
}

/** Tells of the tools that it did not name before. */
function newTools(was: Program | null, now: Program, asked: Asked, say: Say): Set<Written["value"]> {
  const known = new Set(was?.literals.flatMap((one) => (isTool(one, asked) ? [one.value] : [])));
  const fresh = new Map(
    now.literals.flatMap((one) => (isTool(one, asked) && !known.has(one.value) ? [[String(one.value), one] as const] : [])),
  );
  const reads = [...fresh].filter(([tool]) => !isMutate(tool, asked));
  for (const [tool, at] of fresh)
    if (isMutate(tool, asked)) say("tool", true, `calls ${tool}, which changes things (${classIn(asked.trust)(tool).why})`, at);
  if (reads[0] !== undefined) say("tool", true, `reads with ${reads.map(([tool]) => tool).join(", ")}`, reads[0][1]);
  return new Set(fresh.keys());
}

function isTool({ value, path }: Written, { trust: { mcp } }: Asked): boolean {
  if (typeof value !== "string" || !TOOL.test(value)) return false;
  return Object.hasOwn(mcp, value.slice(0, value.indexOf("/"))) || /^tools?$/i.test(lastOf(path)) || /^mcp_/.test(path);
}
