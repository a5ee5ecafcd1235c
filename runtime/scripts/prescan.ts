/**
 * Cheap checks of source text before a native parser sees it: size, bracket depth, runs of operators. Parsers recurse once per level and
 * crash on thousands of them. Not a lexer: text inside regular expressions may be misread, which is harmless because the compile child is
 * disposable.
 */
import type { Finding } from "../kernel/ports.ts";

/** Maximum size of a source unless trust.yaml sets another. */
const SOURCE_BYTES = 64 * 1024;
const MAX_DEPTH = 200;
const MAX_OPERATORS = 200;

/** Null when the source may be parsed. */
export function prescan(source: string, file: string, maxBytes = SOURCE_BYTES): Finding | null {
  const bytes = Buffer.byteLength(source);
  if (bytes > maxBytes)
    return {
      code: "SCRIPT_TOO_LARGE",
      at: { file },
      message: `The script has ${bytes} bytes; the limit is ${maxBytes}. Move shared logic to scripts/ and call script_run.`,
    };
  let depth = 0;
  let operators = 0;
  for (let i = 0; i < source.length; i++) {
    const c = source[i] ?? "";
    if (c === "/" && source[i + 1] === "/") {
      i = endOr(source.indexOf("\n", i), source.length) - 1;
      continue;
    }
    if (c === "/" && source[i + 1] === "*") {
      i = endOr(source.indexOf("*/", i + 2), source.length) + 1;
      continue;
    }
    if (c === '"' || c === "'") {
      for (i++; i < source.length && source[i] !== c && source[i] !== "\n"; i++) if (source[i] === "\\") i++;
      if (source[i] === "\n") i--;
      operators = 0;
      continue;
    }
    if ("([{".includes(c)) depth++;
    else if (")]}".includes(c)) depth = Math.max(0, depth - 1);
    if ("!~+-?:=&|*<>".includes(c)) operators++;
    else if (!/\s/.test(c)) operators = 0;
    if (depth <= MAX_DEPTH && operators <= MAX_OPERATORS) continue;
    const before = source.slice(0, i);
    const at = { file, line: before.split("\n").length, col: i - before.lastIndexOf("\n") };
    const message =
      depth > MAX_DEPTH
        ? `The script nests brackets deeper than ${MAX_DEPTH}. Split it into functions.`
        : `More than ${MAX_OPERATORS} operators in a row. Write the expression in steps.`;
    return { code: "LIMIT_DEPTH", at, message };
  }
  return null;
}

const endOr = (index: number, otherwise: number): number => (index < 0 ? otherwise : index);
