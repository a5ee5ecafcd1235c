/** The facts on an open card besides its question and calls, the same in a terminal and on the page. */
import { shownOf } from "../engine/authority.ts";
import { canonicalJson } from "../kernel/canonical.ts";
import type { Card, Json } from "../kernel/ports.ts";
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

/**
 * Why it asks, and amounts with their currency; then, separately, what the script provides: no name there hides one of the first part or comes
 * before it. Nothing for a proposal: its card is made from git.
 */
export function cardFacts(card: Card): CardFacts[] {
  const { request_summary: summary = "", policy_compliance: policy = "" } = sectionsOf(card);
  const { message, why: reason, confidence, ...rest } = told(card);
  const words = (value: Json | undefined) => (value === undefined ? [] : [typeof value === "string" ? value : canonicalJson(value)]);
  // A script states its confidence between 0 and 1.
  const sure = words(confidence).map((of) => (Number(of) === 0 ? "no rule recognises it (confidence 0 of 1)" : `confidence ${of} of 1`));
  const said = [...words(message), ...words(reason), ...sure].join("; ");
  const why = [...String(policy).split("\n").slice(1), said].filter((line) => line !== "");
  const amounts = /^Amounts: (.*)$/m.exec(String(summary))?.[1];
  const first = { ...(why.length === 0 ? {} : { why }), ...(amounts === undefined ? {} : { amounts }) };
  return [first, rest].filter((facts) => Object.keys(facts).length > 0);
}

/** The sections of its approval brief. */
export const sectionsOf = ({ brief }: Card): CardFacts => (brief as { sections?: CardFacts } | undefined)?.sections ?? {};

function told({ kind, body }: Card): CardFacts {
  if (body === null || kind === "proposal") return {};
  if (!isObject(body)) return { details: body };
  const { about = null, booked: _legs, entry: _entry, verdict: _verdict, ...more } = body;
  const own = { ...more, ...(about === null || isObject(about) ? about : { about }) };
  const said = TOLD_BY_SCRIPTS.includes(kind) ? body : own;
  const hidden = OF_ROWS.includes(kind) ? TIES : [];
  return Object.fromEntries(Object.entries(said).filter(([name, value]) => !hidden.includes(name) && value !== null && value !== ""));
}
