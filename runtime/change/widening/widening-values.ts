/** Rows for changed values of a program, by their key and by what they are (widening-rows.ts). */
import { PAYEE } from "../evidence/acts.ts";
import { partOf, shortAccount } from "../evidence/partings.ts";
import { plainDecimal } from "../../kernel/money.ts";
import { NAME, plainForm } from "../../scripts/form-marks.ts";
import type { ValueChange } from "./code-difference.ts";
import { lastOf } from "./code-names.ts";
import { type Written, hostsIn, recipientsIn } from "./leaves.ts";
import {
  type Line,
  type Asked,
  type Row,
  byReach,
  code,
  inBoth,
  isMutate,
  isSure,
  isTool,
  literal,
  quoted,
  tell,
  tellElse,
  widen,
} from "./widening-rows.ts";
import type { Given } from "./stated-values.ts";

const all = (texts: readonly unknown[]): string => texts.map(quoted).join(", ");
const shownIn = (one: Given | null, show: (value: unknown) => string): string =>
  one === null ? "nothing" : "literal" in one ? show(one.literal) : code(partOf(one.shown, ""));
/** `is NOW instead of WAS`; `is computed differently (NOW; before: WAS)` */
const swap = ({ was, now }: ValueChange, show: (value: unknown) => string = quoted): string => {
  if (now === null) return `is no longer given (${shownIn(was, show)})`;
  if ("shown" in now && was !== null && "shown" in was)
    return `is computed differently (${was.shown === now.shown ? `${code(partOf(now.shown, ""))}, where a name in it means something else` : inBoth(was.shown, now.shown)})`;
  if ("shown" in now) return `is computed differently (${inBoth(null, now.shown)}${was === null ? "" : `; before: ${shownIn(was, show)}`})`;
  return `is ${show(now.literal)}${was === null ? "" : ` instead of ${shownIn(was, show)}`}`;
};

const rawOf = ({ was, now }: ValueChange): string => {
  const one = now ?? was;
  return one === null ? "" : "literal" in one ? quoted(one.literal) : one.shown;
};

const PERSONS = /^(?:user-confirmed|user-corrected|bootstrap-confirmed)$/;
const DAY = /^(?:19|20)\d\d-\d\d(?:-\d\d)?(?:T.*)?$/;
const FACT = /(?:^|\.)facts\./;
const AMOUNT = /^(?:amount|total|sum|price|quantity|debit|credit)$/;
const ACCOUNT = /(?:^|_)account$/;
const LEG = /^(?:debit|credit)_account$/;
const RATE = /rate|pct|percent|threshold|limit|tolerance|discount|tax|fee|days|(?:^|_)(?:min|max)(?:_|$)/i;
const GATE = /^(?:ask|required|fixed|level|levels|approvals|expires|agent)$/;
/** Identifies an earlier notice or start. */
const DISTINCT = /^(?:notify|schedule)_\w+\.key$/;
const TITLE = /^(?:title|question|details)$/;
/** Names in such a list: added ones widen, other changes are reported. */
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
const isComputed = ({ now }: ValueChange): boolean => now !== null && "shown" in now && !now.fixed;
/** Also a choice between two known values: it matters when which one applies. */
const isChosen = ({ was, now }: ValueChange): boolean => was !== null && now !== null && "shown" in now;
const key = ({ path, near, head }: ValueChange): string => {
  const value = head === null ? "a value" : `a value of ${lastOf(`${NAME}${head}${NAME}`)}`;
  return `${near === null ? "" : `${quoted(near)}: `}${lastOf(path) || value}`;
};
const given = (call: string): string => (call === "" ? "its answer" : `what ${call} gets`);
const named =
  (pattern: RegExp, then: (one: ValueChange, asked: Asked) => Line | null | undefined | false): Row<ValueChange> =>
  (one, asked) =>
    pattern.test(lastOf(one.path)) && then(one, asked);

