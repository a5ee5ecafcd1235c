/**
 * What a case states: what a person confirmed, corrected or approved, and the calls and money that a change was about. Not guesses, counts,
 * titles or the order of reads: a later good change may alter those. Invariant: a later decision of a person takes precedence over the case.
 */
import { z } from "zod";
import { canonicalJson } from "../../kernel/canonical.ts";
import type { Call, Json, Outcome } from "../../kernel/ports.ts";
import { isObject } from "../../rules/tools/shape.ts";
import { symbolic } from "./partings.ts";
import { bookedIn, legLines, wholeEntry } from "./effects.ts";
import type { Left } from "./left.ts";
import type { Effects, EntryEffect, RunDifference } from "./types.ts";

export const line = (max: number) => z.string().min(1).max(max);
const any = z.custom<Json>((value) => value !== undefined, "is missing");
const call = z.strictObject({ tool: line(200), params: any });
const leg = z.string().regex(/^\S.* -?\d{1,30}(?:\.\d{1,18})? [A-Z]{2,12}$/, "write a leg such as 'Expenses:Software 84.00 USD'");

/** The `keeps` of a case file (case-file.ts). */
export const keptSchema = z.strictObject({
  /** Entries by their legs, in order; no legs: it must not be booked. about: day and description, for readers. */
  books: z.array(z.strictObject({ id: line(40), about: line(1000), legs: z.array(leg).max(1000) })).default([]),
  /** Calls that a person must be asked to approve; more parameters are allowed. */
  asks: z.array(call).default([]),
  /** Acts outside and notices (`notify`, by recipient and channel) with their counts; more parameters are allowed. */
  makes: z.array(call.extend({ times: z.int().min(0) })).default([]),
  ends: z.enum(["completed", "rejected", "expired", "blocked"] as const satisfies readonly Outcome[]).exactOptional(),
  /** Fields of the result, under any name: z.record() drops `__proto__`. */
  answers: z.custom<Record<string, Json>>((one) => isObject(one as Json), "write fields of the result").exactOptional(),
});
export type Kept = z.output<typeof keptSchema>;

export const NOTHING_KEPT: Kept = { books: [], asks: [], makes: [] };

/** At most this many entries and calls of a run, whatever its size; backtest and books cover the others. */
const MOST = 50;

export function keepsNothing({ books, asks, makes, ends, answers }: Kept): boolean {
  return books.length + asks.length + makes.length === 0 && ends === undefined && answers === undefined;
}

/** What people decided about these effects: entries as they left them, and calls they approved unedited. */
export async function decidedIn(effects: Effects, left: Left): Promise<Kept> {
  const entries = bookedIn(effects);
  const known = await left.entries([...entries.keys()]);
  const books = [...entries].flatMap(([id, entry]) => {
    const found = known.get(id);
    return found == null ? [] : [{ ...named(wholeEntry(entry)), legs: legLines(found.postings) }];
  });
  const asked = effects.gates.flatMap(({ calls }) => calls.map((call) => canonicalJson(call)));
  const asks = effects.calls.flatMap(({ approved, tool, params }) =>
    approved && asked.includes(canonicalJson({ tool, params })) ? [{ tool, params }] : [],
  );
  return { ...NOTHING_KEPT, books: books.slice(0, MOST), asks: asks.slice(0, MOST) };
}

/** What a change was about: money moved, acts and notices made more or less often, another end; else another result. */
export function changedIn(was: Effects, now: Effects, { entries }: Pick<RunDifference, "entries">): Kept {
  const moved = entries.filter((pair) => legsText(pair.was) !== legsText(pair.now));
  const kept: Kept = {
    ...NOTHING_KEPT,
    books: spread(moved).map(booked),
    makes: changedActs(was, now).slice(0, MOST),
    ...(was.outcome === now.outcome || now.outcome === null ? {} : { ends: now.outcome }),
  };
  return keepsNothing(kept) ? { ...kept, ...answerIn(was.result, now.result) } : kept;
}

