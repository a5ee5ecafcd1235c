/** Values checked by a tool's JSON schema before anything is sent: the door to the validator that comes with the MCP SDK. */
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/ajv";
import { ClearedError } from "../errors.ts";
import type { Json } from "../ports.ts";

const validators = new WeakMap<object, (args: unknown) => string | null>();

/**
 * What is wrong with a value by a tool's schema, or null. Patterns of untrusted servers are left out: theirs could run for ever on ours.
 * @throws TOOL_ANSWER for a schema that is none
 */
export function schemaFault(schema: Json, value: Json, trusted: boolean): string | null {
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) return null;
  let validator = validators.get(schema);
  if (validator === undefined) {
    try {
      // One each, because two tools may use the same $id.
      const compiled = new AjvJsonSchemaValidator().getValidator((trusted ? schema : withoutPatterns(schema)) as Record<string, unknown>);
      validator = (args) => compiled(args).errorMessage ?? null;
    } catch (error) {
      throw new ClearedError("TOOL_ANSWER", `its schema cannot be read: ${error instanceof Error ? error.message : String(error)}`);
    }
    validators.set(schema, validator);
  }
  return validator(value);
}

function withoutPatterns(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(withoutPatterns);
  if (typeof schema !== "object" || schema === null) return schema;
  const kept = Object.entries(schema).filter(
    ([key, value]) => !(key === "pattern" && typeof value === "string") && key !== "patternProperties",
  );
  return Object.fromEntries(kept.map(([key, value]) => [key, withoutPatterns(value)]));
}
