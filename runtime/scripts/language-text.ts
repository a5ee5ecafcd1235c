/** The part of the language lint that looks at text instead of the tree: what misleads a reader, HTML-like comments, regular expressions. */
import type { At } from "../kernel/errors.ts";
import type { Finding } from "../kernel/ports.ts";
import { hiddenIn } from "../kernel/text.ts";

const MOST = 50;

export function scanText(
  wrapped: string,
  comments: readonly { type: string; start: number }[],
  prefix: number,
  place: (offset: number) => At,
): Finding[] {
  const findings: Finding[] = [];
  for (const { index, message } of hiddenIn(wrapped.slice(prefix))) {
    findings.push({ code: "SCRIPT_LANGUAGE", at: place(prefix + index), message });
    if (findings.length >= MOST) break;
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
