/**
 * Rows over the difference of two programs: tables, names, calls and words. Each row says how a change is recognized, in which words it is
 * reported, and whether it widens rights; the first match reports it, so that nothing is reported twice or omitted.
 */
import { shortJson } from "../../kernel/text.ts";
import { PAYEE } from "../evidence/acts.ts";
import { partOf } from "../evidence/partings.ts";
import type { CallChange, DeedChange, NameChange, WordChange } from "./code-difference.ts";
import { lastOf } from "./code-names.ts";
import { type Around, TOOL, classIn } from "./program.ts";
import type { Written } from "./leaves.ts";
import type { ChangeKind, WideningKind } from "../proposal-types.ts";
import { inEvery } from "./deeds.ts";
import type { Given, Literal, RowChange } from "./stated-values.ts";

/** What the rows need besides the difference. */
export interface Asked extends Around {
  /** The confidence from which on nobody reviews an entry. */
  autoConfirm: number;
  /** The name of an account in the books, or null. */
  account(word: string): string | null;
}

export interface Line {
  kind: ChangeKind;
  widens: boolean;
  text: string;
  /** Reported only if no reported text of its line contains this. */
  rest?: string;
  /** Reported in one line with others under the same condition. */
  only?: { does: string; when: string };
}
export type Row<T> = (one: T, asked: Asked) => Line | null | undefined | false;

export const widen = (kind: WideningKind, text: string): Line => ({ kind, widens: true, text });
export const tell = (kind: ChangeKind, text: string): Line => ({ kind, widens: false, text });
export const tellElse = (kind: ChangeKind, text: string, of: string): Line => ({ ...tell(kind, text), rest: of });
export const quoted = (value: unknown): string => shortJson(value, 79);
/** Code within a line; the card puts it into words (card-details.ts). */
export const code = (text: string): string => `‹${text}›`;
/** How it is computed now, and was before. */
export const inBoth = (was: string | null, now: string): string =>
  was === null ? code(partOf(now, "")) : `${code(partOf(now, was))}; before: ${code(partOf(was, now))}`;
/** Its literal value; undefined if it is computed or absent. */
export const literal = (one: Given | null): Literal | undefined => (one !== null && "literal" in one ? one.literal : undefined);

/** What a name or list decides, gravest first; kind and wording of the line for a difference. */
const DECIDES: [RegExp, WideningKind, string][] = [
  [/^(?:asks .*|ask|required|level|calls)$/, "gate", "whether a person is asked, or for what"],
  [/^(?:judges .*|facts)$/, "policy", "what the policy judges by"],
  [/^status$/, "review", "which status an entry gets"],
  [/^(?:reviews .*|confidence|items)$/, "review", "which entries a person sees"],
  [/^(?:acts .*|params of .*|tool)$/, "tool", "what is done outside"],
  [PAYEE, "recipient", "who is notified or paid"],
  [/^emits /, "trigger", "what the agents it starts are given"],
  [/^writes (?!journal_|git_)/, "tool", "what is written"],
  [/^(?:amount|debit|credit)$/, "tool", "an amount"],
  [/^(?:debit|credit)_account$/, "tool", "which account is booked"],
  [/^reads /, "tool", "what is read"],
];
const decidedBy = (reaches: readonly string[]) => DECIDES.find(([what]) => reaches.some((one) => what.test(one)));
/** Reported as widening if the name reaches something significant. */
export const byReach = (reaches: readonly string[], kind: ChangeKind, words: string, of: string, more = ""): Line => {
  const decides = decidedBy(reaches);
  const line = decides === undefined ? tell(kind, words) : widen(decides[1], `${words}, which decides ${decides[2]}${more}`);
  return { ...line, rest: of };
};

export const isSure = (value: unknown, name: string, from: number): boolean =>
  typeof value !== "boolean" && value !== undefined && Number(value) >= from && (Number(value) < 1 || name === "confidence");
