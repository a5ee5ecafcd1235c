/** Compares a record with the intended result of a write (spec/worker.md 14): id, expected fields, implied status or absence. No calls. */
import type { Json, Verification, VerifiedWrite } from "../../kernel/ports.ts";
import { redactJson } from "../privacy/scan.ts";
import { nameWords, spelled } from "./classify.ts";
import { type Fields, fieldNamed, isObject, matches, objectsIn, own } from "./shape.ts";
import { amountsIn } from "./trace.ts";

export interface Expectation {
  /** Declared in trust.yaml: the record must have them. */
  fields: Fields;
  /** The parameters of the call that no declaration names: if the record has a field of that name, it must be equal. */
  asked: Fields;
  /** How the record's status must begin, by the verb: cancelled, canceled. Empty: unknown. */
  states: readonly string[];
  /** The record must be gone afterwards. */
  gone: boolean;
}

/** How the status of a removed record begins, where the record remains. */
export const REMOVED = ["deleted", "removed"];

/** Fields that change on every read and so prove nothing about a write. */
const VOLATILE = new Set("accessed fetched generated now queried read request retrieved server viewed views".split(" "));

/** A reader's answer: a record, null (there is none), or undefined (unknown). */
export type Snapshot = Fields | null | undefined;

/** Whether the reader says that there is no such record. */
const isAbsent = (record: Fields | null): boolean => record === null || own(record, "found") === false || own(record, "exists") === false;

/** The comparable part of an expectation: all declared fields, and the parameters that the record has, or had before. */
export function comparable({ fields, asked }: Expectation, before: Snapshot, after: Snapshot): Fields {
  const has = (record: Snapshot, name: string): boolean => record != null && fieldNamed(record, [name]) !== undefined;
  const there = Object.entries(asked).filter(([name]) => has(after, name) || has(before, name));
  return { ...Object.fromEntries(there), ...fields };
}

/** The expected fields for display, with the status that the verb leads to. */
export function expectedFields(expected: Expectation, before: Snapshot, after: Snapshot): Fields {
  const fields = comparable(expected, before, after);
  const [state] = expected.gone ? REMOVED : expected.states;
  return { ...fields, ...(state === undefined || Object.hasOwn(fields, "status") ? {} : { status: state }) };
}

/**
 * Compares a record with the intended result of a write. `key`: the parameters the record was read by. VERIFIED: each field that the
 * record has is as requested; a write with nothing to compare, or with an amount that the record does not show, proves nothing.
 */
export function compare(
  expected: Expectation,
  key: Fields,
  before: Snapshot,
  after: Snapshot,
): { status: Verification; diff: VerifiedWrite["diff"] } {
  const verdict = (status: Verification, diff: VerifiedWrite["diff"] = {}) => ({ status, diff });
  if (after === undefined) return verdict("UNVERIFIABLE");
  const tells = ["found", "exists"].some((name) => Object.hasOwn(expected.fields, name));
  if (after === null || (isAbsent(after) && !tells)) {
    if (expected.gone) return verdict(before != null && !isAbsent(before) ? "VERIFIED" : "UNVERIFIABLE");
    return verdict("MISMATCH", differing({ ...key, ...expected.fields }, {}));
  }
  const wrong = wrongId(key, after);
  if (Object.keys(wrong).length > 0) return verdict("MISMATCH", wrong);
  const state = statusField(after);
  const states = expected.gone ? REMOVED : expected.states;
  const fields = comparable(expected, before, after);
  const diff = differing(fields, after);
  if (expected.gone || (state !== null && states.length > 0)) {
    const word = nameWords(String(state === null ? "" : after[state]))[0] ?? "";
    if (!states.includes(word))
      diff[state ?? "status"] = { expected: states[0] ?? null, actual: state === null ? null : (after[state] ?? null) };
  } else if (Object.keys(fields).length === 0) return verdict("UNVERIFIABLE");
  if (Object.keys(diff).length > 0) return verdict("MISMATCH", diff);
  const unseen = Object.entries(expected.asked).filter(([name]) => !Object.hasOwn(fields, name));
  return verdict(amountsIn(Object.fromEntries(unseen)).length > 0 && !expected.gone ? "UNVERIFIABLE" : "VERIFIED");
}

/** Whether an unchanged record proves that a write did not happen: it does not exist, or differs from the requested fields. */
export function provesNothingHappened(expected: Expectation, key: Fields, before: Snapshot, after: Snapshot): boolean {
  if (before === undefined || after === undefined || hasChanged(before, after)) return false;
  return isAbsent(after) || compare(expected, key, before, after).status === "MISMATCH";
}

/** Expected fields whose actual values differ. */
export function differing(expected: Fields, actual: Fields): VerifiedWrite["diff"] {
  const wrong = Object.entries(expected).filter(([name, value]) => !matches(value, fieldNamed(actual, [name])));
  return Object.fromEntries(wrong.map(([name, value]) => [name, { expected: value, actual: fieldNamed(actual, [name]) ?? null }]));
}

