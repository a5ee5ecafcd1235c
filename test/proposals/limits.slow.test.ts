/** However agents ask, and whatever the clock does: never more than config.yaml allows in a night and a day, and a rest after each no. */
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { admit } from "../../runtime/change/proposals/intake.ts";
import { createProposals } from "../../runtime/change/proposals/store.ts";
import { closeAll, host, removeAll, workspace } from "../engine/harness.ts";

afterAll(async () => {
  await closeAll();
  await removeAll();
});

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NOON = Date.UTC(2026, 10, 6, 12);
const rules = { per_agent_a_night: 5, per_day: 20, cooldown_hours: 24, timezone: "UTC" };

interface Taken {
  agent: string;
  path: string;
  at: number;
  ended: number | null;
}

const move = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant("ask" as const),
      agent: fc.integer({ min: 0, max: 5 }),
      file: fc.integer({ min: 0, max: 3 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("no" as const), which: fc.nat() }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("wait" as const), ms: fc.constantFrom(HOUR, 5 * HOUR, 23 * HOUR, DAY, -2 * HOUR) }),
  },
);

test("never more than the limits, whoever requests what and when", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(move, { minLength: 30, maxLength: 45 }), async (moves) => {
      let now = NOON;
      const owner = await host(await workspace(), { clock: { now: () => now } });
      const store = createProposals(owner);
      const base = await owner.git.head();
      const taken: (Taken & { id: string })[] = [];
      let asked = 0;
      for (const one of moves) {
        if (one.kind === "wait") now += one.ms;
        if (one.kind === "no" && taken.length > 0) {
          const victim = taken[one.which % taken.length] as (typeof taken)[number];
          if (victim.ended !== null) continue;
          await store.update(victim.id, { state: "rejected", why: "no", by: "Pat" }, { from: ["draft"] });
          victim.ended = now;
        }
        if (one.kind !== "ask") continue;
        const [agent, path] = [`agent:a${one.agent}`, `knowledge/f${one.file}.md`];
        const draft = { title: `Change ${++asked}`, reason: "seen", by: agent, files: { [path]: `text ${asked}\n` } };
        const { accepted, reason } = await admit(owner, { base, draft }, rules);
        const night = (ms: number) => Math.floor((ms - 18 * HOUR) / DAY);
        const day = (ms: number) => Math.floor(ms / DAY);
        // Told by a count of its own, so that neither too much nor too little is refused.
        const tonight = taken.filter((other) => other.agent === agent && night(other.at) === night(now)).length;
        const today = taken.filter((other) => day(other.at) === day(now)).length;
        const cooling = taken.some(
          (other) => other.agent === agent && other.path === path && other.ended !== null && now - other.ended < DAY,
        );
        expect(accepted, reason).toBe(tonight < 5 && today < 20 && !cooling);
        if (!accepted) continue;
        taken.push({ agent, path, at: now, ended: null, id: (await store.create(draft, base)).proposal.id });
      }
      await owner.close();
    }),
    { numRuns: 2, seed: 7 },
  );
});
