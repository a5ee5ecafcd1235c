/** What comes back from a tool, made into JSON that may be recorded: numbers kept exact, texts for people cut, secrets taken out. */
import { ClearedError } from "../../kernel/errors.ts";
import type { Json } from "../../kernel/ports.ts";
import { oneLine } from "../../kernel/text.ts";
import { mapScalars } from "../../rules/tools/shape.ts";

/** One answer, from any transport. A page has a thousand records at most; 8 MiB is far more than that. */
export const ANSWER_BYTES = 8 * 1024 * 1024;

const LONG_NUMBER = /\d{16}|\d\.\d{15}/;

/**
 * JSON.parse that loses no digit: a number that a double cannot hold becomes its text.
 * @throws SyntaxError
 */
export function parseJson(text: string): Json {
  if (!LONG_NUMBER.test(text)) return JSON.parse(text) as Json;
  const exact = (_: string, value: unknown, context?: { source?: string }): unknown =>
    typeof value === "number" && context?.source !== undefined && digits(context.source) !== digits(String(value)) ? context.source : value;
  return JSON.parse(text, exact as (key: string, value: unknown) => unknown) as Json;
}

/** The digits that count: 1.20e3 and 1200 differ here, which only makes one more number a text. */
function digits(number: string): string {
  return number.includes(".") ? number.replace(/0+$/, "").replace(/\.$/, "") : number;
}

// Everything that looks at a value of a server goes down into it; a stack holds some thousand steps, and no record needs a hundred.
const DEEPEST = 100;

/** Whether a value of a server is nested deeper than any record is. */
export function isTooDeep(value: unknown, left = DEEPEST): boolean {
  if (typeof value !== "object" || value === null) return false;
  return left === 0 || Object.values(value).some((one) => isTooDeep(one, left - 1));
}

/** @throws TOOL_ANSWER */
export function mustBeShallow<T>(value: T): T {
  if (!isTooDeep(value)) return value;
  throw new ClearedError("TOOL_ANSWER", `The server's answer is nested deeper than ${DEEPEST} levels.`);
}

/** A text part of an answer: JSON where it is JSON, else the text. A bare number stays a text unless it reads back the same. */
export function fromText(text: string): Json {
  try {
    const value = mustBeShallow(parseJson(text));
    return typeof value === "number" && String(value) !== text.trim() ? text : value;
  } catch {
    return text;
  }
}

/** A text of a server or a failure, for one line of a message: at most 500 characters. */
export const forPeople = (text: string): string => oneLine(text, 500);

// The shortest secret there is (workspace/settings/secrets.ts), in characters.
const PIECE = 8;

/** Replaces every secret that was handed out, in whatever crosses back from a server. */
export function createRedactor() {
  const known = new Map<string, string>();
  const pieces = new Map<string, string>();
  /** A message that was cut and had its blanks joined: what is left of a secret then is hidden too. */
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
  /** The same error with a message and data that name no secret. */
  const error = (from: ClearedError): ClearedError =>
    new ClearedError(from.code, words(from.message), {
      at: from.at,
      ...(from.data === undefined ? {} : { data: json(from.data as Json) as Record<string, unknown> }),
    });
  return {
    add: (name: string, value: string): void => {
      // A server may echo a header as it stood there, or as a URL or a JSON text carries it.
      const base64 = Buffer.from(value).toString("base64");
      for (const form of [value, encodeURIComponent(value), base64, JSON.stringify(value).slice(1, -1)]) known.set(form, name);
      const joined = value.replace(/\s+/g, " ");
      for (let at = 0; at + PIECE <= joined.length; at++) pieces.set(joined.slice(at, at + PIECE), name);
    },
    text,
    words,
    json: (value: Json): Json => (known.size === 0 ? value : json(value)),
    error,
    /** Work whose failures name no secret. */
    safe: <T>(work: () => Promise<T>): Promise<T> =>
      work().catch((failure: unknown) => {
        throw failure instanceof ClearedError ? error(failure) : failure;
      }),
  };
}
