/**
 * Whether a write outside had its intended effect (spec/worker.md 14): the record is read before and after and compared with the
 * intended result. Expected fields come from the `verify` spec of trust.yaml, else from the tool's verb and parameters.
 * Only listed reading tools are ever called.
 */
import { answerText } from "../answers/mutations.ts";
import { canonicalJson } from "../../kernel/canonical.ts";
import { ClearedError, onCode } from "../../kernel/errors.ts";
import type { Call, Json, ToolInfo, VerifiedWrite } from "../../kernel/ports.ts";
import { nameWords, spelled } from "./classify.ts";
import {
  compare,
  type Expectation,
  expectedFields,
  hasChanged,
  kept,
  movedSince,
  otherAmounts,
  provesNothingHappened,
  recordOf,
  type Snapshot,
  wrongId,
} from "./compare.ts";
import { isUnanswered, outcomeUnknown } from "./refusal.ts";
import { failureIn, fieldNamed, type Fields, isObject, matches, objectsIn, own, propertiesOf, requiredOf } from "./shape.ts";

/** `verify:` of a tool in trust.yaml. A value `$x` is the call's parameter x. */
export interface VerifyDeclaration {
  /** The reading tool, on the same server. */
  read: string;
  /** The reader's parameter -> the write's parameter that supplies its value, else the field of the write's answer. */
  key?: Record<string, string> | undefined;
  /** Fields of the record after the write. */
  expect?: Record<string, Json> | undefined;
  /**
   * Fields of the record before the write, a list for any of several values; `different` where the tool sets fields, so that
   * two equal calls have the effect of one. Without it a crash in between always asks a person.
   */
  before?: Record<string, Json> | "different" | undefined;
  /** Parameters that are not compared, because the record's field of that name means something else. */
  ignore?: readonly string[] | undefined;
}

export interface VerifySpec {
  /** `SERVER/NAME` of the reading tool. */
  read: string;
  /** The reader's parameters; `answer` is the write's (null before it). Null when no id is known. */
  key(params: Fields, answer: Json): Fields | null;
  expect(params: Fields): Expectation;
  /** Declared fields of the record before the write, or null. */
  untouched: Fields | "different" | null;
}

/** The pairs of the seed (14), used where the server offers the reading tool. */
const PAIRS: Record<string, string> = Object.fromEntries(
  `get_order modify_order_items update_order_items cancel_order create_order; get_invoice approve_invoice reject_invoice void_invoice
  update_invoice; get_ticket close_ticket resolve_ticket assign_ticket; get_payment_adjustment process_payment_adjustment; get_refund
  process_refund; get_credit apply_credit`
    .split("; ")
    .flatMap((row) => {
      const [read = "", ...writes] = row.split(/\s+/);
      return writes.map((write) => [write, read]);
    }),
);

/** How the status begins after a verb; British and American spelling. */
const STATES: Record<string, readonly string[]> = Object.fromEntries(
  "approve approved, archive archived, cancel cancelled canceled, close closed, reject rejected, resolve resolved, suspend suspended, terminate terminated, void void voided"
    .split(", ")
    .map((row) => row.split(" "))
    .map(([verb = "", ...states]) => [verb, states]),
);

const REMOVES = new Set(["delete", "remove"]);

/** The parameters that identify a record: id, *_id, *_number, *_code, *_ref, in snake_case or camelCase. */
export function keyParams(params: Fields): Fields {
  return Object.fromEntries(Object.entries(params).filter(([name]) => /^(?:.+_)?(?:id|number|code|ref)$/.test(spelled(name))));
}

/** `order_items` of `modify_order_items`: the name without its verb. */
export function nounOf(name: string): string {
  const all = nameWords(name);
  return all.slice(all.length > 1 ? 1 : 0).join("_");
}

