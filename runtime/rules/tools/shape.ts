/** Reads answers of unknown shape: records, wrappers, failures. Everything here is untrusted text. */
import { plainDecimal } from "../../kernel/money.ts";
import type { Json } from "../../kernel/ports.ts";
import { spelled } from "./classify.ts";

export type Fields = { [key: string]: Json };

export const isObject = (value: Json | undefined): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value);

/** The failure reported inside an answer (`{error: ...}`, `{status: "error"}`, `{success: false}`), or null. */
export function failureIn(answer: Json): string | null {
  if (!isObject(answer)) return null;
  const { error, status, success, ok, message } = answer;
  const text = (value: Json | undefined): string => (typeof value === "string" ? value : JSON.stringify(value ?? answer));
  if (error !== undefined && error !== null && error !== false && error !== "" && error !== 0) return text(error);
  if (typeof status === "string" && /^(error|failed|failure)$/i.test(status)) return text(message);
  return success === false || ok === false ? text(message) : null;
}

/** Whether values are equal: decimals by value (1200 = "1200.00"), objects by the expected keys, lists by item, others exactly. */
export function matches(expected: Json, actual: Json | undefined): boolean {
  if (actual === undefined) return false;
  if (Array.isArray(expected))
    return Array.isArray(actual) && actual.length === expected.length && expected.every((one, i) => matches(one, actual[i]));
  if (isObject(expected)) return isObject(actual) && Object.entries(expected).every(([key, one]) => matches(one, own(actual, key)));
  const decimal = plainDecimal(expected);
  return expected === actual || (decimal !== null && decimal === plainDecimal(actual));
}

/** A field of an untrusted object; inherited ones do not count. */
export const own = (record: Fields, key: string): Json | undefined => (Object.hasOwn(record, key) ? record[key] : undefined);

/** The first of these fields that a record has, in any spelling of its name (orderId, order_id). */
export function fieldNamed(record: Fields, names: readonly string[]): Json | undefined {
  for (const name of names) {
    if (Object.hasOwn(record, name)) return record[name];
    const found = Object.keys(record).find((key) => spelled(key) === spelled(name));
    if (found !== undefined) return record[found];
  }
  return undefined;
}

/** The parameters in a tool's schema, with the schema of each. */
export const propertiesOf = (schema: Json): Fields => (isObject(schema) && isObject(schema["properties"]) ? schema["properties"] : {});

/** The required parameters of a tool's schema. */
export function requiredOf(schema: Json): string[] {
  const names = isObject(schema) ? schema["required"] : [];
  return Array.isArray(names) ? names.filter((one) => typeof one === "string") : [];
}

/** The same value with each scalar and each field name changed. */
export function mapScalars(value: Json, change: (scalar: Json) => Json, name: (key: string) => string): Json {
  if (Array.isArray(value)) return value.map((one) => mapScalars(one, change, name));
  if (!isObject(value)) return change(value);
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [name(key), mapScalars(one, change, name)]));
}

/** Objects of an answer from the outside in, breadth first; at most 10,000 and four levels deep, where records are. */
export function objectsIn(answer: Json): Fields[] {
  const found: Fields[] = [];
  let level: Json[] = [answer];
  for (let depth = 0; depth < 4 && level.length > 0; depth++) {
    const next: Json[] = [];
    for (const value of level) {
      if (isObject(value)) found.push(value);
      const inner = Array.isArray(value) ? value : isObject(value) ? Object.values(value) : [];
      for (const one of inner) if (typeof one === "object" && one !== null && next.length < 10_000) next.push(one);
    }
    level = next;
  }
  return found.slice(0, 10_000);
}