/** Everything that a person declares right: entries, calls and the end; the result if there is nothing else. */
export function allOf(effects: Effects): Kept {
  const made = actsOf(effects).map((call) => ({ call, approved: "approved" in call && call.approved === true }));
  const kept: Kept = {
    books: spread(effects.entries.map((now) => ({ was: null, now }))).map(booked),
    asks: made.flatMap(({ call: { tool, params }, approved }) => (approved ? [{ tool, params }] : [])),
    makes: timesOf(made.flatMap(({ call, approved }) => (approved ? [] : [call]))),
    ...(effects.outcome === null ? {} : { ends: effects.outcome }),
  };
  return kept.books.length + kept.asks.length + kept.makes.length > 0 ? kept : { ...kept, ...answerIn(null, effects.result) };
}

/** What later changes must reproduce, one line each. */
export const keptLines = ({ books, asks, makes, ends, answers = {} }: Kept): string[] => [
  ...makes.map(({ times, tool, params }) => `${tool} ${JSON.stringify(params)} is made ${times} times`),
  ...asks.map(({ tool, params }) => `a person is asked for ${tool} ${JSON.stringify(params)}`),
  ...books.map(({ about, legs }) => `${about}: ${shown(legs)}`),
  ...(ends === undefined ? [] : [`the run ends as ${ends}`]),
  ...Object.entries(answers).map(([field, value]) => `it answers ${field} ${JSON.stringify(value)}`),
];

/** What is in the first and not in the second. */
export function without(kept: Kept, known: Kept): Kept {
  const less = <T>(all: readonly T[], others: readonly T[]) => {
    const texts = new Set(others.map((one) => canonicalJson(one)));
    return all.filter((one) => !texts.has(canonicalJson(one)));
  };
  const { ends, answers } = kept;
  return {
    books: less(kept.books, known.books),
    asks: less(kept.asks, known.asks),
    makes: less(kept.makes, known.makes),
    ...(ends === undefined || ends === known.ends ? {} : { ends }),
    ...(answers === undefined || canonicalJson(answers) === canonicalJson(known.answers ?? null) ? {} : { answers }),
  };
}

/** Both combined; for the same entry, the second wins. */
export function together(first: Kept, second: Kept): Kept {
  const own = new Set(second.books.map(({ id }) => id));
  const fresh = without(second, first);
  return {
    books: [...first.books.filter(({ id }) => !own.has(id)), ...second.books],
    asks: [...first.asks, ...fresh.asks],
    makes: [...first.makes, ...fresh.makes],
    ...(first.ends === undefined ? {} : { ends: first.ends }),
    ...(second.ends === undefined ? {} : { ends: second.ends }),
    ...(first.answers === undefined && second.answers === undefined ? {} : { answers: { ...first.answers, ...second.answers } }),
  };
}

/** One stated thing that is not reproduced. `what` is equal for the same thing missing in the same way. */
export interface Broken {
  what: string;
  why: string;
}

/** @param isWhole false for a trial that stopped: then only what came out differently is reported, not what may be missing */
export async function brokenIn(kept: Kept, effects: Effects, left: Left, isWhole: boolean): Promise<Broken[]> {
  const { asks, makes, ends, answers = {} } = kept;
  const entries = new Map(effects.entries.map((entry) => [entry.id, entry]));
  const known = await left.entries(kept.books.map(({ id }) => id));
  const books = kept.books.flatMap(({ id, about, legs }) => {
    const since = known.get(id);
    const [wanted, now] = [since == null ? legs : legLines(since.postings), legLines(entries.get(id)?.legs ?? [])];
    if (since === null || same(wanted, now) || (now.length === 0 && !isWhole)) return [];
    const why = `${about}: ${since === undefined ? "accepted" : "a person left it"} as ${shown(wanted)}; now ${shown(now)}.`;
    return [{ what: `${id} ${now.join()}`, why }];
  });
  const asked = effects.gates.flatMap(({ calls }) => calls);
  const unasked = asks.filter((call) => isWhole && !asked.some((one) => covers(one, call)));
  const acts = actsOf(effects);
  const counts = makes.map((call) => ({ call, now: acts.filter((one) => covers(one, call)).length }));
  return [
    ...books,
    ...unasked.map((call) => ({ what: canonicalJson(["asks", call]), why: askedInstead(call, asked) })),
    ...counts.flatMap(({ call: { times, ...call }, now }) => {
      if (now === times || (now < times && !isWhole)) return [];
      const why = `${call.tool} ${JSON.stringify(call.params)} is made ${now} times; accepted: ${times}.`;
      return [{ what: canonicalJson(["makes", call, now]), why }];
    }),
    ...(ends === undefined || !isWhole || effects.outcome === ends
      ? []
      : [{ what: `ends ${effects.outcome}`, why: `The run ends as ${effects.outcome ?? effects.status}; accepted: ${ends}.` }]),
    ...Object.entries(answers).flatMap(([field, wanted]) => {
      const now = fieldsOf(effects.result)[field] ?? null;
      if (!isWhole || symbolic(now) === symbolic(wanted)) return [];
      const why = `It answers ${field} ${JSON.stringify(now)}; accepted: ${JSON.stringify(wanted)}.`;
      return [{ what: `answers ${field} ${symbolic(now)}`, why }];
    }),
  ];
}

