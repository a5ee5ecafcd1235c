/** What a tool of the demo business is, and the shapes its parameters are made of. */
import type { DatabaseSync } from "node:sqlite";
import type { Json, Params, Value } from "./business.ts";
import type { Modes } from "./modes.ts";

export interface Schema {
  type: "string" | "integer" | "boolean" | "object" | "array";
  description?: string;
  [keyword: string]: unknown;
}

/** A parameter; `optional` says that a call may leave it out. */
export type Field = Schema & { optional?: true };

export interface World {
  db: DatabaseSync;
  modes: Modes;
}

/** How a write is read back. */
export interface VerifySpec {
  read: string;
  /** Reader's parameter -> call's parameter. */
  key: Record<string, string>;
  /** Field of the answer -> value; `$x` is parameter x. */
  expect: Record<string, Value>;
  /** What the answer says as long as the write has not happened, a list for any of several; `different` where it only sets fields. */
  before: Record<string, Value | Value[]> | "different";
}

export interface Tool {
  name: string;
  description: string;
  /** `add` brings something new, `change` overwrites or takes away. */
  effect: "read" | "add" | "change";
  fields: Record<string, Field>;
  verify?: VerifySpec;
  /** Answers the result. @throws Refused */
  run(world: World, params: Params): Json;
}

export const text = (description: string): Field => ({ type: "string", minLength: 1, maxLength: 2000, description });
const AMOUNT = "^-?\\d{1,15}(\\.\\d{1,2})?$";
export const money = (description: string): Field => ({ type: "string", pattern: AMOUNT, description });
const ABOVE_ZERO = "^(\\d{0,14}[1-9]\\d{0,14}(\\.\\d{1,2})?|0+\\.(\\d?[1-9]|[1-9]\\d?))$";
/** Money above 0.00. */
export const positive = (description: string): Field => ({ type: "string", pattern: ABOVE_ZERO, description });
export const isMoney = (field: Field): boolean => [AMOUNT, ABOVE_ZERO].includes(String(field["pattern"]));
export const day = (description: string): Field => ({ type: "string", pattern: "^\\d{4}-\\d{2}-\\d{2}$", description });
export const count = (description: string, minimum = 1): Field => ({ type: "integer", minimum, maximum: 1_000_000, description });
export const flag = (description: string): Field => ({ type: "boolean", description });
export const oneOf = (description: string, values: string[]): Field => ({ type: "string", enum: values, description });
/** Articles with their quantities. */
export const items = (description: string): Field => ({
  type: "array",
  minItems: 1,
  description,
  items: {
    type: "object",
    properties: { sku: text("article"), quantity: count("quantity", 0) },
    required: ["sku", "quantity"],
    additionalProperties: false,
  },
});
export const optional = (field: Field): Field => ({ ...field, optional: true });

/** JSON schema of a tool's parameters; unknown ones are refused. */
export function inputSchema(tool: Tool): {
  type: "object";
  properties: Record<string, Schema>;
  required: string[];
  additionalProperties: false;
} {
  const fields: Record<string, Field> =
    tool.effect === "read"
      ? tool.fields
      : { ...tool.fields, idempotency_key: optional(text("the same key twice acts once and answers the same")) };
  const bare = ({ optional: _, ...schema }: Field): Schema => schema;
  return {
    type: "object",
    properties: Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, bare(field)])),
    required: Object.keys(fields).filter((name) => fields[name]?.optional !== true),
    additionalProperties: false,
  };
}
