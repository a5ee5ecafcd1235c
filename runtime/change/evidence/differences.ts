/**
 * Differences between two sets of effects, in words: entries by id, calls by tool and parameters, regardless of order. Names of commits and
 * runs are symbols: a difference between them has no meaning.
 */
import type { Call, Json } from "../../kernel/ports.ts";
import { filesOf } from "./acts.ts";
import { bookedIn, legLines, wholeEntry } from "./effects.ts";
import { apart, clip, firstDifference, symbolic } from "./partings.ts";
import type { CallEffect, Effects, EntryEffect, FactDifference, RunDifference } from "./types.ts";

/** Entries that are not equal on both sides. */
export function pairsOf(was: Effects, now: Effects): RunDifference["entries"] {
  const [before, after] = [bookedIn(was), bookedIn(now)];
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((id) => {
    const [one, other] = [before.get(id), after.get(id)];
    if (one === other) return [];
    const pair = { was: one === undefined ? null : wholeEntry(one), now: other === undefined ? null : wholeEntry(other) };
    return isSame(pair.was, pair.now) ? [] : [pair];
  });
}

export function outcomes(was: Effects, now: Effects): string[] {
  if (now.status === "failed") return [];
  if (was.status === "failed") return [`no longer fails (${was.error?.code})`];
  if (was.outcome !== now.outcome) return [`ends as ${now.outcome}, was ${was.outcome}`];
  return symbolic(was.result) === symbolic(now.result) ? [] : [`result: ${firstDifference(was.result, now.result)}`];
}

/** Differences other than the legs: `, pending-review -> auto-confirmed, counterparty "AWS" -> "Eve"`. */
export function tagged(was: EntryEffect | null, now: EntryEffect | null): string {
  if (was === null || now === null) return "";
  const status = was.status === now.status ? "" : `, ${was.status} -> ${now.status}`;
  const { legs: _, status: _s, ...before } = was;
  const { legs: _l, status: _t, ...after } = now;
  return symbolic(before) === symbolic(after) ? status : `${status}, ${firstDifference(before, after)}`;
}

/** Facts that a policy was given with other values, verdict by verdict of the same policy. */
export function factsOf(was: Effects, now: Effects): FactDifference[] {
  const found = new Map<string, FactDifference>();
  for (const [before, after] of verdictPairs(was, now))
    for (const name of new Set([...Object.keys(before?.facts ?? {}), ...Object.keys(after?.facts ?? {})])) {
      const one = { name, was: (before?.facts[name] ?? null) as Json, now: (after?.facts[name] ?? null) as Json };
      if (before !== undefined && after !== undefined && symbolic(one.was) !== symbolic(one.now)) found.set(symbolic(one), one);
    }
  return [...found.values()];
}

export const factLine = ({ name, was, now }: FactDifference): string => `fact ${name}: ${clip(was)} -> ${clip(now)}`;

export function verdicts(was: Effects, now: Effects): string[] {
  return verdictPairs(was, now).flatMap(([before, after]) => {
    if (before?.verdict === after?.verdict) return [];
    const policy = (before ?? after)?.policy ?? "";
    return [`verdict${policy === "" ? "" : ` of ${policy}`}: ${before?.verdict ?? "none"} -> ${after?.verdict ?? "none"}`];
  });
}

function verdictPairs(was: Effects, now: Effects) {
  const byPolicy = ({ verdicts: all }: Effects) => Map.groupBy(all, ({ policy }) => policy);
  const [before, after] = [byPolicy(was), byPolicy(now)];
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((policy) => {
    const [ones, others] = [before.get(policy) ?? [], after.get(policy) ?? []];
    return Array.from({ length: Math.max(ones.length, others.length) }, (_, n) => [ones[n], others[n]] as const);
  });
}

/** Calls, notices, gates, reviews, events, files and older entries that differ. */
export function acts(was: Effects, now: Effects): string[] {
  return [
    ...calls(was, now),
    ...lists("notice", was.notices, now.notices, noticeName),
    ...lists("gate", was.gates, now.gates, ({ title }) => title),
    ...lists("review", was.reviews, now.reviews, ({ title }) => title),
    ...lists("event", was.events, now.events, ({ event }) => event),
    ...keyed("entry", was.changed, now.changed),
    ...filesOf(was.files, now.files).flatMap(({ path, says }) => says.map((line) => `file ${path}: ${line}`)),
  ];
}

const noticeName = ({ to, subject, channel }: Effects["notices"][number]): string =>
  `to ${to}${channel === undefined ? "" : ` by ${channel}`}: ${subject}`;

function calls(was: Effects, now: Effects): string[] {
  const lines = lists("call", was.calls, now.calls, nameOf, ({ tool }) => tool, callDifference);
  const first = was.calls.findIndex((call, i) => symbolic(call) !== symbolic(now.calls[i]));
  const [old, other] = [was.calls[first], now.calls[first]];
  if (lines.length > 0 || old === undefined || other === undefined) return lines;
  return [`calls come in another order: ${[other, old].map((one) => (old.tool === other.tool ? nameOf(one) : one.tool)).join(" before ")}`];
}

function callDifference(before: CallEffect, call: CallEffect): string {
  if (before.approved === call.approved || symbolic(before.params) !== symbolic(call.params))
    return `${call.tool}: ${firstDifference(before.params, call.params)}`;
  const [now, then] = [call, before].map(({ approved }) => (approved ? "with" : "without"));
  return `${call.tool} is made ${now} a person's approval, was ${then}`;
}

/** What is on one side only, by name; an item with the same key on both sides is described by its difference. */
function lists<T>(
  kind: string,
  was: readonly T[],
  now: readonly T[],
  name: (one: T) => string,
  keyOf = name,
  differ = (before: T, one: T) => `${kind} ${name(one)}: ${firstDifference(before, one)}`,
): string[] {
  if (JSON.stringify(was) === JSON.stringify(now)) return [];
  const [gone, added] = apart(was, now, symbolic);
  const lines = added.map((one) => {
    const twin = gone.findIndex((other) => keyOf(other) === keyOf(one));
    if (twin < 0) return `new ${kind} ${name(one)}`;
    const [before] = gone.splice(twin, 1) as [T];
    return differ(before, one);
  });
  return [...lines, ...gone.map((one) => `no more ${kind} ${name(one)}`)];
}

function keyed(kind: string, was: Readonly<Record<string, string | null>>, now: Readonly<Record<string, string | null>>): string[] {
  const keys = [...new Set([...Object.keys(was), ...Object.keys(now)])];
  return keys
    .filter((key) => symbolic(was[key]) !== symbolic(now[key]))
    .map((key) => `${kind} ${key}: ${firstDifference(was[key], now[key])}`);
}

/** The members of `all` without a partner in `others`, each of which pairs once. */
export const without = <T>(all: readonly T[], others: readonly T[]): T[] => apart(all, others, symbolic)[0];

/** Most values are equal as text, which is much faster to see. */
const isSame = (was: unknown, now: unknown): boolean => JSON.stringify(was) === JSON.stringify(now) || symbolic(was) === symbolic(now);

export const legsOf = (legs: EntryEffect["legs"]): string => legLines(legs).sort().join("\n");
export const shown = ({ legs }: Pick<EntryEffect, "legs">): string => legLines(legs).join(", ");

export const nameOf = ({ tool, params }: Call): string => `${tool}(${clip(params)})`;
