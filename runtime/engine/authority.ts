/**
 * Who may decide a card: the one place with this rule. The commands and the page check before a decision is stored; the engine checks
 * again when it counts stored decisions, because a row in the store proves nothing.
 */
import { createHash } from "node:crypto";
import { ClearedError, toWire } from "../kernel/errors.ts";
import { plainDecimal } from "../kernel/money.ts";
import { compareDecimals } from "../rules/policy/values.ts";
import { type Ladder, levelName, meetsLevel } from "../rules/policy/levels.ts";
import type { Call, Card, CardDraft, Decision, Json, RunRecord } from "../kernel/ports.ts";
import type { Header } from "../scripts/header.ts";
import { validateInput } from "../scripts/fields.ts";
import { normalText } from "../rules/grounding.ts";
import { nameWords } from "../rules/tools/classify.ts";
import { isHarmless } from "../rules/tools/harmless.ts";
import { amountsIn, isAmountKey, MULTIPLIES, saysCurrency } from "../rules/tools/trace.ts";
import type { Authority } from "./approval.ts";
import { canonicalJson } from "../kernel/canonical.ts";
import { NOBODY } from "../kernel/text.ts";
import { addedIn, changesIn, type Edit, IN_DIGITS, isFilledIn, isNote, isUnread, keyOf, leavesOf } from "../rules/edits.ts";
import type { RunState } from "./access.ts";
import { verifyDecision } from "./signature.ts";

interface Person {
  name: string;
  key: string;
  roles: readonly string[];
  /** Their id at each tool server. */
  ids?: Readonly<Record<string, string>> | undefined;
}

/** A hash of what a run's card shows to a person: a changed row of the store could show other calls than the run asks for. */
export function shownOf({ kind, title, body, calls, fields, otherwise }: CardDraft): string {
  return createHash("sha256").update(canonicalJson({ kind, title, body, calls, fields, otherwise })).digest("base64url");
}

/** What a signature is for: the gate of a run, else the card by its unique key. */
export const questionIn = (card: Card): string => (card.gate === null ? `card/${card.key}` : `${card.run}/${card.gate}`);

/** The card, if a signed answer was given to it and to what it shows: rows of the store could be swapped. @throws APPROVAL_IDENTITY */
export function shownIn(card: Card, { by, gate, shown }: Decision): Card {
  if (gate === questionIn(card) && shown === shownOf(card)) return card;
  throw new ClearedError("APPROVAL_IDENTITY", `${by} was shown something other than "${card.title}". Look at the card again, then decide.`);
}

/** The roles and ranks a card asks for. */
function levelsOf(card: Pick<CardDraft, "level" | "levels">): string[] {
  return (card.levels ?? (card.level === null ? [] : [card.level])).map(levelName);
}

/** What keeps whoever started or proposed something from deciding it alone. Somebody unidentified could be anyone here, so two people must agree. */
export function notAlone(by: string, approvals = 1): Pick<CardDraft, "approvals" | "not_by"> {
  return by === NOBODY ? { approvals: Math.max(approvals, 2) } : { not_by: by, ...(approvals > 1 ? { approvals } : {}) };
}

/**
 * Whether what a run works on came from outside by whoever had access: put a file into a folder, knew the secret of a webhook, is an anonymous
 * caller. That could be each person who decides, also one who starts it once more, so where the policy asks for another one, two must agree.
 * `outside`: of the run behind it.
 */
export const couldBeAnybodys = ({ by, cause: { kind, detail } }: Pick<RunRecord, "by" | "cause">): boolean =>
  ["watch", "webhook"].includes(kind) ||
  (by === undefined && ["a2a", "mcp"].includes(kind)) ||
  (detail as { from?: { outside?: true } } | undefined)?.from?.outside === true;

/** Who started a run; NOBODY if trust.yaml no longer has that name, because whoever had it may have another one. */
export const starterOf = ({ by }: Pick<RunRecord, "by">, people: readonly string[]): string | undefined =>
  by === undefined || people.includes(by) ? by : NOBODY;