export const isMutate = (tool: unknown, { trust }: Asked): boolean => typeof tool === "string" && classIn(trust)(tool).class === "mutate";
export function isTool({ value, path }: Written, { trust: { mcp } }: Asked): boolean {
  if (typeof value !== "string" || !TOOL.test(value)) return false;
  return Object.hasOwn(mcp, value.slice(0, value.indexOf("/"))) || /^tools?$/i.test(lastOf(path)) || /^mcp_/.test(path);
}

const cellsOf = ({ near, cells }: RowChange, { account }: Asked): string =>
  Object.entries(cells)
    .flatMap(([name, value]) => (value === near ? [] : [`${name} ${account(String(value)) ?? quoted(value)}`]))
    .join(", ");

export const ROWS: Row<RowChange>[] = [
  (row, asked) =>
    row.change === "new" &&
    isSure(row.cells["confidence"], "confidence", asked.autoConfirm) &&
    widen(
      "review",
      `books without review in one more case (${quoted(row.near)}: ${cellsOf(row, asked)}; ${asked.autoConfirm} or more needs no person)`,
    ),
  // Calls in another order are reported as such.
  ({ change, near }, asked) => change === "order" && isTool({ value: near, path: "" }, asked) && tell("code", `${near} stands elsewhere`),
  ({ change, near }) =>
    change === "order" && tell("condition", `${quoted(near)} now comes before others that it came after; the first match counts`),
  (row, asked) => {
    const words = cellsOf(row, asked);
    return tell("value", `${row.change === "new" ? "adds" : "removes"} ${quoted(row.near)}${words === "" ? "" : ` (${words})`}`);
  },
];