/** How a write of this tool is read back; null when no listed reading tool is known for it. */
export function verifySpec(tool: ToolInfo, declared: VerifyDeclaration | undefined, listed: readonly ToolInfo[]): VerifySpec | null {
  const name = spelled(tool.name);
  const noun = nounOf(tool.name);
  const wanted = declared?.read.split("/").at(-1) ?? PAIRS[name] ?? `get_${noun}`;
  const reader = listed.find(
    (one) => one.server === tool.server && one.class === "read" && (one.name === wanted || spelled(one.name) === wanted),
  );
  if (reader === undefined) return null;
  const map = declared?.key;
  return {
    read: reader.tool,
    key: (params, answer) => (map === undefined ? inferredKey(reader, params, answer) : declaredKey(map, params, answer)),
    expect: (params) => expectation(name, declared, params),
    untouched: declared?.before ?? null,
  };
}

function declaredKey(map: Record<string, string>, params: Fields, answer: Json): Fields | null {
  const key: Fields = {};
  for (const [to, from] of Object.entries(map)) {
    const value = own(params, from) ?? fieldOf(answer, [from]);
    if (value === undefined || value === null) return null;
    key[to] = value;
  }
  return key;
}

/** The record's own id by the reader's schema, from the parameters or from the answer that created it; else the other ids the reader takes. */
function inferredKey(reader: ToolInfo, params: Fields, answer: Json): Fields | null {
  const known = Object.keys(propertiesOf(reader.input_schema));
  const required = requiredOf(reader.input_schema);
  const noun = nounOf(reader.name);
  const names = [`${noun}_id`, "id"];
  const isOwn = (name: string): boolean => names.includes(spelled(name));
  const find = (name: string): Json | undefined =>
    fieldNamed(params, isOwn(name) ? [name, ...names] : [name]) ?? (isOwn(name) ? fieldOf(answer, [name, ...names]) : undefined);
  const wanted = required.length > 0 ? required : known.filter(isOwn).slice(0, 1);
  if (wanted.length > 0) {
    const key = Object.fromEntries(wanted.map((name) => [name, find(name) ?? null]));
    if (Object.values(key).every((value) => value !== null)) return key;
    if (required.length > 0) return null;
  }
  const others = Object.fromEntries(Object.entries(keyParams(params)).filter(([name]) => known.length === 0 || known.includes(name)));
  if (Object.keys(others).length > 0) return others;
  const made = known.length === 0 ? fieldOf(answer, names) : undefined;
  return made === undefined || made === null ? null : { [`${noun}_id`]: made };
}

function fieldOf(answer: Json, names: readonly string[]): Json | undefined {
  for (const record of objectsIn(answer)) {
    const value = fieldNamed(record, names);
    if (typeof value === "string" || typeof value === "number") return value;
  }
  return undefined;
}

function expectation(name: string, declared: VerifyDeclaration | undefined, params: Fields): Expectation {
  const verb = name.split("_")[0] ?? "";
  const { expect = {}, key = {}, ignore = [] } = declared ?? {};
  const sources = Object.values(expect).flatMap((value) => (typeof value === "string" && value.startsWith("$") ? [value.slice(1)] : []));
  const named = new Set([...sources, ...Object.values(key), ...ignore]);
  const asked = Object.entries(params).filter(([field, value]) => value !== null && !named.has(field));
  return {
    fields: filled(expect, params),
    asked: Object.fromEntries(asked),
    states: declared?.expect === undefined ? (STATES[verb] ?? []) : [],
    gone: declared?.expect === undefined && REMOVES.has(verb),
  };
}

/** `$x` becomes parameter x; an absent parameter is not expected. */
function filled(expect: Record<string, Json>, params: Fields): Fields {
  const values = Object.entries(expect).map(([field, value]): [string, Json | undefined] => [
    field,
    typeof value === "string" && value.startsWith("$") ? own(params, value.slice(1)) : value,
  ]);
  return Object.fromEntries(values.filter((pair): pair is [string, Json] => pair[1] !== undefined));
}

const NOT_FOUND = /\bnot[ _-]?found\b|\bno such\b|does not exist|doesn't exist|\bunknown\b|\b404\b/i;