/** The card as its run would ask it today: with several people nobody decides what they started, even if it was opened while there was one. */
export function asAskedNow<C extends Pick<CardDraft, "kind" | "not_by" | "approvals">>(
  card: C,
  run: Pick<RunRecord, "by">,
  people: readonly string[],
): C {
  const by = starterOf(run, people);
  const barred = people.length > 1 && by !== undefined && card.kind !== "form";
  const { not_by: _, ...asked } = card;
  return barred ? ({ ...asked, ...notAlone(by, card.approvals) } as C) : card;
}

/** What keeps whoever requested a case from approving it, in words. */
export const notRequester = ({ requesters, requested_at }: Requested): string =>
  requesters === undefined ? "" : `not ${requesters.join(", ")}, who requested it: two people, or one who ${apart(requested_at)}`;
const apart = (servers: readonly string[] = []): string =>
  `has an id ${servers.length === 0 ? "" : `at ${servers.join(" and ")} `}under ids: in trust.yaml`;
type Requested = Pick<CardDraft, "requesters" | "requested_at">;

/** The tool servers whose records gave the run these ids; none if one of them is not known to be a server's, as where the input has it, too. */
export function serversOf(ids: readonly string[], { seen, texts: [input = "null"] }: Pick<RunState, "seen" | "texts">): string[] {
  const said = (value: Json) => new Set([...leavesOf([["", value]]).values()].map((one) => normalText(String(one))));
  const given = said(JSON.parse(input) as Json);
  const reads = [...seen].map(([call, value]) => ({ tool: (JSON.parse(call) as [string])[0], said: said(value) }));
  const found = ids.map(normalText).map((id) => (given.has(id) ? [] : reads.filter((one) => one.said.has(id) && one.tool.includes("/"))));
  return found.some((of) => of.length === 0) ? [] : [...new Set(found.flat().map(({ tool }) => tool.slice(0, tool.indexOf("/"))))];
}

/** Names of those who may decide this card. */
export function ableTo(
  card: Pick<CardDraft, "level" | "levels" | "not_by" | "requesters">,
  people: readonly Person[],
  ladder: Ladder,
): string[] {
  const levels = levelsOf(card);
  return people
    .filter((one) => one.name !== card.not_by && requesterIdOf(one, card) === undefined)
    .filter((one) => levels.length === 0 || levels.some((level) => meets(one, level, people, ladder)))
    .map((one) => one.name);
}

/** By which of their ids a person is one of those who requested the case; their name counts as one, as where it is recorded (`idAt`). */
function requesterIdOf({ name, ids }: Person, { requesters = [] }: Pick<CardDraft, "requesters">): string | undefined {
  const own = [name, ...Object.values(ids ?? {})].map(normalText);
  return requesters.find((id) => own.includes(normalText(id)));
}

/**
 * Whether trust.yaml tells a person from whoever requested the case: that is another of its people, or this one has an id, each at the servers
 * that the requester's id is from; where that is not known, wherever anybody has one.
 */
function isApart(person: Person, { requesters = [], requested_at }: Requested, people: readonly Person[]): boolean {
  const servers = requested_at ?? [...new Set(people.flatMap(({ ids }) => Object.keys(ids ?? {})))];
  const at = ({ ids = {} }: Person) =>
    Object.fromEntries(servers.flatMap((one) => (Object.hasOwn(ids, one) ? [[one, ids[one] ?? ""]] : [])));
  const isKnown = servers.length > 0 && Object.keys(at(person)).length === servers.length;
  const isOnes = (id: string) => people.some((one) => requesterIdOf({ ...one, ids: at(one) }, { requesters: [id] }) !== undefined);
  return isKnown || requesters.every(isOnes);
}

/** A person who is alone in trust.yaml and has no roles counts as having all of them. */
function meets(person: Person, level: string, people: readonly Person[], ladder: Ladder): boolean {
  return (people.length === 1 && person.roles.length === 0) || meetsLevel(ladder, person.roles, level);
}

/**
 * An approval counts from a person of trust.yaml who holds one of the demanded levels and, where that bars, did not start the run. The gate
 * closes when those who approved together hold all of the levels. A rejection and an edit need the same right.
 */
