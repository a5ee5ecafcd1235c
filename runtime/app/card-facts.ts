/** The facts on an open card besides its question and calls, the same in a terminal and on the page. */
import { shownOf } from "../engine/authority.ts";
import { canonicalJson } from "../kernel/canonical.ts";
import type { Card, Json } from "../kernel/ports.ts";
import { amountsLine, actionLines, requestSections } from "../rules/answers/documents.ts";
import { callsOf, editsOf, titleOf } from "../rules/edits.ts";
import { amountsOf } from "../rules/tools/trace.ts";
import { isObject } from "../rules/tools/shape.ts";

/** Identifies what the page has shown of a card: an approval of anything else is refused. */
export const seenOf = (card: Card): string => `${card.name} ${shownOf(card)}`;

export interface CardFacts {
  [name: string]: Json;
}

/** Cards about rows of a statement. */
export const OF_ROWS = ["row", "same", "gone", "account", "correction", "rule"];
/** Fields that connect such a card to its file, or that its other lines already show. */
const TIES = ["match", "card", "hash", "question", "ids", "receipt", "approve", "reject", "file", "line", "code"];

/** Kinds whose body is provided by the script; in other kinds it is the runtime's, with the script's part under `about`. */
const TOLD_BY_SCRIPTS = ["approval", "form"];

/** What the runtime states on a card, and the details its script gives: those stand apart under a heading, so that no name in them is taken for the first. */
export interface ToldFacts {
  own: CardFacts;
  heading: string;
  details: CardFacts;
}

/** Why it asks, the amounts, what a rejection does; then the details. Nothing for a proposal: its card is made from git. */
export function cardFacts(card: Card): ToldFacts {
  const { own, details } = factsIn(card);
  // The words of a script are not among the reasons where a policy gives some.
  const { message, why: reason, confidence, ...rest } = { ...own, ...(TOLD_BY_SCRIPTS.includes(card.kind) ? {} : details) };
  const words = (value: Json | undefined) => (value === undefined ? [] : [typeof value === "string" ? value : canonicalJson(value)]);
  // A script states its confidence between 0 and 1.
  const sure = words(confidence).map((of) => (Number(of) === 0 ? "no rule recognises it (confidence 0 of 1)" : `confidence ${of} of 1`));
  const { policy_compliance: policy = "" } = sectionsOf(card);
  const because = [...words(message), ...words(reason), ...sure].join("; ");
  const why = [...String(policy).split("\n").slice(1), because].filter((line) => line !== "");
  const amounts = card.brief === undefined ? "" : amountsLine(amountsOf(callsOf(card)));
  const first = {
    ...(why.length === 0 ? {} : { why }),
    ...(amounts === "" ? {} : { amounts }),
    ...(card.otherwise?.length ? { if_rejected: actionLines(card.otherwise) } : {}),
  };
  const heading = editsOf(card).length === 0 ? "details" : "details, before the edit";
  if (OF_ROWS.includes(card.kind)) return { own: { ...first, ...rest }, heading, details: {} };
  const told = TOLD_BY_SCRIPTS.includes(card.kind) ? { ...rest, ...details } : rest;
  const only = (facts: CardFacts) => Object.fromEntries(Object.entries(told).filter(([name]) => Object.hasOwn(facts, name)));
  return { own: { ...first, ...only(own) }, heading, details: only(details) };
}

/** The sections of its approval brief, with the calls as they are now. */
export function sectionsOf(card: Card): CardFacts {
  const { sections = {}, metadata } = (card.brief ?? {}) as { sections?: CardFacts; metadata?: { process?: string } };
  const { process } = metadata ?? {};
  if (process === undefined) return sections;
  const calls = callsOf(card);
  const { said = [], approvals = 1, levels = [] } = card;
  const needs = [...(approvals > 1 ? [`${approvals} people`] : []), ...(levels.length > 0 ? [`level ${levels.join(" and ")}`] : [])];
  const approver_decision = `Approved so far by ${said.join(", ")}; needs ${needs.join(", with ")}.`;
  const asked = requestSections({ process, title: titleOf(card), calls, amounts: amountsOf(calls) });
  return { ...sections, ...asked, ...(said.length === 0 ? {} : { approver_decision }) };
}

/** What the runtime states in a card's body, and what the script does. */
function factsIn({ kind, body, otherwise }: Card): { own: CardFacts; details: CardFacts } {
  const shown = (facts: Json, name: string): CardFacts => {
    if (!isObject(facts)) return facts === null || facts === "" ? {} : { [name]: facts };
    const hidden = OF_ROWS.includes(kind) ? TIES : [];
    return Object.fromEntries(Object.entries(facts).filter(([key, value]) => !hidden.includes(key) && value !== null && value !== ""));
  };
  if (body === null || kind === "proposal") return { own: {}, details: {} };
  if (TOLD_BY_SCRIPTS.includes(kind)) {
    // approval_wait wraps the details where a rejection makes calls of its own.
    const details = otherwise?.length ? ((body as { details?: Json }).details ?? null) : body;
    return { own: {}, details: shown(details, "details") };
  }
  if (!isObject(body)) return { own: {}, details: shown(body, "details") };
  const { about = null, booked: _legs, entry: _entry, verdict: _verdict, ...own } = body;
  return { own: shown(own, ""), details: shown(about, "about") };
}
