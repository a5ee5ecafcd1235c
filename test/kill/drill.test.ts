/**
 * The drill: parts of a day under a real `cleared start`, each disturbed once - somebody is killed or stopped, a lock lies about, the disk
 * is full - and each leaves what an undisturbed one leaves, and nothing beside it. Of the first fifty those that disturb in a new way or in a
 * new act; 500 with CLEARED_LONG=1, any with DRILLS=first,count.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { removeAll, type Workspace } from "../engine/harness.ts";
import { atOnce } from "../modes.ts";
import { type Act, killAll, prepareDay } from "./day.ts";
import { type Drill, KINDS, calm, drill, hold } from "./drill.ts";

const LONG = process.env["CLEARED_LONG"] === "1";
const [first, count] = (process.env["DRILLS"] ?? (LONG ? "0,500" : "0,50")).split(",").map(Number) as [number, number];
const met = new Set<string>();
const isNew = ({ what, part }: Drill): boolean => [what, ...part].filter((one) => !met.has(one) && met.add(one)).length > 0;
// Each tenth of the long ones is a whole day.
const drills = Array.from({ length: count }, (_, i) => drill(first + i, LONG && (first + i) % 10 === 9)).filter(
  (one) => LONG || process.env["DRILLS"] !== undefined || isNew(one),
);

let template: Workspace;
const calms = new Map<readonly Act[], Awaited<ReturnType<typeof calm>>>();
beforeAll(async () => {
  template = await prepareDay();
});
afterAll(async () => {
  killAll();
  await removeAll();
});

async function calmOf(part: readonly Act[]) {
  const key = [...calms.keys()].find((known) => known.join() === part.join()) ?? part;
  const found = calms.get(key) ?? (await calm(template, key));
  calms.set(key, found);
  return found;
}

test.runIf(process.platform === "linux")(
  `${drills.length} drills end as if nothing had happened`,
  async () => {
    for (const part of new Set(drills.map((one) => one.part.join()))) await calmOf(part.split(",") as Act[]);
    const broken: unknown[] = [];
    const late: Drill[] = [];
    const drill = async (one: Drill, again: boolean) => {
      const { left: wanted, ms } = await calmOf(one.part);
      const same = (left: unknown) => JSON.stringify(left) === JSON.stringify(wanted);
      try {
        const left = await hold(one, template, ms, (found) => !same(found));
        if (left !== null && !same(left)) broken.push({ ...one, ...difference(left, wanted) });
      } catch (error) {
        if (!again && /not done in time/.test(String(error))) late.push(one);
        else broken.push({ ...one, error: String((error as Error).stack).slice(0, 2500) });
      }
    };
    await atOnce(drills, (one: Drill) => drill(one, false));
    // What was not done within two minutes beside the others is held again by itself.
    for (const one of late) await drill(one, true);
    expect(broken).toEqual([]);
  },
  LONG ? 6 * 3_600_000 : 1_800_000,
);

/** Only what is not the same. */
function difference(left: unknown, wanted: unknown): object {
  const [a, b] = [left as Record<string, unknown>, wanted as Record<string, unknown>];
  return Object.fromEntries(
    Object.keys(b).flatMap((key) => (JSON.stringify(a[key]) === JSON.stringify(b[key]) ? [] : [[key, { left: a[key], wanted: b[key] }]])),
  );
}

test.runIf(count >= 50)("all processes are killed and stopped, and every lock is left behind", () => {
  const held = new Set(drills.map((one) => one.what.replace(/lock .*/, "lock")));
  expect([...held].sort()).toEqual([...new Set(KINDS)].sort());
});