export function createAuthority(people: readonly Person[], ladder: Ladder): Authority {
  return {
    objection(card, decision) {
      try {
        verifyDecision(decision, people);
        if (card.gate !== null && decision.gate !== `${card.run}/${card.gate}`)
          throw new ClearedError("APPROVAL_IDENTITY", `${decision.by}'s signature is for another question than "${card.title}".`);
        if (decision.shown !== undefined && decision.shown !== shownOf(card))
          throw new ClearedError("APPROVAL_IDENTITY", `${decision.by} was shown something other than "${card.title}" and its calls.`);
        // That a call in doubt has happened sends nothing: anybody may say so.
        if (card.kind !== "in_doubt" || decision.decision === "rejected") assertAble(card, decision, people, ladder);
        if (decision.decision === "edited") assertEdit(card, decision);
        if (card.kind === "form" && decision.decision !== "rejected") assertAnswer(card, decision);
        return null;
      } catch (error) {
        return error instanceof ClearedError
          ? error
          : new ClearedError("APPROVAL_IDENTITY", `Not a valid decision: ${toWire(error).message}`);
      }
    },
    idAt: (server, name) => people.find((one) => one.name === name)?.ids?.[server] ?? name,
    unmet(card, names) {
      const approvers = people.filter((one) => names.includes(one.name));
      const alone = approvers.length < 2 && !approvers.every((one) => isApart(one, card, people));
      return [
        ...levelsOf(card).filter((level) => !approvers.some((one) => meets(one, level, people, ladder))),
        ...(alone ? [`a second person, or by one who ${apart(card.requested_at)}`] : []),
      ];
    },
  };
}

/** @throws APPROVAL_SELF, APPROVAL_LEVEL */
function assertAble(card: CardDraft, { by }: Decision, people: readonly Person[], ladder: Ladder): void {
  const able = ableTo(card, people, ladder);
  if (able.includes(by)) return;
  const levels = levelsOf(card).join(" or ");
  const others =
    able.length > 0
      ? `It can be decided by ${able.join(", ")}.`
      : `No one in trust.yaml can: give another person ${levels === "" ? "a key" : `the role ${levels}`} there, under people:.`;
  if (by === card.not_by) {
    const how = card.started_by === undefined || card.started_by === by ? "" : ` (${card.started_by})`;
    const did = card.kind === "proposal" ? "proposed this or started the run that did," : `started this run${how}`;
    throw new ClearedError("APPROVAL_SELF", `${by} ${did} and may not decide "${card.title}". ${others}`);
  }
  const person = people.find((one) => one.name === by) as Person;
  const id = requesterIdOf(person, card);
  if (id !== undefined)
    throw new ClearedError("APPROVAL_SELF", `${by} is ${id}, who requested this, and may not decide "${card.title}". ${others}`);
  const { roles } = person;
  throw new ClearedError(
    "APPROVAL_LEVEL",
    `"${card.title}" asks for ${levels}; ${by} is ${roles.join(", ") || "without a role"}. ${others}`,
  );
}

