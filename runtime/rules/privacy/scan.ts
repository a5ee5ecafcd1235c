/**
 * Finds what patterns.ts describes, and hides what must not be stored or shown: logs, notices, commit messages, answers. Called on every log
 * line and notice: clean text must cost almost nothing. Journal text and statements are not redacted: account numbers are their content.
 */
import { createHash } from "node:crypto";
import { GROUPS, type Group, PATTERNS, type Pattern } from "./patterns.ts";
import type { Json } from "../../kernel/ports.ts";

/** Position and kind, never the text itself, so it may be logged. */
export interface Finding {
  kind: string;
  group: Group;
  /** First character, and the one after the last. */
  span: [number, number];
  last4: string | null;
  /** First 12 hex digits of SHA-256, for keys only: nine digits can be recovered from their hash. */
  hash: string | null;
}

export const ALL: ReadonlySet<Group> = new Set(GROUPS);

// A segment of a signed token is shorter than this; walking back stops there.
const BACK = 8192;
// Longer than the repeats in patterns.ts except those of keys: up to here a second scan of the same text is cheap.
const LONG = 600;

/** A match without details. */
export interface Hit {
  pattern: Pattern;
  span: [number, number];
}

/** Findings in text order; they may overlap. Time is linear in the text. */
export function scan(text: string, groups: ReadonlySet<Group> = ALL): Finding[] {
  return hits(text, groups).map(({ pattern: { kind, group, random, last4 }, span }) => ({
    kind,
    group,
    span,
    last4: last4 ? lastFour(text.slice(...span)) : null,
    hash: random ? hashOf(text.slice(...span)) : null,
  }));
}

const lastFour = (found: string): string => found.replace(/[^A-Za-z0-9]/g, "").slice(-4);
const hashOf = (found: string): string => createHash("sha256").update(found).digest("hex").slice(0, 12);

/** Like `scan`, without the hashes. */
export function hits(text: string, groups: ReadonlySet<Group>): Hit[] {
  const found: Hit[] = [];
  const lower = text.toLowerCase();
  for (const pattern of PATTERNS) {
    if (!groups.has(pattern.group) || pattern.gate?.some((word) => lower.includes(word)) === false) continue;
    pattern.shape.lastIndex = 0;
    for (let match = pattern.shape.exec(text); match !== null; match = pattern.shape.exec(text)) {
      const span = spanOf(pattern, match);
      // Text that overlaps a match may be the real secret: "000-12-3123-45-6789". Only a long match (a key's block) is skipped as a whole.
      pattern.shape.lastIndex = span === null || span[1] - span[0] <= LONG ? match.index + 1 : span[1];
      if (span !== null) found.push({ pattern, span });
    }
  }
  return found.sort((a, b) => a.span[0] - b.span[0] || b.span[1] - a.span[1]);
}

function spanOf({ check, back }: Pattern, match: RegExpExecArray): [number, number] | null {
  // A group that does not end the match only captures a separator.
  const [whole, group] = match;
  const secret = group !== undefined && group.length > 1 && whole.endsWith(group) ? group : whole;
  let start = match.index + whole.length - secret.length;
  const length = check === undefined ? secret.length : check(secret, match);
  if (length === 0) return null;
  const end = start + length;
  if (back !== undefined) {
    const stop = Math.max(0, start - BACK);
    const from = start;
    while (start > stop && back.test(match.input.charAt(start - 1))) start--;
    if (start === from) return null;
  }
  return [start, end];
}

/** Hidden wherever text is stored or shown; the other groups depend on policy and direction (judge.ts). */
export const HIDDEN: ReadonlySet<Group> = new Set<Group>(["secret", "identity", "card"]);

// A worker thread's stack allows a few times this depth; deeper nesting is not a tool's answer and is hidden as a whole.
const DEPTH = 500;

/** The text with each finding replaced by its mark, `[SSN:6789]` or `[API_KEY]`; the same text when there is none. */
export function redact(text: string, groups: ReadonlySet<Group> = HIDDEN): string {
  const found = hits(text, groups);
  if (found.length === 0) return text;
  let out = "";
  let at = 0;
  for (const { pattern, span } of found) {
    // The first of two overlapping findings gets its mark; the rest of the second is hidden with it.
    if (span[0] >= at) out += `${text.slice(at, span[0])}[${pattern.kind}${pattern.last4 ? `:${lastFour(text.slice(...span))}` : ""}]`;
    at = Math.max(at, span[1]);
  }
  return out + text.slice(at);
}

/** A JSON value with its texts, keys and numbers redacted. A value is read with its key: `{"password": "x"}` hides the x. */
export const redactJson = (value: Json, groups: ReadonlySet<Group> = HIDDEN): Json => walk(value, groups, "", 0);

function walk(value: Json, groups: ReadonlySet<Group>, key: string, depth: number): Json {
  if (typeof value === "string" || typeof value === "number") {
    const text = String(value);
    const label = key === "" ? "" : `${key}: `;
    const seen = redact(label + text, groups);
    const shown = seen.startsWith(label) ? seen.slice(label.length) : redact(text, groups);
    return shown === text ? value : shown;
  }
  if (value === null || typeof value === "boolean") return value;
  if (depth === DEPTH) return "[TOO_DEEP]";
  if (Array.isArray(value)) return value.map((one) => walk(one, groups, key, depth + 1));
  const out: [string, Json][] = [];
  const names = new Set<string>();
  for (const [name, one] of Object.entries(value)) {
    let shown = redact(name, groups);
    // Two keys that end in the same four digits stay distinct.
    for (let n = 2; names.has(shown); n++) shown = `${redact(name, groups)}#${n}`;
    names.add(shown);
    out.push([shown, walk(one, groups, name, depth + 1)]);
  }
  return Object.fromEntries(out);
}
