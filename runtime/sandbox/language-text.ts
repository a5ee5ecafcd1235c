/** The part of the language lint that looks at text instead of the tree: characters that mislead a reader, HTML-like comments, regular expressions. */
import type { At } from "../errors.ts";
import type { Finding } from "../ports.ts";

// Zero-width characters, direction marks, byte order mark. The joiner U+200D is legal between emoji.
const HIDDEN = /\u200B|\u200C|\u200D|\u200E|\u200F|[\u202A-\u202E]|\u2060|[\u2066-\u2069]|\uFEFF/gu;
const EMOJI = /^(?:\p{Extended_Pictographic}|\uFE0F|[\u{1F3FB}-\u{1F3FF}])$/u;

export function scanText(
  wrapped: string,
  comments: readonly { type: string; start: number }[],
  prefix: number,
  place: (offset: number) => At,
): Finding[] {
  const findings: Finding[] = [];
  for (const match of wrapped.matchAll(HIDDEN)) {
    const i = match.index;
    // Editors write a byte order mark at the very start.
    if (match[0] === "\uFEFF" && i === prefix) continue;
    if (
      match[0] === "\u200D" &&
      EMOJI.test(Array.from(wrapped.slice(i - 2, i)).at(-1) ?? "") &&
      EMOJI.test(Array.from(wrapped.slice(i + 1, i + 3))[0] ?? "")
    )
      continue;
    const code = (match[0].codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
    findings.push({
      code: "SCRIPT_LANGUAGE",
      at: place(i),
      message: `The invisible character U+${code} can make code look like other code. Delete it, or write it as "\\u${code}".`,
    });
  }
  for (const comment of comments) {
    if (wrapped.startsWith("<!--", comment.start) || wrapped.startsWith("-->", comment.start)) {
      findings.push({
        code: "SCRIPT_LANGUAGE",
        at: place(comment.start),
        message: "HTML-like comments are not part of the language. Write //.",
      });
    }
  }
  return findings;
}

/** `(a+)+` and the like; groups and classes are flattened from inside out. */
export function nestedQuantifier(pattern: string): boolean {
  let text = pattern.replace(/\\./g, "a").replace(/\[(?:[^\]])*\]/g, "a");
  for (let i = 0; i < 50; i++) {
    if (/\((?:\?[:=!<]+)?[^()]*(?:[+*]|\{\d+,\d*\})[^()]*\)(?:[+*]|\{\d+,)/.test(text)) return true;
    const next = text.replace(/\([^()]*\)/g, (group) => (/[+*]|\{\d+,/.test(group) ? "a+" : "a"));
    if (next === text) return false;
    text = next.replace(/a\+(?=[+*{])/g, "(a+)");
  }
  return true;
}
