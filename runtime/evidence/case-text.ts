/**
 * The text of a case: every value is JSON on one line, a step and an effect a line each, so that a diff reads well. It is YAML, and it is read
 * line by line as well, which takes a tenth of the time. The same case is always the same text.
 */
import type { Change, Json, Step } from "../ports.ts";
import type { Case } from "./case-file.ts";

/** The case as text. Not every run fits into one: `unfit` (case-file.ts) tells. */
export function caseText(one: Case): string {
  const { agent, why, from, started, cause, given, by, input, over, steps, ended, expect, corrected } = one;
  const corrects = corrected.entries.length + corrected.asked.length > 0;
  const lines = [
    ...pairs({ agent, why }, ""),
    ...block("from", pairs(from, "  ")),
    ...pairs({ started: new Date(started).toISOString(), cause, given, by, input }, ""),
    ...block(
      "over",
      Object.entries(over).map(([path, text]) => `  ${json(path)}: ${json(text)}`),
    ),
    ...(steps.length === 0
      ? ["steps: []"]
      : list(
          "steps",
          steps.map((step) => toLine(step, started)),
          "",
        )),
    `ended: ${json(Object.fromEntries(Object.entries(ended).filter(([key, value]) => value !== null || key === "refused")))}`,
    ...(expect === null ? [] : block("expect", expected(expect))),
    ...(corrects ? block("corrected", expected(corrected)) : []),
  ];
  return `${lines.join("\n")}\n`;
}

function toLine(step: Step, started: number): object {
  return {
    call: step.name,
    effect: step.effect,
    params: JSON.parse(step.params) as Json,
    ...(step.error === null ? { result: JSON.parse(step.result ?? "null") as Json } : { error: step.error }),
    at: step.at - started,
    ...(step.attempts === 1 ? {} : { attempts: step.attempts }),
    ...(step.changes.length > 0 ? { changes: step.changes.map(unproven) } : {}),
  };
}

/** What proves a yes in a run is no business of a case. */
function unproven(change: Change): Change {
  if (change.op !== "decided") return change;
  const { given: _, ...rest } = change;
  return rest;
}

/** A list has an item a line; what is empty is left out. */
function expected(value: object): string[] {
  return Object.entries(value).flatMap(([key, one]: [string, Json]) => {
    if (key === "result") return one === null ? [] : pairs({ [key]: one }, "  ");
    if (Array.isArray(one)) return one.length === 0 ? [] : list(key, one, "  ");
    return one === null || (typeof one === "object" && Object.keys(one).length === 0) ? [] : pairs({ [key]: one }, "  ");
  });
}

const pairs = (value: object, indent: string): string[] =>
  Object.entries(value).flatMap(([key, one]) => (one === undefined ? [] : [`${indent}${key}: ${json(one)}`]));

const list = (key: string, items: readonly unknown[], indent: string): string[] => [
  `${indent}${key}:`,
  ...items.map((item) => `${indent}  - ${json(item)}`),
];

const block = (key: string, lines: readonly string[]): string[] => (lines.length === 0 ? [] : [`${key}:`, ...lines]);

// What a reviewer could not see, or would see in another order than it has, is written as its number.
const json = (value: unknown): string =>
  JSON.stringify(value).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}]/gu, (character) =>
    [...Array(character.length).keys()].map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`).join(""),
  );

// Nested deeper, it is left to the reader of YAML, which knows how much it takes.
const MAX_DEPTH = 20;

const isDeep = (value: unknown, levels: number): boolean =>
  typeof value === "object" && value !== null && (levels === 0 || Object.values(value).some((one) => isDeep(one, levels - 1)));

/**
 * The value of a text as `caseText` writes them; null for any other YAML. It is not strict: who asks must see that the value gives this
 * very text again.
 */
export function readLines(text: string): Record<string, unknown> | null {
  const all: Record<string, unknown> = {};
  // The block a line stands in, and the list that its items belong to.
  let block = all;
  let items: unknown[] = [];
  try {
    for (const line of text.slice(0, -1).split("\n")) {
      const [, indent, key = "", value] = /^( {0,2})([a-z]+|"[^ ]+"):(?: (.*))?$/s.exec(line) ?? [];
      if (/^ {2,4}- /.test(line)) items.push(JSON.parse(line.slice(line.indexOf("-") + 2)));
      else if (indent === undefined) return null;
      else {
        if (indent === "") block = all;
        const name = key.startsWith('"') ? (JSON.parse(key) as string) : key;
        const found = value === undefined ? opened(name) : (JSON.parse(value) as unknown);
        Object.defineProperty(block, name, { value: found, enumerable: true, configurable: true });
        if (value === undefined && !Array.isArray(found)) block = found as Record<string, unknown>;
      }
    }
    return isDeep(all, MAX_DEPTH) ? null : all;
  } catch {
    return null; // a value is no JSON, which YAML's need not be
  }

  function opened(name: string): unknown {
    return name === "from" || name === "over" || name === "expect" || name === "corrected" ? {} : (items = []);
  }
}