/** Names two calls by the first text argument of each, such as a tool or an event; as in the source if that is the same. */
export function nameDeeds(one: string, other: string): [string, string] {
  const nameOf = (text: string) => /^(\w+)\([^"]*?"([^"]*)"/.exec(text)?.slice(1).join(" ");
  const [name, next] = [nameOf(one), nameOf(other)];
  return name !== undefined && next !== undefined && name !== next ? [name, next] : [code(partOf(one, other)), code(partOf(other, one))];
}

export const DEEDS: Row<DeedChange>[] = [
  ({ role, was, now, order }) => {
    if (!order || role === "puts" || was === now) return null;
    const [first, then] = nameDeeds(now, was);
    return tell("condition", `${first} now comes before ${then}, which it came after`);
  },
  ({ role, what, was, now, order, reaches }) => {
    const given =
      role === "puts"
        ? `what is put into ${what}`
        : role === "stops"
          ? "what it says where it stops"
          : role === "does"
            ? "what it calls or changes indirectly"
            : `what ${what} is called with`;
    const words = order
      ? `${given} comes ${was === now ? "after other changes of it" : "in another order"} (${code(partOf(now, ""))}${was === now ? "" : ` now comes before ${code(partOf(was, ""))}`})`
      : `${given} is computed differently (${inBoth(was, now)})`;
    return role === "puts" ? byReach(reaches, "value", words, now) : { ...widen(ROLES[role].kind, words), rest: now };
  },
];

export const NAMES: Row<NameChange>[] = [
  (one) => one.body && tell("code", `how ${one.name} works is written differently`),
  // Items put into a list are reported with their conditions.
  ({ name, was, now }) => (was === "[]" || now === "[]") && tell("code", `${name} is made differently (${code(now ?? was ?? "")})`),
  ({ name, was, now, order, when, reaches }) => {
    const words = order
      ? `is set in another order (${code(partOf(now ?? "", ""))} now comes before ${code(partOf(was ?? "", ""))})`
      : now === null
        ? `is no longer ${code(was ?? "")}`
        : was === now
          ? `is set under other conditions (${code(partOf(now, ""))} ${when[0] === when[1] ? "" : `${when[0]}; before, ${when[1]}`}`
              .trimEnd()
              .concat(")")
          : `is computed differently (${inBoth(was, now)})`;
    return byReach(reaches, "value", `${name} ${words}`, now ?? was ?? "", ": compare by hand");
  },
];

/** more: widening if it happens in more places, else in fewer. */
const ROLES: Record<CallChange["role"], { kind: WideningKind; more: boolean; says: string }> = {
  acts: { kind: "tool", more: true, says: "acts outside or notifies someone" },
  emits: { kind: "trigger", more: true, says: "emits an event" },
  writes: { kind: "tool", more: true, says: "writes" },
  puts: { kind: "tool", more: true, says: "collects" },
  does: { kind: "tool", more: true, says: "calls or changes something" },
  asks: { kind: "gate", more: false, says: "asks a person" },
  reviews: { kind: "review", more: false, says: "asks for a review" },
  judges: { kind: "policy", more: false, says: "asks the policy" },
  // No recorded run that went through shows when it would have stopped.
  stops: { kind: "command", more: false, says: "stops" },
};
/** Lists in which one more item means one more thing requested, done or booked. */
const DONE = /^(?:acts|asks|params) |^(?:calls|payments|legs)$/;
/** Lists whose items have an effect. */
const FED = /^(?:reviews|acts|asks|writes|params) |^(?:items|entries|calls|legs|facts|payments)$/;
const places = (n: number): string => (n === 0 ? "nowhere now" : `in ${n} ${n === 1 ? "place" : "places"}`);

export const CALLS: Row<CallChange>[] = [
  ({ role, what, was, now, all: [before, after] }) => {
    if (role === "puts" || was === now) return null;
    const { kind, more, says } = ROLES[role];
    // A question moved to another place is asked as often.
    const isMoved = !more && now < was && after >= before;
    const words = isMoved
      ? `${says} elsewhere than before (${what}): compare by hand`
      : `${says} ${places(now)}${was === 0 ? "" : ` instead of ${was}`} (${what})`;
    return more === now > was ? widen(kind, words) : tell("condition", words);
  },
  ({ role, what, was, now, added, dropped, reaches }) => {
    const feeds = (kind: RegExp) => role === "puts" && reaches.some((one) => kind.test(one));
    const { kind, more, says } = ROLES[feeds(/^reviews|^items$/) ? "reviews" : role];
    // Texts that read the same are not reported as different.
    const reads = added.map((text) => (dropped.includes(text) ? `${text}, where a name in it means something else` : text));
    const before = dropped.filter((text) => !added.includes(text));
    const isGone = role === "puts" && now === 0;
    const does = role === "puts" ? `${isGone ? "no longer " : ""}adds to ${what}` : `${says} (${what})`;
    const past = before.length === 0 ? [] : [`before, ${inEvery(before)}`];
    const when = isGone ? past.map((one) => `(${one})`).join() : [inEvery(reads), ...past].join("; ");
    // Items of a list that nothing acts on or books are only written differently.
    const text = `${does} ${when}`.trimEnd();
    if (role === "puts" && !feeds(FED)) return tell("code", text);
    // More calls that act, or fewer that ask, widen; fewer calls that act are only reported.
    const isMore = now > was && feeds(DONE);
    const line =
      role === "acts" || !more || dropped.length > 0 || isMore ? widen(kind, `${text}: compare by hand`) : tell("condition", text);
    return { ...line, only: { does, when } };
  },
];

export const WORDS: Row<WordChange>[] = [
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
  ({ call, word, change }) =>
    `${call} ${change}` === "fsm_enter gone" &&
    /^(?:ESCALATE|FAILED)$/.test(word) &&
    widen("state", `no longer ends with ${word}: what comes after that is done`),
  ({ call, change }) =>
    /^ctx_(?:today|now)$/.test(call) &&
    change === "new" &&
    widen("command", "depends on the date it runs: recorded runs do not show what it does on another"),
  ({ call, word, change, reads }) =>
    reads && change === "new" && widen("tool", `also calls ${call}${word === "" ? "" : ` (${word})`}, which reads`),
  ({ call, word, change }) =>
    !/^ctx_|^git_/.test(call) &&
    tell("value", `${change === "new" ? "also calls" : "no longer calls"} ${call}${word === "" ? "" : ` (${word})`}`),
];
