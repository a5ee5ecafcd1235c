/**
 * Compares two sets of effects by meaning: which of five classes a run falls into, and why, in plain words, the worst first. Acts outside,
 * decisions of people and the rules of the books are judged here; differences.ts describes the rest.
 */
import type { Call, Outcome, RunRecord } from "../../kernel/ports.ts";
import { acts, factLine, factsOf, legsOf, nameOf, outcomes, pairsOf, shown, tagged, verdicts, without } from "./differences.ts";
import { bookedIn, wholeEntry } from "./effects.ts";
import type { Left, LeftEntry } from "./left.ts";
import { actsOf, filesOf } from "./acts.ts";
import { entryWords, clip, symbolic } from "./partings.ts";
import { moneyOf } from "./sums.ts";
import type { BacktestClass, CallEffect, Effects, Harm, RunDifference, Trial } from "./types.ts";

/** `was`: the effects recorded, or those of the base; the trial has those of the new code. `left`: what people decided about the run since. */
export async function differenceOf(run: RunRecord, was: Effects, trial: Trial, left: Left): Promise<RunDifference> {
  const { worse, failed, changed, entries, facts } = await compareEffects(was, trial, left);
  const lines = [...worse, ...failed].map(({ line }) => line);
  const told = {
    run: run.id,
    divergence: trial.divergence,
    supposed: trial.supposed,
    entries,
    money: moneyOf(entries),
    facts,
    harm: [...worse, ...failed],
  };
  if (trial.missing !== null) {
    const kind = worse.length === 0 ? "not_replayable" : "worse";
    return { ...told, class: kind, why: worse.length === 0 ? [trial.missing] : [...lines, `not tried further: ${trial.missing}`] };
  }
  const outside = { acts: actsOf(was, trial.effects), files: filesOf(was.files, trial.effects.files) };
  const why = [...new Set([...lines, ...changed])];
  const kind: BacktestClass = worse.length > 0 ? "worse" : failed.length > 0 ? "failed" : why.length > 0 ? "changed" : "same";
  return { ...told, ...outside, class: kind, why };
}

/** For a run whose trial reproduces the recording exactly. */
export function sameRun({ id }: Pick<RunRecord, "id">, { divergence, supposed }: Trial): RunDifference {
  return { run: id, class: "same", why: [], divergence, supposed, entries: [], money: [], facts: [] };
}

/** Differences between two sets of effects: as lines, the worst first, and the entries and facts behind them. */
export async function compareEffects(was: Effects, { effects: now, missing }: Trial, left: Left) {
  const entries = pairsOf(was, now);
  const moved = Object.keys(now.changed).filter((id) => now.changed[id] !== was.changed[id]);
  const looked = ({ reviews }: Effects) => new Set(reviews.map(({ about }) => about));
  const unlooked = looked(was).difference(looked(now));
  const own = bookedIn(now);
  const asked = [...unlooked].flatMap((id) => own.get(id) ?? []).map(wholeEntry);
  const forgotten = asked.filter(({ status }) => status === "pending-review");
  const ids = [...entries.map((pair) => (pair.now ?? pair.was)?.id ?? ""), ...moved, ...forgotten.map(({ id }) => id)];
  const known = await left.entries(ids);
  const acted = [...doubles(was, now), ...ungated(was, now), ...afterItsEnd(was, now)];
  if (missing !== null) {
    // What happened before the trial stopped is compared; whether the missing rest would have happened is unknown.
    const booked = entries.flatMap((pair) => (pair.now === null ? [] : judged(pair, new Set(), known).worse));
    return { worse: [...acted, ...booked], failed: [], changed: [], entries: [], facts: [] };
  }
  const pairs = entries.map((pair) => judged(pair, unlooked, known));
  const worse = [
    ...failure(was, now, "JOURNAL_", "books"),
    ...acted,
    ...unasked(was, now),
    ...pairs.flatMap((one) => one.worse),
    ...moved
      .filter((id) => known.get(id) != null)
      .map((id) => harm("confirmed", `entry ${id}`, `entry ${id} becomes ${now.changed[id]}, but a person has decided it`)),
    ...undecided(was, now, left),
    ...forgotten.map(({ id, date, description }) => {
      const line = `${date} ${description}: still waits for a person, but no card asks about it`;
      return harm(known.get(id) == null ? "unasked" : "undecided", description, line);
    }),
  ];
  const facts = factsOf(was, now);
  return {
    worse,
    failed: worse.length > 0 ? [] : failure(was, now, "", "fails"),
    changed: [
      ...outcomes(was, now),
      ...facts.map(factLine),
      ...verdicts(was, now),
      ...pairs.flatMap((one) => one.changed),
      ...acts(was, now),
    ],
    entries,
    facts,
  };
}

const harm = (kind: Harm["kind"], about: string, line: string): Harm => ({ kind, about, line });

/** The new code fails with an error of this domain, and the old one failed otherwise or not at all. */
function failure(was: Effects, now: Effects, domain: string, kind: Harm["kind"]): Harm[] {
  if (now.status !== "failed" || now.error === null || now.error.code === was.error?.code || !now.error.code.startsWith(domain)) return [];
  const before = was.status === "failed" ? `failed with ${was.error?.code}` : "did not fail";
  return [harm(kind, now.error.message, `fails with ${now.error.code} where it ${before}: ${now.error.message}`)];
}