/** Acts outside and notices, as calls. */
function actsOf({ calls, notices }: Effects): Call[] {
  return [
    ...calls,
    ...notices.map(({ to, channel }) => ({ tool: "notify", params: { to, ...(channel === undefined ? {} : { channel }) } })),
  ];
}

function timesOf(calls: readonly Call[]): Kept["makes"] {
  return [...Map.groupBy(calls, ({ tool, params }) => symbolic({ tool, params }))].map(([, [first, ...more]]) => {
    const { tool, params } = first as Call;
    return { tool, params, times: 1 + more.length };
  });
}

function changedActs(was: Effects, now: Effects): Kept["makes"] {
  const [before, after] = [timesOf(actsOf(was)), timesOf(actsOf(now))];
  const timesIn = (all: Kept["makes"], call: Call) => all.find((one) => symbolic(nameOf(one)) === symbolic(nameOf(call)))?.times ?? 0;
  const gone = before.filter((call) => timesIn(after, call) === 0).map((call) => ({ ...call, times: 0 }));
  return [...after.filter((call) => timesIn(before, call) !== call.times), ...gone];
}

const nameOf = ({ tool, params }: Call): Call => ({ tool, params });

/** True for an equal call and for one with more parameters. */
function covers(call: Call, { tool, params }: Call): boolean {
  const given = fieldsOf(call.params);
  return call.tool === tool && Object.entries(fieldsOf(params)).every(([key, value]) => symbolic(given[key] ?? null) === symbolic(value));
}

const fieldsOf = (value: Json): Record<string, Json> => (isObject(value) ? value : { answer: value });

/** The fields of a result that the other result did not have with the same value. */
function answerIn(was: Json, now: Json): Pick<Kept, "answers"> {
  const before = fieldsOf(was);
  const fields = Object.entries(fieldsOf(now)).filter(
    ([key, value]) => value !== null && symbolic(before[key] ?? null) !== symbolic(value),
  );
  return fields.length === 0 ? {} : { answers: Object.fromEntries(fields.slice(0, MOST)) };
}

/** One of each kind of money movement in turn. */
function spread(pairs: RunDifference["entries"]): RunDifference["entries"] {
  const accounts = (entry: EntryEffect | null) => (entry?.legs ?? []).map(({ account }) => account).join("+");
  const kinds = [...Map.groupBy(pairs, ({ was, now }) => `${accounts(was)}>${accounts(now)}`).values()];
  const turns = Array.from({ length: MOST }, (_, turn) => kinds.flatMap((kind) => kind[turn] ?? []));
  return turns.flat().slice(0, MOST);
}

const legsText = (entry: EntryEffect | null): string =>
  legLines(entry?.legs ?? [])
    .sort()
    .join();
const same = (some: readonly string[], others: readonly string[]): boolean => [...some].sort().join() === [...others].sort().join();
const booked = ({ was, now }: RunDifference["entries"][number]) => ({
  ...named((now ?? was) as EntryEffect),
  legs: legLines(now?.legs ?? []),
});
const named = ({ id, date, description }: EntryEffect) => ({ id, about: `${date} ${description}` });
const shown = (legs: readonly string[]): string => (legs.length === 0 ? "not booked" : legs.join(", "));

/** A person edited the question, or approved it; the script now asks for the same by itself. */
function askedInstead(wanted: Call, asked: readonly Call[]): string {
  const instead = asked.filter(({ tool }) => tool === wanted.tool).map(({ params }) => JSON.stringify(params));
  const now = instead.length === 0 ? "it is no longer asked for" : `it asks for ${instead.slice(0, 3).join(" and ")}`;
  return `${wanted.tool}: a person approved ${JSON.stringify(wanted.params)}; ${now}.`;
}