export const VALUES: Row<ValueChange>[] = [
  // Nothing acts on it, and it is in the history of the books.
  (one) => /^git_commit\b/.test(one.path) && tell("text", `what its commits say ${swap(one)}`),
  (one) => one.path === "throw" && !one.compared && tell("text", `what it says where it stops ${swap(one)}`),
  named(/^tool$/, (one) => isComputed(one) && widen("tool", `calls a tool whose name it computes (${shownIn(one.now, String)})`)),
  (one, asked) => {
    const [was, now] = [literal(one.was), literal(one.now)];
    if (now === undefined) return isTool({ value: was ?? "", path: one.path }, asked) && tell("tool", `no longer calls ${was}`);
    if (!isTool({ value: now, path: one.path }, asked)) return null;
    return (isMutate(now, asked) ? widen : tell)("tool", `calls ${now}${was === undefined ? "" : ` instead of ${was}`}`);
  },
  (one) => one.path === "policy_evaluate.facts" && widen("policy", `what the policy judges by, its facts, ${swap(one)}`),
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
  named(/^fixed$/, (one) => literal(one.now) === true && tell("gate", `what is approved may not be edited: "fixed" ${swap(one)}`)),
  named(
    GATE,
    (one) => !one.compared && (one.was !== null || literal(one.now) !== undefined) && widen("gate", `"${key(one)}" ${swap(one)}`),
  ),
  (one, { autoConfirm: from }) =>
    isSure(literal(one.now), lastOf(one.path), from) &&
    !isSure(literal(one.was), lastOf(one.path), from) &&
    widen("review", `books without review in one more case (${key(one)} ${swap(one)}; ${from} or more needs no person)`),
  named(PAYEE, (one) => isComputed(one) && widen("recipient", `whom it notifies or pays, "${key(one)}", ${swap(one)}`)),
  // No longer confident enough to skip review.
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
  (one) =>
    !one.compared &&
    one.reaches.some((what) => what.startsWith("reads ")) &&
    byReach(one.reaches, "value", `${key(one)} ${swap(one)}`, rawOf(one)),
  (one, { account }) => {
    const name = (given: Given | null) => account(String(literal(given)));
    if (!named(ACCOUNT, () => tell("account", ""))(one, {} as Asked) && name(one.was) === null && name(one.now) === null) return null;
    const words = (value: unknown) =>
      account(String(value)) === null ? quoted(value) : `${shortAccount(account(String(value)) ?? "")} (${value})`;
    const leg = one.near === null && LEG.exec(lastOf(one.path))?.[0];
    if (leg && isChosen(one)) return widen("tool", `which account is booked, ${leg}, ${swap(one, words)}`);
    return tell("account", `${one.near === null ? (leg ? `${leg}: ` : "") : `${quoted(one.near)}: `}the account ${swap(one, words)}`);
  },
  (one, asked) =>
    isMutate(one.tool, asked) &&
    !one.compared &&
    (one.was !== null || isComputed(one) || literal(one.now) !== undefined) &&
    widen("tool", `what it sends to ${one.tool}, ${key(one)}, ${swap(one)}`),
  (one, asked) =>
    one.tool !== null &&
    !isMutate(one.tool, asked) &&
    !one.compared &&
    widen("tool", `what it asks ${one.tool} for, ${key(one)}, ${swap(one)}`),
  (one) =>
    DISTINCT.test(plainForm(one.path)) &&
    (one.was !== null
      ? widen("command", `what is done once for each "key" ${swap(one)}: what has a key that was there is not done again`)
      : tell("condition", `is done only once for each ${shownIn(one.now, quoted)} ("key"): what has one that was there is not done again`)),
  named(/^calls$/, (one) => one.was !== null && widen("gate", `which calls it asks for or makes ${swap(one)}`)),
  named(AMOUNT, (one) => isChosen(one) && widen("tool", `an amount, ${key(one)}, ${swap(one)}`)),
  named(/^status$/, (one) => isChosen(one) && widen("review", `which status an entry gets ${swap(one)}`)),
  named(/^confidence$/, (one) => isChosen(one) && widen("review", `how sure it is ${swap(one)}`)),
  named(
    RATE,
    (one) =>
      [one.was, one.now].every((given) => given === null || plainDecimal(String(literal(given))) !== null) &&
      byReach(one.reaches, "rate", `${key(one)} ${swap(one, String)}`, rawOf(one)),
  ),
  (one) =>
    one.compared &&
    tellElse(
      one.near === null ? "condition" : "value",
      `${one.now === null ? "no longer looks for" : "looks for"} ${shownIn(one.now ?? one.was, quoted)}${one.now === null || one.was === null ? "" : ` instead of ${shownIn(one.was, quoted)}`}`,
      rawOf(one),
    ),
  named(TITLE, (one) => tell("gate", `what a person is shown, "${key(one)}", ${swap(one)}`)),
  (one) =>
    byReach(one.reaches, "value", `${one.path.endsWith(".") ? given(one.path.replace(/\.+$/, "")) : key(one)} ${swap(one)}`, rawOf(one)),
];