async function snapshot(call: Call, read: (call: Call) => Promise<Json>): Promise<Snapshot> {
  try {
    const answer = await read(call);
    const failure = failureIn(answer);
    if (failure !== null) return NOT_FOUND.test(failure) ? null : undefined;
    return recordOf(answer, call.params as Fields);
  } catch (error) {
    if (!(error instanceof ClearedError)) throw error;
    return error.code === "TOOL_FAILED" && NOT_FOUND.test(error.message) ? null : undefined;
  }
}

/**
 * One write with its read-back. `read` is only called with the spec's reading tool, and `write` at most once: not at all when
 * the record already shows this write, by every field its spec declares for before and after, or another amount where the write adds
 * one, unless the run itself has written it and so means to write it `again`. A tool that answers with a failure (or throws TOOL_FAILED)
 * has written nevertheless if its record has become what was asked for: VERIFIED. It is WRITE_FAILED if the error or the record proves
 * that nothing happened, or the record has changed in another way (`diff`).
 * @throws TOOL_LOST when the outcome is unknown: a failure without a conclusive record; and any other error of `write`
 */
export async function verifiedWrite(options: {
  call: Call;
  spec: VerifySpec | null;
  read(call: Call): Promise<Json>;
  write(): Promise<Json>;
  /** The run's earlier writes: a write it repeats is intended. */
  earlier?: readonly VerifiedWrite[];
  /** What the run last saw of the record that this reading call shows; undefined if it has not read it. */
  seen?: ((read: Call) => Json | undefined) | undefined;
  /** An earlier attempt may have happened: no refusal of this one says that it did not. */
  inDoubt?: boolean;
}): Promise<{ answer: Json; write: VerifiedWrite }> {
  const { call, spec, read, write, earlier = [] } = options;
  const params = isObject(call.params) ? call.params : {};
  const early = spec?.key(params, null) ?? null;
  const before = spec === null || early === null ? undefined : await snapshot({ tool: spec.read, params: early }, read);
  const expected = spec?.expect(params) ?? null;
  const shown = { read_back: true, tool: call.tool };
  const outcome = (key: Fields | null, after: Snapshot, answer: string): VerifiedWrite => {
    const fields = expected === null ? {} : expectedFields(expected, before, after);
    const kinds = [...Object.keys(fields), ...Object.keys(key ?? {}), "id", "status", "state"];
    return {
      tool: call.tool,
      params: call.params,
      status: "UNVERIFIABLE",
      read: spec === null || key === null ? null : { tool: spec.read, params: key },
      expected: fields,
      before: kept(before, kinds),
      after: kept(after, kinds),
      diff: {},
      answer: answerText(answer),
    };
  };
  const again = (wrote: (one: VerifiedWrite) => Json, what: Json): boolean =>
    earlier.some((one) => one.tool === call.tool && canonicalJson(wrote(one)) === canonicalJson(what));
  if (spec !== null && early !== null && before !== undefined) {
    if (!again((one) => one.params, call.params) && isDone(spec, params, early, before))
      return { answer: shown, write: { ...outcome(early, before, "its record shows it already; nothing was sent"), status: "VERIFIED" } };
    const others = again((one) => one.read?.params ?? null, early) ? "" : differingAmounts(spec, params, early, before);
    const then = options.seen?.({ tool: spec.read, params: early });
    const isMoved = then !== undefined && (spec.untouched === "different" || !isUntouched(spec, params, early, before));
    const moved = isMoved ? movedSince(recordOf(then, early), before, spec.expect(params)) : "";
    if (options.inDoubt === true && moved !== "") throw outcomeUnknown(call.tool, `not sent again: ${spec.read} shows ${moved}`);
    const why = others === "" ? moved : `${others} already. Put that record right, or leave it as it is`;
    const error = `nothing was sent: ${spec.read} shows ${why}`;
    if (why !== "") return { answer: { error }, write: { ...outcome(early, before, JSON.stringify({ error })), status: "WRITE_FAILED" } };
  }
  const { answer, error } = await write().then(
    (answer) => ({ answer, error: null }),
    onCode("TOOL_FAILED", (error) => ({ answer: { error: error.message } as Json, error })),
  );
  const key = spec?.key(params, answer) ?? early;
  const failure = failureIn(answer);
  const text = typeof answer === "string" ? answer : JSON.stringify(answer);
  // An error during the read-back must not look like a failed write.
  const after = spec === null || key === null ? undefined : await snapshot({ tool: spec.read, params: key }, read).catch(() => undefined);
  const seen = expected === null || key === null ? null : compare(expected, key, before, after);
  if (failure === null) return { answer, write: { ...outcome(key, after, text), ...seen } };
  const failed = { ...outcome(key, after, text), status: "WRITE_FAILED" } as const;
  // A record says nothing yet about what may still be under way behind the tool.
  const late = isUnanswered(`${failure} ${JSON.stringify(error?.data ?? answer)}`);
  if (spec !== null && key !== null && expected !== null && seen !== null) {
    const moved = before !== undefined && after !== undefined && hasChanged(before, after);
    if (moved && seen.status === "VERIFIED" && compare(expected, key, before, before).status !== "VERIFIED")
      return { answer: shown, write: { ...failed, answer: `its record shows it, though it answered: ${failure}`, status: "VERIFIED" } };
    const none = provesNothingHappened(expected, key, before, after) || isUntouched(spec, params, key, after);
    if ((moved || none) && !late) return { answer, write: { ...failed, diff: moved ? seen.diff : {} } };
  }
  if (error?.data?.["refused"] === true && options.inDoubt !== true) return { answer, write: failed };
  const says = failure.startsWith(call.tool) ? failure : `${call.tool}: ${failure}`;
  throw outcomeUnknown(call.tool, says, late ? "TOOL_TIMEOUT" : "TOOL_FAILED");
}

