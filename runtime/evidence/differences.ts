/**
 * Two sets of effects compared by meaning: entries by id, calls by tool and parameters, whatever their order. Says which of five classes a
 * run is in, and why in plain words. Names of commits and runs are symbols: that they differ means nothing.
 */
import { canonicalJson } from "../engine/canonical.ts";
import type { Call, Entry, RunRecord } from "../ports.ts";
import { moneyOf } from "./money.ts";
import type { BacktestClass, CallEffect, Effects, EntryEffect, RunDifference, Trial } from "./types.ts";

/** Entries as the books hold them now, by id: what a person has confirmed or corrected since the run. */
export type Known = ReadonlyMap<string, Pick<Entry, "status" | "postings">>;

const CONFIRMED: readonly string[] = ["user-confirmed", "user-corrected", "bootstrap-confirmed"];

/** Compares what was (recorded, or done by the code before) with what the new code does. */
export function differenceOf(run: RunRecord, was: Effects, trial: Trial, known: Known): RunDifference {
  const base = { run: run.id, divergence: trial.divergence, supposed: trial.supposed };
  if (trial.missing !== null) return { ...base, class: "not_replayable", why: [trial.missing], entries: [], money: [] };
  const now = trial.effects;
  const entries = pairsOf(was.entries, now.entries);
  const worse = [
    ...failure(was, now, "JOURNAL_"),
    ...doubles(was, now),
    ...ungated(was, now),
    ...unasked(was, now),
    ...entries.flatMap((pair) => judged(pair, was, now, known).worse),
  ];
  const failed = worse.length > 0 ? [] : failure(was, now, "");
  const changed = [...outcomes(was, now), ...entries.flatMap((pair) => judged(pair, was, now, known).changed), ...acts(was, now)];
  const why = [...new Set([...worse, ...failed, ...changed])];
  const kind: BacktestClass = worse.length > 0 ? "worse" : failed.length > 0 ? "failed" : why.length > 0 ? "changed" : "same";
  return { ...base, class: kind, why, entries, money: moneyOf(entries) };
}

function pairsOf(was: readonly EntryEffect[], now: readonly EntryEffect[]): RunDifference["entries"] {
  const [before, after] = [byId(was), byId(now)];
  const ids = new Set([...before.keys(), ...after.keys()]);
  return [...ids].flatMap((id) => {
    const pair = { was: before.get(id) ?? null, now: after.get(id) ?? null };
    return symbolic(pair.was) === symbolic(pair.now) ? [] : [pair];
  });
}

const byId = (entries: readonly EntryEffect[]) => new Map(entries.map((entry) => [entry.id, entry]));

/** The new code fails with a code of this domain, and failed otherwise or not at all before. */
function failure(was: Effects, now: Effects, domain: string): string[] {
  if (now.status !== "failed" || now.error === null || now.error.code === was.error?.code || !now.error.code.startsWith(domain)) return [];
  const before = was.status === "failed" ? `failed with ${was.error?.code}` : "did not fail";
  return [`fails with ${now.error.code} where it ${before}: ${now.error.message}`];
}

function outcomes(was: Effects, now: Effects): string[] {
  if (now.status === "failed") return [];
  if (was.status === "failed") return [`no longer fails (${was.error?.code})`];
  if (was.outcome !== now.outcome) return [`ends as ${now.outcome}, was ${was.outcome}`];
  return symbolic(was.result) === symbolic(now.result) ? [] : [`result: ${firstDifference(was.result, now.result)}`];
}

/** What was done once is done again. */
function doubles(was: Effects, now: Effects): string[] {
  return (["calls", "notices"] as const).flatMap((kind) => {
    const [before, after] = [counted(was[kind].map(unapproved)), counted(now[kind].map(unapproved))];
    return [...after].flatMap(([text, times]) => {
      const once = before.get(text) ?? 0;
      return once > 0 && times > once ? [`${clip(text)} is made ${times} times, was ${once}`] : [];
    });
  });
}

