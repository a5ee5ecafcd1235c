/**
 * What an open card says beside its question and its calls: why it asks, the amounts, what the script told, the brief. In a list the
 * beginning of each; `cleared queue show N` has all of it.
 */
import type { Card, Json } from "../kernel/ports.ts";
import { cardFacts, sectionsOf } from "../app/card-facts.ts";
import type { Output } from "./output.ts";
import { clipped } from "./text.ts";

// A list of cards is read at a glance.
const LINES = 4;
const FACTS = 6;

export function factLines(output: Output, card: Card, whole: boolean): string[] {
  const all = cardFacts(card)
    .flatMap((facts) => Object.entries(facts))
    .map(named);
  const shown = whole ? [...all, ...brief(card), ...origins(card)] : all.slice(0, FACTS);
  const more = whole ? 0 : all.length - shown.length;
  const rest = [
    ...(more > 0 ? [`${more} more fact${more === 1 ? "" : "s"}`] : []),
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

const brief = (card: Card): Fact[] =>
  Object.entries(sectionsOf(card)).flatMap((one) => (one[0] === "approver_decision" && card.decision !== null ? [] : [named(one)]));

function origins({ body, run }: Card): Fact[] {
  const { entry } = (body ?? {}) as { entry?: Json };
  return [...(typeof entry === "string" ? [["entry", entry] as Fact] : []), ...(run === null ? [] : [["run", run] as Fact])];
}

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