/** After a crash: whether a write happened. Null: unknown, because a record in between may be a write in progress. */
export async function happened(call: Call, spec: VerifySpec | null, read: (call: Call) => Promise<Json>): Promise<boolean | null> {
  const params = isObject(call.params) ? call.params : {};
  const key = spec?.key(params, null) ?? null;
  if (spec === null || key === null) return null;
  const record = await snapshot({ tool: spec.read, params: key }, read);
  if (Object.keys(spec.expect(params).fields).length === 0) return null;
  if (isAsRequested(spec, params, key, record)) return true;
  return isUntouched(spec, params, key, record) ? false : null;
}

/** True only if the spec distinguishes the record before the write from the one after, and this is the one after. */
function isDone(spec: VerifySpec, params: Fields, key: Fields, record: Snapshot): boolean {
  return spec.untouched !== null && isAsRequested(spec, params, key, record) && !isUntouched(spec, params, key, record);
}

/** Other amounts in a record, if the write is declared to add it: adding another would not correct it. */
function differingAmounts({ untouched, expect }: VerifySpec, params: Fields, key: Fields, record: Snapshot): string {
  const adds = untouched !== null && untouched !== "different" && untouched["found"] === false;
  return !adds || record == null || Object.keys(wrongId(key, record)).length > 0 ? "" : otherAmounts(expect(params), params, record);
}

/** The record has all declared fields, and nothing differs from the request; without declared fields nothing is known. */
function isAsRequested(spec: VerifySpec, params: Fields, key: Fields, record: Snapshot): boolean {
  const expected = spec.expect(params);
  return Object.keys(expected.fields).length > 0 && compare(expected, key, undefined, record).status === "VERIFIED";
}

/** The record is the requested one, in its declared state before the write. */
function isUntouched(spec: VerifySpec, params: Fields, key: Fields, record: Snapshot): boolean {
  const { untouched } = spec;
  if (record === null) return untouched !== null && untouched !== "different" && untouched["found"] === false;
  if (untouched === null || record === undefined || Object.keys(wrongId(key, record)).length > 0) return false;
  if (untouched === "different") return compare(spec.expect(params), key, undefined, record).status === "MISMATCH";
  const fields = Object.entries(filled(untouched, params));
  const holds = ([name, value]: [string, Json]): boolean =>
    (Array.isArray(value) ? value : [value]).some((one) => matches(one, own(record, name)));
  return fields.length > 0 && fields.every(holds);
}
