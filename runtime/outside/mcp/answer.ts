/** Turns a tool's answer into JSON that may be recorded: numbers stay exact, texts for people are clipped, secrets removed. */
import { ClearedError } from "../../kernel/errors.ts";
import type { Json } from "../../kernel/ports.ts";
import { oneLine } from "../../kernel/text.ts";
import { mapScalars } from "../../rules/tools/shape.ts";

/** For one answer over any transport. A page has at most a thousand records, so 8 MiB is ample. */
export const ANSWER_BYTES = 8 * 1024 * 1024;

const LONG_NUMBER = /\d{16}|\d\.\d{15}/;

/**
 * JSON.parse without loss of digits: a number that a double cannot hold becomes its text.
 * @throws SyntaxError
 */
export function parseJson(text: string): Json {
  if (!LONG_NUMBER.test(text)) return JSON.parse(text) as Json;
  const exact = (_: string, value: unknown, context?: { source?: string }): unknown =>
    typeof value === "number" && context?.source !== undefined && digits(context.source) !== digits(String(value)) ? context.source : value;
  return JSON.parse(text, exact as (key: string, value: unknown) => unknown) as Json;
}

/** The significant digits: 1.20e3 and 1200 differ here, which only turns one more number into text. */
function digits(number: string): string {
  return number.includes(".") ? number.replace(/0+$/, "").replace(/\.$/, "") : number;
}

// Values are traversed recursively; a stack holds some thousand levels, and no record needs a hundred.
const DEEPEST = 100;

/** True if a value is nested deeper than any record. */
export function isTooDeep(value: unknown, left = DEEPEST): boolean {
  if (typeof value !== "object" || value === null) return false;
  return left === 0 || Object.values(value).some((one) => isTooDeep(one, left - 1));
}

/** @throws TOOL_ANSWER */
export function mustBeShallow<T>(value: T): T {
  if (!isTooDeep(value)) return value;
  throw new ClearedError("TOOL_ANSWER", `The server's answer is nested deeper than ${DEEPEST} levels.`);
}

/** A text part of an answer: parsed if it is JSON, else the text. A bare number stays text unless it prints the same. */
export function fromText(text: string): Json {
  try {
    const value = mustBeShallow(parseJson(text));
    return typeof value === "number" && String(value) !== text.trim() ? text : value;
  } catch {
    return text;
  }
}

/** A text of a server or a failure for one line of a message, at most 500 characters. */
export const forPeople = (text: string): string => oneLine(text, 500);

// Length of the shortest possible secret (workspace/settings/secrets.ts), in characters.
const PIECE = 8;

/** Replaces every issued secret in anything that comes back from a server. */
export function createRedactor() {
  const known = new Map<string, string>();
  const pieces = new Map<string, string>();
  /** A message that was clipped and joined: remains of a secret are replaced too. */
  const words = (from: string): string => {
    const whole = text(from);
    let to = "";
    for (let at = 0; at < whole.length; ) {
      const name = pieces.get(whole.slice(at, at + PIECE));
      if (name === undefined) {
        to += whole.charAt(at++);
        continue;
      }
      for (at += PIECE; pieces.has(whole.slice(at - PIECE + 1, at + 1)); at++);
      to += `[secret:${name}]`;
    }
    return to;
  };
  const text = (from: string): string => {
    let to = from;
    for (const [value, name] of known) if (to.includes(value)) to = to.replaceAll(value, `[secret:${name}]`);
    return to;
  };
  const scalar = (value: Json): Json =>
    typeof value === "string" || (typeof value === "number" && known.has(String(value))) ? text(String(value)) : value;
  const json = (value: Json): Json => mapScalars(value, scalar, text);
  /** The same error without secrets in its message and data. */
  const error = (from: ClearedError): ClearedError =>
    new ClearedError(from.code, words(from.message), {
      at: from.at,
      ...(from.data === undefined ? {} : { data: json(from.data as Json) as Record<string, unknown> }),
    });
  return {
    add: (name: string, value: string): void => {
      // A server may echo a header as it was, or encoded in a URL or JSON text.
      const base64 = Buffer.from(value).toString("base64");
      for (const form of [value, encodeURIComponent(value), base64, JSON.stringify(value).slice(1, -1)]) known.set(form, name);
      const joined = value.replace(/\s+/g, " ");
      for (let at = 0; at + PIECE <= joined.length; at++) pieces.set(joined.slice(at, at + PIECE), name);
    },
    text,
    words,
    json: (value: Json): Json => (known.size === 0 ? value : json(value)),
    error,
    /** Runs work whose failures must not contain secrets. */
    safe: <T>(work: () => Promise<T>): Promise<T> =>
      work().catch((failure: unknown) => {
        throw failure instanceof ClearedError ? error(failure) : failure;
      }),
  };
}
