/**
 * Comparing a record with what a write was to bring about (spec/worker.md 14): the right record, the expected fields, the status a verb
 * promises, or its absence. Nothing here calls anything.
 */
import type { Json, Verification, VerifiedWrite } from "../ports.ts";
import { nameWords, spelled } from "./classify.ts";
import { type Fields, matches, objectsIn, own } from "./shape.ts";

export interface Expectation {
  fields: Fields;
  /** The fields were declared, so the record must have them; else only those it has are compared. */
  declared: boolean;
  /** What the record's status must begin with, by the verb: cancelled, canceled. Empty: nothing is known. */
  states: readonly string[];
  /** The record must be gone afterwards. */
  gone: boolean;
}

/** How the status of a removed record begins, where it is kept. */
export const REMOVED = ["deleted", "removed"];

/** Fields that reading alone changes prove nothing about a write. */
const VOLATILE = new Set("accessed fetched generated now queried read request retrieved server viewed views".split(" "));

/** What a reader says: a record, null (it says there is none), or undefined (nothing is known). */
export type Snapshot = Fields | null | undefined;

/** Compare a record with what a write was to bring about. `key`: what the record was asked for by. */
export function compare(
  expected: Expectation,
  key: Fields,
  before: Snapshot,
  after: Snapshot,
): { status: Verification; diff: VerifiedWrite["diff"] } {
  const verdict = (status: Verification, diff: VerifiedWrite["diff"] = {}) => ({ status, diff });
  if (after === undefined) return verdict("UNVERIFIABLE");
  if (after === null) {
    if (expected.gone) return verdict(before ? "VERIFIED" : "UNVERIFIABLE");
    return verdict("MISMATCH", differing(key, {}, true));
  }
  const wrong = wrongId(key, after);
  if (Object.keys(wrong).length > 0) return verdict("MISMATCH", wrong);
  const state = statusField(after);
  const states = expected.gone ? REMOVED : expected.states;
  const fields = Object.fromEntries(
    Object.entries(expected.fields).filter(
      ([name]) => expected.declared || Object.hasOwn(after, name) || (before && Object.hasOwn(before, name)),
    ),
  );
  const diff = differing(fields, after, expected.declared);
  if (expected.gone || (state !== null && states.length > 0)) {
    const word = nameWords(String(state === null ? "" : after[state]))[0] ?? "";
    if (!states.includes(word))
      diff[state ?? "status"] = { expected: states[0] ?? null, actual: state === null ? null : (after[state] ?? null) };
  } else if (Object.keys(fields).length === 0) {
    const shown = idShown(key, after);
    return verdict(shown && before && hasChanged(before, after) ? "VERIFIED" : "UNVERIFIABLE");
  }
  return verdict(Object.keys(diff).length === 0 ? "VERIFIED" : "MISMATCH", diff);
}

/** Expected fields that are not there as expected; a missing field counts where `missing`. */
export function differing(expected: Fields, actual: Fields, missing: boolean): VerifiedWrite["diff"] {
  const wrong = Object.entries(expected).filter(([name, value]) => {
    const there = own(actual, name);
    return there === undefined ? missing : !matches(value, there);
  });
  return Object.fromEntries(wrong.map(([name, value]) => [name, { expected: value, actual: own(actual, name) ?? null }]));
}

/** The field in which a record shows an id: the same name, or `id` for the one id it was asked for by. */
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

const idShown = (key: Fields, record: Fields): boolean =>
  Object.keys(key).some((name) => idField(record, name, Object.keys(key).length === 1) !== undefined);

const statusField = (record: Fields): string | null => ["status", "state"].find((name) => typeof own(record, name) === "string") ?? null;

/** Whether more than the traces of reading differ between two looks at a record; null is no record. */
export function hasChanged(before: Fields | null, after: Fields | null): boolean {
  if (before === null || after === null) return before !== after;
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].some(
    (name) => !nameWords(name).some((word) => VOLATILE.has(word)) && JSON.stringify(own(before, name)) !== JSON.stringify(own(after, name)),
  );
}

/** The record an answer holds, out of wrappers and lists: the outermost object that shows the id, else the outermost that is one record. */
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
