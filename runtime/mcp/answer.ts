/** What comes back from a tool, made into JSON that may be recorded: numbers kept exact, texts for people cut, secrets taken out. */
import { ClearedError } from "../errors.ts";
import type { Json } from "../ports.ts";

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

/** A text part of an answer: JSON where it is JSON, else the text. A bare number stays a text unless it reads back the same. */
export function fromText(text: string): Json {
  try {
    const value = parseJson(text);
    return typeof value === "number" && String(value) !== text.trim() ? text : value;
  } catch {
    return text;
  }
}

/** A text of a server or a failure, for one line of a message: no control characters, at most 500 characters. */
export function forPeople(text: string): string {
  const plain = text.replace(/[\p{Cc}\p{Cf}\s]+/gu, " ").trim();
  return plain.length > 500 ? `${plain.slice(0, 500)}...` : plain;
}

/** Replaces every secret that was handed out, in whatever crosses back from a server. */
export interface Redactor {
  add(name: string, value: string): void;
  text(text: string): string;
  json(value: Json): Json;
  /** The same error with a message and data that name no secret. */
  error(error: ClearedError): ClearedError;
}

export function createRedactor(): Redactor {
  const known = new Map<string, string>();
  const text = (from: string): string => {
    let to = from;
    for (const [value, name] of known) if (to.includes(value)) to = to.replaceAll(value, `[secret:${name}]`);
    return to;
  };
  const json = (value: Json): Json => {
    if (typeof value === "string") return text(value);
    if (typeof value === "number") return known.has(String(value)) ? text(String(value)) : value;
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) return value.map(json);
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [text(key), json(one)]));
  };
  return {
    add: (name, value) => {
      // A server may echo a header as it stood there, or as a URL or a JSON text carries it.
      const base64 = Buffer.from(value).toString("base64");
      for (const form of [value, encodeURIComponent(value), base64, JSON.stringify(value).slice(1, -1)]) known.set(form, name);
    },
    text,
    json: (value) => (known.size === 0 ? value : json(value)),
    error: (error) =>
      new ClearedError(error.code, text(error.message), {
        at: error.at,
        ...(error.data === undefined ? {} : { data: json(error.data as Json) as Record<string, unknown> }),
      }),
  };
}
