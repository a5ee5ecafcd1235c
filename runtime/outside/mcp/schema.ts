/** Validates values against a tool's JSON schema before anything is sent: the door to the validator in the MCP SDK. */
import { Script, createContext } from "node:vm";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/ajv";
import { ClearedError } from "../../kernel/errors.ts";
import type { Json } from "../../kernel/ports.ts";
import { forPeople } from "./answer.ts";

const validators = new WeakMap<object, (args: unknown) => string | null>();

/**
 * What is wrong with a value by a tool's schema, or null. Patterns of untrusted servers are ignored, because they could run forever.
 * @throws TOOL_ANSWER for a schema that is invalid or takes too long
 */
export function schemaFault(schema: Json, value: Json, trusted: boolean): string | null {
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) return null;
  try {
    const fault = within(() => {
      const validator = validators.getOrInsertComputed(schema, () => {
        if (JSON.stringify(schema).length > LARGEST) throw new Error(`it is longer than ${LARGEST / 1000} kB`);
        // One validator each, because two tools may use the same $id.
        const compiled = new AjvJsonSchemaValidator().getValidator((trusted ? schema : withoutPatterns(schema)) as Record<string, unknown>);
        return (args) => compiled(args).errorMessage ?? null;
      });
      return validator(value);
    });
    return fault === null ? null : forPeople(fault);
  } catch (error) {
    // Recorded, so that the next call does not wait again.
    const unreadable = new ClearedError(
      "TOOL_ANSWER",
      `its schema cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    );
    validators.set(schema, () => {
      throw unreadable;
    });
    throw error instanceof ClearedError ? error : unreadable;
  }
}

// A compiled schema takes a hundred times its own size; an honest one has a few kB.
const LARGEST = 500_000;
// Forty definitions that each name the next one twice are a terabyte of work; an honest schema takes milliseconds.
const LONGEST_MS = 3000;
const script = new Script("work()");
const room = createContext({ work: null as unknown });

/** Interrupts work that takes too long, by the only means to interrupt work in this thread. */
function within<T>(work: () => T): T {
  room["work"] = work;
  try {
    return script.runInContext(room, { timeout: LONGEST_MS }) as T;
  } finally {
    room["work"] = null;
  }
}

function withoutPatterns(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(withoutPatterns);
  if (typeof schema !== "object" || schema === null) return schema;
  const kept = Object.entries(schema).filter(
    ([key, value]) => !(key === "pattern" && typeof value === "string") && key !== "patternProperties",
  );
  return Object.fromEntries(kept.map(([key, value]) => [key, withoutPatterns(value)]));
}