const unapproved = (one: CallEffect | Effects["notices"][number]): unknown =>
  "tool" in one ? { tool: one.tool, params: one.params } : one;

/** A call that had a person's yes is made without one, whatever its parameters are now unless its tool was called without one, too. */
function ungated(was: Effects, now: Effects): string[] {
  const tool = (call: CallEffect) => call.tool;
  const whole = (call: CallEffect) => symbolic(unapproved(call));
  const made = (approved: boolean, name: typeof tool) => new Set(was.calls.filter((call) => call.approved === approved).map(name));
  const [tools, free, calls, freeCalls] = [made(true, tool), made(false, tool), made(true, whole), made(false, whole)];
  const had = (call: CallEffect) => (free.has(call.tool) ? calls.has(whole(call)) && !freeCalls.has(whole(call)) : tools.has(call.tool));
  return now.calls
    .filter((call) => !call.approved && had(call))
    .map((call) => `${nameOf(call)} is made without a person's yes, which it had`);
}

/** A question of yes or no that guards no call of its own is not asked any more; a form only asks for data. */
function unasked(was: Effects, now: Effects): string[] {
  const plain = ({ gates }: Effects) => gates.filter(({ calls, form }) => calls.length === 0 && form !== true).map(({ title }) => title);
  const [before, after] = [plain(was), plain(now)];
  if (now.status !== "done" || after.length >= before.length) return [];
  return before.filter((title) => !after.includes(title)).map((title) => `${clip(title)} is no longer asked of anybody`);
}

/** What an entry that comes out differently means, with what a person said of it since. */
function judged(
  { was, now }: RunDifference["entries"][number],
  before: Effects,
  after: Effects,
  known: Known,
): { worse: string[]; changed: string[] } {
  const entry = now ?? was;
  if (entry === null) return { worse: [], changed: [] };
  const name = `${entry.date} ${entry.description}`;
  const line = `${name}: ${was === null ? "new" : shown(was)} -> ${now === null ? "gone" : shown(now)}${tagged(was, now)}`;
  const book = known.get(entry.id);
  const confirmed = book !== undefined && CONFIRMED.includes(book.status) && book.status !== was?.status ? book : null;
  const isSame = was !== null && now !== null && legsOf(was.legs) === legsOf(now.legs);
  if (confirmed !== null && was !== null && !isSame) {
    if (now !== null && legsOf(now.legs) === legsOf(confirmed.postings))
      return { worse: [], changed: [`${line} (as a person left it: better)`] };
    return { worse: [`${line}, but a person has left it as ${shown({ legs: confirmed.postings })}`], changed: [] };
  }
  // Nobody looks at it any more, and the code knows no more about it than it did.
  const looked = (effects: Effects) => effects.reviews.some(({ about }) => about === entry.id);
  if (isSame && looked(before) && !looked(after) && now.status !== "pending-review" && confirmed === null)
    return { worse: [`${name}: goes to no person any more, was pending and is ${now.status}`], changed: [] };
  return { worse: [], changed: [line] };
}

function tagged(was: EntryEffect | null, now: EntryEffect | null): string {
  if (was === null || now === null) return "";
  if (was.status !== now.status) return `, ${was.status} -> ${now.status}`;
  return legsOf(was.legs) === legsOf(now.legs) ? `, ${firstDifference(was, now)}` : "";
}

/** Calls, notices, gates, reviews, events, files and older entries that differ. */
function acts(was: Effects, now: Effects): string[] {
  return [
    ...calls(was, now),
    ...lists(
      "notice",
      was.notices,
      now.notices,
      ({ to, subject, channel }) => `to ${to}${channel === undefined ? "" : ` by ${channel}`}: ${subject}`,
    ),
    ...lists("gate", was.gates, now.gates, ({ title }) => title),
    ...lists("review", was.reviews, now.reviews, ({ title }) => title),
    ...lists("event", was.events, now.events, ({ event }) => event),
    ...keyed("entry", was.changed, now.changed),
    ...keyed("file", was.files, now.files),
  ];
}

