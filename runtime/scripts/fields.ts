/**
 * The fields of a header's `input:` and `output:`, and of a form: their schema, and whether a value fits its type. The input of a run is
 * untrusted, so every refusal names its field.
 */
import { z } from "zod";
import { isDay } from "../kernel/day.ts";
import { ClearedError, didYouMean } from "../kernel/errors.ts";
import { AMOUNT_PATTERN } from "../kernel/money.ts";
import type { Json } from "../kernel/ports.ts";
import { isObject } from "../rules/tools/shape.ts";

const FIELD_TYPES = ["string", "number", "integer", "boolean", "money", "date", "list", "object"] as const;

export const field = z.strictObject({
  type: z
    .enum(FIELD_TYPES, { error: `write one of ${FIELD_TYPES.join(", ")}` })
    .describe("money: an amount as text, date: YYYY-MM-DD, list and object: any JSON of that form"),
  required: z.boolean({ error: "write true or false" }).optional().describe("true: the run does not start without it"),
  default: z.json().optional().meta({ ts: "any" }).describe("the value when none is given; not for a required field"),
  enum: z
    .array(z.union([z.string(), z.number(), z.boolean()]))
    .min(1)
    .optional()
    .describe("the only accepted values"),
  describe: z.string().max(500).optional().describe("a line for people"),
});
export type InputField = z.output<typeof field>;

/** The problem with a value, or null. */
export function mismatch(value: Json, one: InputField): string | null {
  const shown = JSON.stringify(value)?.slice(0, 60) ?? "nothing";
  const [wanted, fits] = TYPES[one.type];
  if (!fits(value)) return `${shown} is not ${wanted}`;
  const options = one.enum;
  if (options !== undefined && !options.some((option) => option === value))
    return `${shown} is not one of ${options.map((option) => JSON.stringify(option)).join(", ")}`;
  return null;
}

/** The name of each type for messages, and its test. */
const TYPES: Record<InputField["type"], [wanted: string, fits: (value: Json) => boolean]> = {
  string: ["text", (value) => typeof value === "string"],
  number: ["a number", (value) => typeof value === "number" && Number.isFinite(value)],
  integer: ["a whole number", (value) => Number.isSafeInteger(value)],
  boolean: ["true or false", (value) => typeof value === "boolean"],
  money: ['an amount as text, such as "42.99"', (value) => typeof value === "string" && AMOUNT_PATTERN.test(value)],
  date: ["a calendar day as YYYY-MM-DD", (value) => typeof value === "string" && isDay(value)],
  list: ["a list", (value) => Array.isArray(value)],
  object: ["an object", isObject],
};

/**
 * The run's input with defaults filled in. Without `input:` in the header any value passes, and a missing one becomes {}.
 * @throws RUN_INPUT naming the field, or the error that `wrong` returns
 */
export function validateInput(
  header: { name: string; input: Record<string, InputField> },
  input: Json,
  wrong = (message: string) => new ClearedError("RUN_INPUT", `The input of "${header.name}" does not fit its header: ${message}.`),
): Json {
  const fields = Object.entries(header.input);
  if (fields.length === 0) return input ?? {};
  const given = input ?? {};
  if (typeof given !== "object" || Array.isArray(given)) throw wrong(`it must be an object with ${fields.map(([key]) => key).join(", ")}`);
  for (const key of Object.keys(given)) {
    const names = fields.map(([name]) => name);
    if (!names.includes(key)) throw wrong(`unknown field "${key}".${didYouMean(key, names)} It has ${names.join(", ")}`);
  }
  const checked: Record<string, Json> = {};
  for (const [key, one] of fields) {
    const value = Object.hasOwn(given, key) ? given[key] : undefined;
    if (value === undefined || (value === null && one.required !== true)) {
      if (one.required === true) throw wrong(`the field "${key}" is missing`);
      if (one.default !== undefined) checked[key] = structuredClone(one.default) as Json;
      continue;
    }
    const problem = mismatch(value, one);
    if (problem !== null) throw wrong(`${key}: ${problem}`);
    checked[key] = value;
  }
  return checked;
}
