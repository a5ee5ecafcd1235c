/** Hides what must not be kept or shown: logs, notices, commit messages, answers. Journal text and statements are not redacted: accounts are their content. */
import type { Json } from "../../kernel/ports.ts";
import type { Group } from "./patterns.ts";
import { hits, lastFour } from "./scan.ts";

/** What is hidden wherever text is kept or shown; the other groups are a matter of policy and direction (judge.ts). */
export const HIDDEN: ReadonlySet<Group> = new Set<Group>(["secret", "identity", "card"]);

// A stack of a worker thread holds a few times this; what is nested deeper is no answer of a tool and is hidden whole.
const DEPTH = 500;

/** The text with each finding replaced by its mark, `[SSN:6789]` or `[API_KEY]`; the same text when there is none. */
export function redact(text: string, groups: ReadonlySet<Group> = HIDDEN): string {
  const found = hits(text, groups);
  if (found.length === 0) return text;
  let out = "";
  let at = 0;
  for (const { pattern, span } of found) {
    // Of two that overlap the first has its mark; the rest of the second is hidden with it.
    if (span[0] >= at) out += `${text.slice(at, span[0])}[${pattern.kind}${pattern.last4 ? `:${lastFour(text, span)}` : ""}]`;
    at = Math.max(at, span[1]);
  }
  return out + text.slice(at);
}

/** A JSON value with its texts, keys and numbers redacted. A value is seen with its key: `{"password": "x"}` hides the x. */
export function redactJson(value: Json, groups: ReadonlySet<Group> = HIDDEN): Json {
  return walk(value, groups, "", 0);
}

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
    // Two keys that end in the same four digits stay two.
    for (let n = 2; names.has(shown); n++) shown = `${redact(name, groups)}#${n}`;
    names.add(shown);
    out.push([shown, walk(one, groups, name, depth + 1)]);
  }
  return Object.fromEntries(out);
}
