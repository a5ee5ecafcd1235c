/** Schedules: five fields, a key a minute, and what is wrong is said. */
import { expect, test, vi } from "vitest";
import { Database } from "../../runtime/engine/store/database.ts";
import { getFact } from "../../runtime/engine/store/facts.ts";
import { createBell, nextTick, tickKey } from "../../runtime/outside/triggers/cron.ts";
import { type TriggerPorts, startTriggers } from "../../runtime/outside/triggers/index.ts";
import { parseHeader } from "../../runtime/scripts/header.ts";

test("the next tick is the schedule's in its time zone, and none for an invalid expression", async () => {
  const at = Date.parse("2026-11-21T12:00:00Z");
  const next = (expression: string, timezone = "America/New_York") => nextTick({ agent: "a", expression, timezone }, at);
  expect(await next("0 6 * * *")).toBe(Date.parse("2026-11-22T11:00:00Z"));
  expect(await next("0 6 * * *", "UTC")).toBe(Date.parse("2026-11-22T06:00:00Z"));
  expect(await next("*/15 * * * 6")).toBe(Date.parse("2026-11-21T12:15:00Z"));
  expect(await next("61 6 * * *")).toBeNull();
  expect(await next("0 0 6 * * *")).toBeNull();
  expect(await next("0 6 * * *", "Mars/Olympus")).toBeNull();
});

test("a tick seen twice in its minute has one key", () => {
  expect(tickKey("0 6 * * *", new Date("2026-11-22T06:00:00Z"))).toBe(tickKey("0 6 * * *", new Date("2026-11-22T06:00:59Z")));
  expect(tickKey("0 6 * * *", new Date("2026-11-22T06:01:00Z"))).not.toBe(tickKey("0 6 * * *", new Date("2026-11-22T06:00:00Z")));
});

test("a schedule starts at its minute; one without ticks or removed does not, and an invalid one stops no other", async () => {
  const database = new Database(":memory:");
  let [now, head] = [Date.parse("2026-11-22T05:59:58Z"), "1"];
  const scheduled = (name: string, schedule: string) => ({
    name,
    blob: "",
    header: parseHeader(`/*\nname: T\ntrigger: schedule\nschedule: "${schedule}"\n*/\n1;`, `agents/${name}.ts`),
  });
  const each = scheduled("each", "* * * * *");
  let agents = [scheduled("wrong", "every day"), scheduled("mondays", "0 0 31 2 1"), scheduled("good", "0 6 * * *"), each];
  const [ticks, notes]: [string[], string[]] = [[], []];
  const ports: Partial<TriggerPorts> = {
    ...{ dir: ".", database, now: () => now, head: async () => head, agents: async () => agents, timezone: async () => "UTC" },
    ...{
      blockedBy: async () => null,
      paused: () => "",
      emitted: () => [],
      wakeWaiting: async () => undefined,
      reconcile: async () => true,
    },
    note: (message) => void notes.push(message),
    start: async (agent, { cause }) => {
      const id = `${agent} ${cause.key}`;
      const created = !ticks.includes(id);
      if (created) ticks.push(id);
      return { id, created };
    },
  };
  const triggers = startTriggers(ports as TriggerPorts);
  const ticked = (...names: string[]) => vi.waitFor(() => expect(ticks.map((one) => one.split(" ")[0]).sort()).toEqual(names), 60_000);
  await vi.waitFor(() => expect(notes).toHaveLength(1), 60_000);
  expect(notes).toEqual([
    'agents/wrong.ts: schedule: "every day" never comes: it is not a cron expression, or no calendar has such a day. Write five fields: minute hour day month weekday, for example "0 6 * * *".',
  ]);
  expect(ticks).toEqual([]);
  now = Date.parse("2026-11-22T06:00:05Z");
  await ticked("each", "good");
  [agents, head] = [[each, scheduled("good", "0 0 31 2 *")], "2"];
  // Nothing is due of it any more, and nothing counts as missed if it comes back.
  await vi.waitFor(() => expect(JSON.parse(getFact(database, "schedule:good") ?? "{}")).toMatchObject({ next: null }), 60_000);
  [agents, head] = [[each], "3"];
  await vi.waitFor(() => expect(getFact(database, "schedule:good")).toBeNull(), 60_000);
  now = Date.parse("2026-11-23T06:00:05Z");
  await ticked("each", "each", "good");
  await triggers.stop();
  now = Date.parse("2026-11-24T06:00:05Z");
  await new Promise((resolve) => setTimeout(resolve, 700));
  expect(ticks).toHaveLength(3);
  database.close();
});

test("the timer signals each tick of its schedules, and none after their removal", async () => {
  vi.useFakeTimers({ now: new Date("2026-11-22T05:59:58Z") });
  let rung = 0;
  const bell = createBell(() => rung++);
  const never = { agent: "never", expression: "0 0 31 2 1", timezone: "UTC" };
  await bell.set([never, { agent: "good", expression: "0 6 * * *", timezone: "UTC" }]);
  await vi.advanceTimersByTimeAsync(4000);
  expect(rung).toBe(1);
  await bell.set([{ agent: "each", expression: "* * * * *", timezone: "UTC" }]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(rung).toBe(2);
  bell.stop();
  await vi.advanceTimersByTimeAsync(120_000);
  expect(rung).toBe(2);
  vi.useRealTimers();
});