/** Something that was done once is now done twice. */
function doubles(was: Effects, now: Effects): Harm[] {
  return (["calls", "notices"] as const).flatMap((kind) => {
    const [before, after] = [Map.groupBy(was[kind].map(unapproved), symbolic), Map.groupBy(now[kind].map(unapproved), symbolic)];
    return [...after].flatMap(([text, { length: times }]) => {
      const once = before.get(text)?.length ?? 0;
      const { tool, to } = JSON.parse(text) as { tool?: string; to?: string };
      return once > 0 && times > once
        ? [harm("again", tool ?? `a notice to ${to}`, `${clip(text)} is made ${times} times, was ${once}`)]
        : [];
    });
  });
}

const unapproved = (one: CallEffect | Effects["notices"][number]): unknown =>
  "tool" in one ? { tool: one.tool, params: one.params } : one;

/**
 * A call that had a person's approval is made without one: the same call; a call of a tool that always had one; or any other, if fewer calls
 * are approved than before and more are not.
 */
function ungated(was: Effects, now: Effects): Harm[] {
  const tool = (call: CallEffect) => call.tool;
  const whole = (call: CallEffect) => symbolic(unapproved(call));
  const made = (approved: boolean, name: typeof tool) => new Set(was.calls.filter((call) => call.approved === approved).map(name));
  const [tools, free, calls, freeCalls] = [made(true, tool), made(false, tool), made(true, whole), made(false, whole)];
  const count = ({ calls: all }: Effects, approved: boolean) => all.filter((call) => call.approved === approved).length;
  const lost = count(now, true) < count(was, true) && count(now, false) > count(was, false);
  const had = (call: CallEffect) =>
    (calls.has(whole(call)) && !freeCalls.has(whole(call))) ||
    (tools.has(call.tool) && !free.has(call.tool)) ||
    (lost && !freeCalls.has(whole(call)));
  return now.calls
    .filter((call) => !call.approved && had(call))
    .map((call) => {
      const which = calls.has(whole(call)) || tools.has(call.tool) ? "it had" : "a call had before";
      return harm("without_yes", call.tool, `${nameOf(call)} is made without a person's approval, which ${which}`);
    });
}

const ENDS: Partial<Record<Outcome, string>> = {
  rejected: "a person's rejection",
  expired: "a question that nobody answered in time",
  blocked: "a policy that blocked it",
};

/** A run that ended at a rejection, in any form, now acts outside as it did not before. */
function afterItsEnd(was: Effects, now: Effects): Harm[] {
  const outcome = was.status === "done" && was.outcome !== null ? ENDS[was.outcome] : undefined;
  const end = outcome ?? (was.state === "ESCALATE" ? "an escalation to a person" : undefined);
  if (end === undefined) return [];
  const more = without(now.calls.map(unapproved), was.calls.map(unapproved)) as Call[];
  return more.map((call) => harm("after_no", `${call.tool}, after ${end}`, `${nameOf(call)} is made, where the run had ended at ${end}`));
}

/** A card that a person decided is no longer opened, because the code decides instead. Cards of entries are reported with the entry. */
function undecided(was: Effects, now: Effects, left: Left): Harm[] {
  const titles = (effects: Effects) => {
    const own = bookedIn(effects);
    // The account of an unknown statement is asked until a rule names it; the rule is the answer, so no question is lost.
    return effects.reviews.filter(({ about, asks }) => !own.has(about) && asks !== "account").map(({ title }) => title);
  };
  return without(titles(was), titles(now)).flatMap((title) =>
    left.decided().has(title) ? [harm("undecided", title, `${clip(title)} is no longer shown to a person, who had decided it`)] : [],
  );
}

/** A yes/no question that guards no call of its own is no longer asked; a form that only asks for data does not count. */
function unasked(was: Effects, now: Effects): Harm[] {
  const plain = ({ gates }: Effects) => gates.filter(({ calls, form }) => calls.length === 0 && form !== true).map(({ title }) => title);
  const [before, after] = [plain(was), plain(now)];
  if (now.status !== "done" || after.length >= before.length) return [];
  return before.filter((title) => !after.includes(title)).map((title) => harm("unasked", title, `${clip(title)} is no longer asked`));
}

/** What a changed entry means, given what a person has said about it. `unlooked`: ids that no longer have a card. */
function judged(
  { was, now }: RunDifference["entries"][number],
  unlooked: ReadonlySet<string>,
  known: ReadonlyMap<string, LeftEntry | null>,
): { worse: Harm[]; changed: string[] } {
  const entry = now ?? was;
  if (entry === null) return { worse: [], changed: [] };
  const name = `${entry.date} ${entry.description}`;
  const line = `${name}: ${was === null ? "new" : shown(was)} -> ${now === null ? "gone" : shown(now)}${tagged(was, now)}`;
  const left = known.get(entry.id);
  const isMoved = was === null || now === null || legsOf(was.legs) !== legsOf(now.legs);
  const isUnlooked = unlooked.has(entry.id);
  if (left != null && left.status !== was?.status) {
    const isLeft = now !== null && legsOf(now.legs) === legsOf(left.postings);
    if (isLeft) return { worse: [], changed: [!isMoved ? line : `${line} (as a person left it: better)`] };
    const said = `${line}, but a person has left it as ${shown({ legs: left.postings })}`;
    if (isMoved || isUnlooked) return { worse: [harm("confirmed", entryWords({ was, now }), said)], changed: [] };
  }
  // Nobody reviews it any more, and the code knows no more about it than before.
  if (isMoved || !isUnlooked || now.status === "pending-review") return { worse: [], changed: [line] };
  const unseen = `${name}: is no longer shown to a person, was pending and is ${now.status}`;
  return { worse: [harm("unseen", entry.description, unseen)], changed: [] };
}
