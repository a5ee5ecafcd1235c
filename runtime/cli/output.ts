/** Output of commands: text for people, one JSON document with --json, colors only on a terminal, errors in the house form. */
import { resolve } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { type At, CODES, ClearedError, EXIT, type WireError, formatAt, kindOf, toWire } from "../kernel/errors.ts";
import type { Finding } from "../kernel/ports.ts";
import { printable } from "../kernel/text.ts";
import { readIfThere } from "../workspace/own-folders.ts";

export interface Output {
  json: boolean;
  /** One line for people: line breaks in a title do not start another line. Silent with --json. */
  line(text?: string): void;
  /** One line each. */
  lines(lines: readonly string[]): void;
  /** Cells in columns, one line per row. */
  rows(rows: string[][]): void;
  /** Several lines. */
  text(lines: string): void;
  /** The command's result, the only output with --json. */
  result(value: unknown): void;
  /** A remark on standard error: progress, warnings. */
  note(text: string): void;
  bold(text: string): string;
  dim(text: string): string;
  green(text: string): string;
  red(text: string): string;
  yellow(text: string): string;
}

export function createOutput(json: boolean): Output {
  const colour = !json && process.stdout.isTTY === true && process.env["NO_COLOR"] === undefined;
  const paint = (code: number) => (text: string) => (colour ? `\x1b[${code}m${text}\x1b[0m` : text);
  const line = (text = "") => void (json || process.stdout.write(`${printable(text.replaceAll("\n", "\\n"), colour)}\n`));
  const lines = (all: readonly string[]): void => {
    for (const one of all) line(one);
  };
  return {
    json,
    line,
    lines,
    rows: (rows) => lines(table(rows)),
    text: (lines) => void (json || process.stdout.write(`${printable(lines, colour)}\n`)),
    result: (value) => void (json && process.stdout.write(`${jsonText(value)}\n`)),
    note: (text) => void process.stderr.write(`${printable(text)}\n`),
    bold: paint(1),
    dim: paint(2),
    green: paint(32),
    red: paint(31),
    yellow: paint(33),
  };
}

/** JSON for a terminal: characters that JSON leaves unescaped are escaped, which changes no value. */
const jsonText = (value: unknown): string => printable(JSON.stringify(value, null, 2));

/** `FILE:LINE:COL CODE`, an excerpt with a caret if the file can be read, what is wrong, what to do. */
export function formatError(error: WireError, dir: string): string {
  const head = error.at === undefined ? error.code : `${formatAt(error.at)} ${error.code}`;
  const remedy = Object.hasOwn(CODES, error.code) ? CODES[error.code as keyof typeof CODES].remedy : "";
  // Data in a tool's error is not ours, whatever its name.
  const findings = error.code.startsWith("TOOL_") ? undefined : (error.data?.["findings"] as Finding[] | undefined);
  const more = findings?.slice(1, 20) ?? [];
  const others = more.flatMap((one) => ["", `${formatAt(one.at)} ${one.code}`, ...excerpt(one, dir), one.message]);
  return [
    head,
    ...excerpt(error, dir),
    error.message,
    ...others,
    ...(more.length > 0 || remedy === "" || error.message.includes(remedy.replace(/\.$/, "")) || error.message.includes(" --help`")
      ? []
      : [remedy]),
  ].join("\n");
}

function excerpt(error: { at?: At }, dir: string): string[] {
  const { at } = error;
  if (at?.line === undefined) return [];
  try {
    const line = at.text ?? readIfThere(resolve(dir, at.file))?.split("\n")[at.line - 1];
    if (line === undefined || line.length > 300) return [];
    const number = String(at.line).padStart(5);
    return [`${number} | ${line}`, ...(at.col === undefined ? [] : [`      | ${" ".repeat(Math.max(0, at.col - 1))}^`])];
  } catch {
    return []; // the file is in a commit, not in the work tree, so only the place is shown
  }
}

/** Prints the error and returns the exit code. */
export function reportError(output: Output, error: unknown, dir: string): number {
  const wire = toWire(error);
  if (output.json) process.stdout.write(`${jsonText({ error: wire })}\n`);
  else output.note(formatError(wire, dir));
  if (wire.code === "INTERNAL" && !(error instanceof ClearedError) && error instanceof Error && process.env["CLEARED_DEBUG"] !== undefined)
    process.stderr.write(`${error.stack}\n`);
  return EXIT[kindOf(wire.code)];
}

/** Columns padded to equal visible width, without counting colors; the last one is not padded. */
export function table(rows: string[][]): string[] {
  const width = (cell: string) => stripVTControlCharacters(cell).length;
  const widths = rows.reduce<number[]>((all, row) => row.map((cell, i) => Math.max(all[i] ?? 0, width(cell))), []);
  return rows.map((row) =>
    row
      .map((cell, i) => (i === row.length - 1 ? cell : cell + " ".repeat((widths[i] ?? 0) - width(cell))))
      .join("  ")
      .trimEnd(),
  );
}
