/**
 * What an open card says beside its question and its calls: why it asks, the amounts, what the script told, the brief. In a list the
 * beginning of each; `cleared queue show N` has all of it.
 */
import type { Card, Json } from "../kernel/ports.ts";
import { withWhy } from "../app/page-facts.ts";
import type { Output } from "./output.ts";
import { clipped } from "./text.ts";

// A list of cards is read at a glance.
const LINES = 4;
const FACTS = 6;
const OF_STATEMENTS = ["match", "card", "hash", "question", "ids", "receipt", "approve", "reject", "file", "line", "code"];

export function factLines(output: Output, card: Card, whole: boolean): string[] {
  const all = [...reasons(card), ...told(card)];
  const shown = whole ? [...all, ...brief(card), ...origins(card)] : all.slice(0, FACTS);
  const more = whole ? 0 : all.length - shown.length;
  const rest = [
    ...(more > 0 ? [`${more} more facts`] : []),
    ...(whole || (brief(card).length === 0 && card.kind !== "proposal")
      ? []
      : [card.kind === "proposal" ? "what it changes" : "the brief"]),
  ];
  return [
    ...shown.flatMap(([name, text]) => labelled(output.dim(`${name}:`), text, whole)),
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

/** What the policy said, and the amounts with their currency. */
function reasons(card: Card): Fact[] {
  const { request_summary = "", policy_compliance = "" } = sectionsOf(card);
  const policy = textOf(policy_compliance).replace(/^Status: [^\n]*\n?/, "");
  const amounts = /^Amounts: (.*)$/m.exec(textOf(request_summary))?.[1] ?? "";
  return (
    [
      ["why", policy],
      ["amounts", amounts],
    ] satisfies Fact[]
  ).filter(([, text]) => text !== "");
}

/** Why it asks, and what the script said of it. What the other lines of a card show already is left out. */
function told({ kind, body }: Card): Fact[] {
  // Its card is written from git, beside what it would change.
  if (body === null || kind === "proposal") return [];
  if (typeof body !== "object" || Array.isArray(body)) return [["details", textOf(body)]];
  const { about = null, booked: _legs, entry: _entry, verdict: _verdict, ...more } = body;
  const said = typeof about === "object" && !Array.isArray(about) ? about : { about };
  // Of a card about a statement: what ties it to its file, and what its other lines have already.
  const hidden = ["row", "same", "gone", "account", "correction", "rule"].includes(kind) ? OF_STATEMENTS : [];
  const all = Object.fromEntries(Object.entries({ ...more, ...said }).filter(([name]) => !hidden.includes(name)));
  return Object.entries(withWhy(all)).map(named);
}

const brief = (card: Card): Fact[] => Object.entries(sectionsOf(card)).map(named);

function origins({ body, run }: Card): Fact[] {
  const { entry } = (body ?? {}) as { entry?: Json };
  return [...(typeof entry === "string" ? [["entry", entry] as Fact] : []), ...(run === null ? [] : [["run", run] as Fact])];
}

const sectionsOf = ({ brief: document }: Card): { [name: string]: Json } =>
  (document as { sections?: { [name: string]: Json } } | undefined)?.sections ?? {};

const named = ([name, value]: [string, Json]): Fact => [name.replaceAll("_", " "), textOf(value)];

/** Scalars as they are; a list one a line; what is deeper as `name value, name value`. */
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
