/** The approval profiles of trust.yaml at work: `auto` answers a gate itself, `tool:SERVER/NAME` asks an approval system outside. */
import type { Standing } from "../engine/approval.ts";
import { actionHash, isWithin } from "../engine/profile.ts";
import { toWire } from "../errors.ts";
import type { Clock, Json, RunRecord, Tools } from "../ports.ts";
import type { Config, Trust } from "../workspace/config.ts";
import { profileFor } from "../workspace/people.ts";
import { execSource } from "./source.ts";

interface Around {
  trust: Trust;
  clock: Clock;
  config(run: RunRecord): Promise<Config>;
  /** The workspace's tools, for a question of the runtime's own. */
  tools(run: RunRecord): Tools;
}

/** Anything but an explicit yes to exactly these calls leaves the gate to a person. */
export function createStanding({ trust, clock, config, tools }: Around): Standing {
  return async (run, card, key, note) => {
    const profile = profileFor(trust.approvals, run.agent);
    // A script by that name that is in no commit is not the agent the profile was written for.
    if (profile === null || execSource(run.cause) !== null) return null;
    if (!isWithin(card.calls, profile, (await config(run)).currency)) return null;
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
      note(`The approval system could not be asked (${toWire(error).message}); a person is.`);
    }
    return null;
  };
}
