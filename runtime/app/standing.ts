/** The approval profiles of trust.yaml: `auto` answers a gate itself, `tool:SERVER/NAME` asks an outside approval system. */
import type { Standing } from "../engine/approval.ts";
import { actionHash, isAtMost } from "../engine/authority.ts";
import { judgedBy, outside } from "../engine/within.ts";
import type { Database } from "../engine/store/database.ts";
import { glanceAt } from "../engine/store/run-queries.ts";
import { toWire } from "../kernel/errors.ts";
import type { Call, Clock, Json, RunRecord, Tools } from "../kernel/ports.ts";
import { dayIn } from "../scripts/header.ts";
import { amountsIn } from "../rules/tools/trace.ts";
import { fromExact, plus, toExact, ZERO } from "../workspace/books/amounts.ts";
import type { Config, Trust } from "../workspace/settings/config.ts";
import { profileFor } from "../workspace/settings/people.ts";
import { keepFor, keptAt } from "../workspace/own-folders.ts";
import { GRANTED } from "../workspace/settings/moved.ts";
import { execSource } from "./starts.ts";

interface Around {
  dir: string;
  database: Database;
  trust: Trust;
  clock: Clock;
  config(run: RunRecord): Promise<Config>;
  /** The workspace's tools, for a question by the runtime itself. */
  tools(run: RunRecord): Tools;
}

/**
 * Anything but an explicit approval of exactly these calls leaves the gate to a person. `up_to` limits the sum of the amounts of a gate,
 * together with the run's other gates and the agent's other gates of the day.
 */
export function createStanding({ dir, database, trust, clock, config, tools }: Around): Standing {
  return async (run, card, key, note) => {
    const profile = profileFor(trust.approvals, run.agent);
    // An uncommitted script of that name is not the agent for which the profile was written.
    if (profile === null || execSource(run.cause) !== null) return null;
    const { currency, timezone } = await config(run);
    const calls = judgedBy(card.calls, profile);
    const why = outside(calls, profile, currency);
    if (why !== null) {
      note(`The approval profile does not cover "${card.title}": ${why}; a person is asked.`);
      return null;
    }
    const place = { agent: run.agent, run: run.id, day: dayIn(timezone, clock.now()), key };
    try {
      if (!keptWithin({ dir, database }, place, calls, profile.up_to)) {
        note(
          `The approval profile allows ${profile.up_to} ${profile.currency} for a run and for a day, all amounts together; a person is asked.`,
        );
        return null;
      }
    } catch (error) {
      note(`What the approval profile has granted cannot be kept (${toWire(error).message}); a person is asked.`);
      return null;
    }
    const yes = { card: 0, decision: "approved" as const, by: `profile:${profile.mode}`, at: clock.now() };
    if (profile.mode === "auto") return yes;
    const asked = tools(run);
    try {
      const hash = actionHash(card.calls);
      const tool = profile.mode.slice("tool:".length);
      const about = { action_hash: hash, title: card.title, calls: card.calls as unknown as Json, agent: run.agent, run: run.id };
      const { properties } = (await asked.get(tool)).input_schema as { properties?: object };
      const params = Object.fromEntries(
        Object.entries(about).filter(([name]) => properties === undefined || Object.hasOwn(properties, name)),
      );
      const { result } = await asked.call({ tool, params }, { key, now: yes.at, abort: AbortSignal.timeout(60_000) });
      const { approved, action_hash } = (result ?? {}) as { approved?: Json; action_hash?: Json };
      if (approved === true && action_hash === hash) return { ...yes, at: clock.now() };
      note(`${tool} did not approve exactly these calls; a person is asked.`);
    } catch (error) {
      note(`The approval system could not be asked (${toWire(error).message}); a person is asked instead.`);
    }
    return null;
  };
}

interface Place {
  agent: string;
  run: string;
  /** YYYY-MM-DD */
  day: string;
  /** The gate's key: if asked again, it counts once. */
  key: string;
}

interface Granted extends Pick<Place, "run" | "day"> {
  amount: string;
}

/**
 * Reserves the amounts of these calls if they fit; a reservation made before a crash stays. False if they do not fit. Kept in the user's own
 * folder, for the path (a moved folder takes it along): a store or a `.cleared` that is lost, or that somebody else has written, begins no new day.
 */
function keptWithin(
  { dir, database }: Pick<Around, "dir" | "database">,
  { agent, run, day, key }: Place,
  calls: readonly Call[],
  upTo: string,
): boolean {
  const sum = (amounts: readonly string[]) => fromExact(amounts.map((one) => toExact(one.replace("-", ""))).reduce(plus, ZERO));
  const own = sum(calls.flatMap((call) => amountsIn(call.params).map(({ value }) => value)));
  const granted = Object.entries(keptAt<{ granted: { [name: string]: Granted } }>(GRANTED, dir)?.granted ?? {});
  const name = `${agent} ${key}`;
  const others = granted.filter(([one]) => one !== name && one.startsWith(`${agent} `)).map(([, one]) => one);
  const of = (field: "run" | "day", value: string) => others.filter((one) => one[field] === value).map(({ amount }) => amount);
  if (![of("run", run), of("day", day)].every((before) => isAtMost(sum([own, ...before]), upTo))) return false;
  if (granted.some(([one]) => one === name)) return true;
  // Only the amounts of a single run are summed across days.
  const left = granted.filter(([, old]) => old.day >= day || glanceAt(database, old.run)?.ended === null);
  keepFor(GRANTED, dir, { granted: Object.fromEntries([...left, [name, { run, day, amount: own } satisfies Granted]]) });
  return true;
}