/** The amounts of a record that differ from a call's, also within a list: `amount 7367.00, not 736.83`. */
export function otherAmounts(expected: Expectation, params: Fields, record: Fields): string {
  const amounts = amountsIn(params).map(({ value }) => value);
  const wrong = Object.entries(isAbsent(record) ? {} : differing(comparable(expected, null, record), record));
  const others = wrong.filter(
    ([name, one]) => one.actual !== null && (amounts.includes(String(one.expected)) || amountsIn({ [name]: one.expected }).length > 0),
  );
  const shown = (value: Json): string =>
    isObject(value) || Array.isArray(value)
      ? amountsIn(value)
          .map((one) => one.value)
          .join(" ")
      : String(value);
  return others.map(([name, one]) => `${name} ${shown(one.actual)}, not ${shown(one.expected)}`).join(", ");
}

/** Fields a write is about that someone else changed since the run read them: `quantity 10, which was 4 when this run read it`. */
export function movedSince(then: Snapshot, now: Snapshot, expected: Expectation): string {
  if (then === undefined || now == null || isAbsent(now)) return "";
  const names = Object.keys(comparable(expected, then, now));
  // In what a run has read, identity and card numbers are redacted.
  const [was, is] = [then === null || isAbsent(then) ? null : then, redactJson(now) as Fields];
  const moved = names.flatMap((name) => {
    const [before, after] = [was === null ? null : fieldNamed(was, [name]), fieldNamed(is, [name])];
    if (before === undefined || (was === null ? after === undefined : matches(before ?? null, after))) return [];
    return `${name} ${JSON.stringify(after ?? null)}, which was ${was === null ? "not there" : JSON.stringify(before)} when this run read it`;
  });
  return moved.length === 0 ? "" : `${moved.join(", ")}. Start the run again`;
}

/** The field in which a record shows an id: the same name, or `id` for the only id it was read by. */
function idField(record: Fields, name: string, alone: boolean): string | undefined {
  const bare = (field: string): boolean => typeof record[field] !== "object" || record[field] === null;
  const same = Object.keys(record).find((field) => bare(field) && spelled(field) === spelled(name));
  return same ?? (alone && /(^|_)id$/.test(spelled(name)) && Object.hasOwn(record, "id") ? "id" : undefined);
}

const sameId = (a: Json, b: Json | undefined): boolean => b !== undefined && b !== null && String(a) === String(b);

export function wrongId(key: Fields, record: Fields): VerifiedWrite["diff"] {
  const diff: VerifiedWrite["diff"] = {};
  for (const [name, value] of Object.entries(key)) {
    const field = idField(record, name, Object.keys(key).length === 1);
    if (field !== undefined && !sameId(value, record[field])) diff[field] = { expected: value, actual: record[field] ?? null };
  }
  return diff;
}

const statusField = (record: Fields): string | null => ["status", "state"].find((name) => typeof own(record, name) === "string") ?? null;

/** Whether two readings of a record differ in more than traces of reading; null is no record. */
export function hasChanged(before: Fields | null, after: Fields | null): boolean {
  if (before === null || after === null) return before !== after;
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].some(
    (name) => !nameWords(name).some((word) => VOLATILE.has(word)) && JSON.stringify(own(before, name)) !== JSON.stringify(own(after, name)),
  );
}

// Records are stored in the run's history: above this size only the compared fields.
const KEPT_CHARS = 8_000;

export function kept(record: Snapshot, fields: readonly string[]): Json {
  if (record === null || record === undefined) return null;
  if (JSON.stringify(record).length <= KEPT_CHARS) return record;
  return Object.fromEntries(fields.filter((name) => Object.hasOwn(record, name)).map((name) => [name, record[name] ?? null]));
}

/** The record inside an answer's wrappers and lists: the outermost object with the id, else the outermost single record. */
export function recordOf(answer: Json, key: Fields): Snapshot {
  if (answer === null || (Array.isArray(answer) && answer.length === 0)) return null;
  const all = objectsIn(answer);
  const alone = Object.keys(key).length === 1;
  const shows = (record: Fields): boolean =>
    Object.entries(key).some(([name, value]) => {
      const field = idField(record, name, alone);
      return field !== undefined && sameId(value, record[field]);
    });
  const found = all.find(shows);
  if (found !== undefined) return found;
  const [outer] = all;
  if (outer === undefined) return undefined;
  // `{data: {...}}`, `{invoice: {...}}`, `[{...}]`: one inner record and no field of its own.
  const values = Object.values(outer);
  if (values.length === 0) return null;
  return values.length === 1 && typeof values[0] === "object" && values[0] !== null ? recordOf(values[0], key) : outer;
}