/** An edit changes parameters only, not which calls are made. A demanded level was found for the card's amounts, so none may rise. */
function assertEdit(card: CardDraft, decision: Decision): void {
  const calls = decision.calls ?? [];
  const kept = calls.length === card.calls.length && calls.every((call, i) => call.tool === card.calls[i]?.tool);
  if (!kept || card.kind !== "approval") throw new ClearedError("USAGE", `Only the parameters of the calls of an approval can be changed.`);
  if (card.fixed === true)
    throw new ClearedError(
      "USAGE",
      `"${card.title}" can only be approved as it is: its figures depend on each other, or its script cannot take others back. Reject it, correct what they come from, and start the run again.`,
    );
  const filled = changesIn(card.calls, calls).find(({ from }) => isFilledIn(from));
  if (filled !== undefined)
    throw new ClearedError("USAGE", `${filled.path} is filled in with whoever approves, or why, and cannot be changed.`);
  const [added] = addedIn(card.calls, calls);
  if (added !== undefined)
    throw new ClearedError(
      "APPROVAL_EDIT",
      `${added.path} ${JSON.stringify(added.value)} was not among what "${card.title}" asked about. Reject it, and start the run again with it.`,
    );
  // With several approvers an edit back to the card's own calls is a change: it undoes another person's edit.
  if (changesIn(card.calls, calls).length === 0 && (card.approvals ?? 1) < 2 && levelsOf(card).length < 2)
    throw new ClearedError("USAGE", `Nothing is changed. Approve the card as it is.`);
  // A brief means that a policy judged these figures.
  const judged = levelsOf(card).length > 0 || card.brief !== undefined;
  assertReadable(card, changesIn(card.calls, calls), judged);
  if (!judged) return;
  for (const [i, call] of calls.entries()) {
    const before = new Map(amountsIn(card.calls[i]?.params ?? null).map((one) => [one.path, one.value]));
    for (const { path, value } of amountsIn(call.params)) {
      const was = before.get(path);
      const turns = was !== undefined && signOf(value) !== 0 && signOf(value) !== signOf(was);
      if (was === value || (isAtMost(value, was ?? "") && !turns)) continue;
      const how = turns ? `would turn from ${was} into ${value}` : `would rise from ${was ?? "nothing"} to ${value}`;
      throw new ClearedError(
        "APPROVAL_EDIT",
        `${call.tool} ${path} ${how}, and ${levelsOf(card).join(", ") || "the policy"} was asked for ${turns ? "the other direction" : "the lower one"}. Reject it, and start the run again with the new figure.`,
      );
    }
  }
}

// A larger quantity at the same price, another currency, or what may multiply the amount beside it, is another amount.
const changesAmounts = (key: string, to: Json, besideAmount: boolean): boolean =>
  saysCurrency(key, to) ||
  nameWords(key).some((word) => MULTIPLIES.includes(word)) ||
  (besideAmount && !isNote(key, to) && !isHarmless([key], to));

/** Refuses changes that could raise what was judged: to an amount that cannot be compared, a new figure, a quantity, a currency or the record that was judged. @throws APPROVAL_EDIT, USAGE */
function assertReadable(card: CardDraft, changes: readonly Edit[], judged: boolean): void {
  for (const { path, from, to } of changes) {
    const key = keyOf(path);
    const isNew = from === null && (isAmountKey(key) === true || plainDecimal(to) !== null);
    const isOther = card.records?.includes(path) === true;
    if (!isOther && judged && isUnread(path, to))
      throw new ClearedError("USAGE", `${path} is an amount: write it ${IN_DIGITS}, not ${JSON.stringify(to)}.`);
    const besideAmount = amountsIn(card.calls[Number(path.split(".")[1])]?.params ?? null).length > 0 && isAmountKey(key) !== true;
    if (!isOther && (!judged || (!isNew && !changesAmounts(key, to, besideAmount)))) continue;
    const [what, anew] = isOther ? ["is not", "for that one"] : ["could raise", "with the new figure"];
    throw new ClearedError(
      "APPROVAL_EDIT",
      `${path} ${JSON.stringify(from)} -> ${JSON.stringify(to)} ${what} what "${card.title}" was ${judged ? "judged by" : "asked about"}. Reject it, and start the run again ${anew}.`,
    );
  }
}

export const signOf = (amount: unknown): number => Math.sign(compareDecimals(plainDecimal(amount) ?? "0", "0"));

/** Compares plain decimals without their signs; false for anything else. */
export function isAtMost(amount: unknown, limit: unknown): boolean {
  const [size, most] = [amount, limit].map((one) => plainDecimal(one)?.replace("-", ""));
  return size !== undefined && most !== undefined && compareDecimals(size, most) <= 0;
}

/** @throws RUN_INPUT naming the field */
function assertAnswer(card: CardDraft, decision: Decision): void {
  validateInput({ name: card.title, input: card.fields as unknown as Header["input"] }, decision.result ?? {});
}

/** The hash that an outside approval must name, so that it covers exactly these calls. */
export function actionHash(calls: readonly Call[]): string {
  return createHash("sha256").update(canonicalJson(calls)).digest("hex");
}
