/**
 * The text of a case: every value is JSON on one line, an entry and a call a line each, so that a diff reads well. It is YAML, and it is read
 * line by line as well, which takes a tenth of the time. The same case is always the same text.
 */
import type { Case } from "./case-file.ts";

/** The case as text; what is empty is left out. */
export function caseText({ agent, why, from, over, keeps }: Case): string {
  const { ends, answers, ...lists } = keeps;
  const lines = [
    ...pairs({ agent, why }, ""),
    ...block("from", pairs(from, "  ")),
    ...block("over", quoted(over)),
    ...Object.entries(lists).flatMap(([key, items]) =>
      items.length === 0 ? [] : [`${key}:`, ...items.map((item) => `  - ${json(item)}`)],
    ),
    ...pairs({ ends }, ""),
    ...block("answers", quoted(answers ?? {})),
  ];
  return `${lines.join("\n")}\n`;
}

const block = (key: string, lines: readonly string[]): string[] => (lines.length === 0 ? [] : [`${key}:`, ...lines]);

const pairs = (value: object, indent: string): string[] =>
  Object.entries(value).flatMap(([key, one]) => (one === undefined ? [] : [`${indent}${key}: ${json(one)}`]));

const quoted = (value: object): string[] => Object.entries(value).map(([key, one]) => `  ${json(key)}: ${json(one)}`);

// What a reviewer could not see, or would see in another order than it has, is written as its number.
const json = (value: unknown): string =>
  JSON.stringify(value).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}]/gu, (character) =>
    [...Array(character.length).keys()].map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`).join(""),
  );

// Nested deeper, it is left to the reader of YAML, which knows how much it takes.
const MAX_DEPTH = 20;

const isDeep = (value: unknown, levels: number): boolean =>
  typeof value === "object" && value !== null && (levels === 0 || Object.values(value).some((one) => isDeep(one, levels - 1)));

const BLOCKS = ["from", "over", "answers"];

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
      const [, indent, key = "", value] = /^( {0,2})([a-z]+|"(?:[^"\\]|\\.)*"):(?: (.*))?$/s.exec(line) ?? [];
      if (line.startsWith("  - ")) items.push(JSON.parse(line.slice(4)));
      else if (indent === undefined) return null;
      else {
        if (indent === "") block = all;
        const name = key.startsWith('"') ? (JSON.parse(key) as string) : key;
        const found = value === undefined ? (BLOCKS.includes(name) ? {} : (items = [])) : (JSON.parse(value) as unknown);
        Object.defineProperty(block, name, { value: found, enumerable: true, configurable: true });
        if (value === undefined && !Array.isArray(found)) block = found as Record<string, unknown>;
      }
    }
    return isDeep(all, MAX_DEPTH) ? null : all;
  } catch {
    return null; // a value is no JSON, which YAML's need not be
  }
}