/** A call of the same tool with other parameters is named with both. */
function calls(was: Effects, now: Effects): string[] {
  const gone = without(was.calls, now.calls);
  const added = without(now.calls, was.calls);
  const lines = added.map((call) => {
    const twin = gone.findIndex(({ tool }) => tool === call.tool);
    if (twin < 0) return `new call ${nameOf(call)}`;
    const [before] = gone.splice(twin, 1) as [CallEffect];
    return before.approved !== call.approved && symbolic(before.params) === symbolic(call.params)
      ? `${call.tool} is made ${call.approved ? "with" : "without"} a person's yes, was ${before.approved ? "with" : "without"}`
      : `${call.tool}: ${firstDifference(before.params, call.params)}`;
  });
  return [...lines, ...gone.map((call) => `no more call ${nameOf(call)}`)];
}

function lists<T>(kind: string, was: readonly T[], now: readonly T[], name: (one: T) => string): string[] {
  return [...without(now, was).map((one) => `new ${kind} ${name(one)}`), ...without(was, now).map((one) => `no more ${kind} ${name(one)}`)];
}

function keyed(kind: string, was: Readonly<Record<string, string | null>>, now: Readonly<Record<string, string | null>>): string[] {
  const keys = [...new Set([...Object.keys(was), ...Object.keys(now)])];
  return keys
    .filter((key) => symbolic(was[key]) !== symbolic(now[key]))
    .map((key) => `${kind} ${key}: ${firstDifference(was[key], now[key])}`);
}

/** Those of `all` that have no partner in `others`, each of which pairs once. */
function without<T>(all: readonly T[], others: readonly T[]): T[] {
  const left = counted(others);
  return all.filter((one) => {
    const text = symbolic(one);
    const times = left.get(text) ?? 0;
    left.set(text, times - 1);
    return times <= 0;
  });
}

function counted(all: readonly unknown[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const one of all) counts.set(symbolic(one), (counts.get(symbolic(one)) ?? 0) + 1);
  return counts;
}

/** One text for what means the same: keys in order, ids of commits and runs without their letters. */
function symbolic(value: unknown): string {
  return canonicalJson(value ?? null)
    .replaceAll(/\b[0-9a-f]{40}\b/g, "COMMIT")
    .replaceAll(/\brun_[0-9A-Z]{14}\b/g, "RUN");
}

/** `amount "10.00" -> "100.00"`: the first field in which two values differ. */
export function firstDifference(was: unknown, now: unknown, path = ""): string {
  const isFolder = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;
  if (isFolder(was) && isFolder(now) && Array.isArray(was) === Array.isArray(now)) {
    const key = [...new Set([...Object.keys(was), ...Object.keys(now)])].find((one) => symbolic(was[one]) !== symbolic(now[one]));
    if (key !== undefined) return firstDifference(was[key], now[key], path === "" ? key : `${path}.${key}`);
  }
  return `${path === "" ? "" : `${path} `}${clip(was)} -> ${clip(now)}`;
}

function legsOf(legs: readonly { account: string; amount: string; currency: string }[]): string {
  return legs
    .map(({ account, amount, currency }) => `${account} ${amount} ${currency}`)
    .sort()
    .join("\n");
}

/** `Expenses:Software 84.00 USD`: where an entry's money goes; where it comes from too, when that is more than one account. */
function shown({ legs }: { legs: readonly { account: string; amount: string; currency: string }[] }): string {
  return legs.map(({ account, amount, currency }) => `${account} ${amount} ${currency}`).join(", ");
}

const nameOf = ({ tool, params }: Call): string => `${tool}(${clip(params)})`;

function clip(value: unknown): string {
  const text = typeof value === "string" && value.startsWith("{") ? value : (JSON.stringify(value) ?? "nothing");
  return text.length > 160 ? `${text.slice(0, 160)}…` : text;
}
