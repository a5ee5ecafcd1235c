/** Schedules: five fields, a key a minute, and what is wrong is said. */
import { afterEach, expect, test, vi } from "vitest";
import { createCron, nextTick, tickKey } from "../../runtime/outside/triggers/cron.ts";

afterEach(() => vi.useRealTimers());

test("the next tick is the schedule's in its time zone, and none for what is not cron", async () => {
  const at = Date.parse("2026-11-21T12:00:00Z");
  const next = (expression: string, timezone = "America/New_York") => nextTick({ agent: "a", expression, timezone }, at);
  expect(await next("0 6 * * *")).toBe(Date.parse("2026-11-22T11:00:00Z"));
  expect(await next("0 6 * * *", "UTC")).toBe(Date.parse("2026-11-22T06:00:00Z"));
  expect(await next("*/15 * * * 6")).toBe(Date.parse("2026-11-21T12:15:00Z"));
  expect(await next("61 6 * * *")).toBeNull();
  expect(await next("0 0 6 * * *")).toBeNull();
  expect(await next("0 6 * * *", "Mars/Olympus")).toBeNull();
});

test("a tick heard twice in its minute has one key", () => {
  expect(tickKey("0 6 * * *", new Date("2026-11-22T06:00:00Z"))).toBe(tickKey("0 6 * * *", new Date("2026-11-22T06:00:59Z")));
  expect(tickKey("0 6 * * *", new Date("2026-11-22T06:01:00Z"))).not.toBe(tickKey("0 6 * * *", new Date("2026-11-22T06:00:00Z")));
});

test("a schedule rings at its minute, a removed one no more, and a wrong one stops no other", async () => {
  vi.useFakeTimers({ now: new Date("2026-11-22T05:59:58Z") });
  const ticks: string[] = [];
  const cron = createCron((agent) => void ticks.push(agent));
  const good = { agent: "good", expression: "0 6 * * *", timezone: "UTC" };
  const mondays = { agent: "mondays", expression: "0 0 31 2 1", timezone: "UTC" };
  const each = { agent: "each", expression: "* * * * *", timezone: "UTC" };
  expect(await cron.set([{ agent: "wrong", expression: "every day", timezone: "UTC" }, mondays, good, each])).toEqual([
    'agents/wrong.ts: schedule: "every day" never comes: it is not a cron expression, or no calendar has such a day. Write five fields: minute hour day month weekday, for example "0 6 * * *".',
  ]);
  await vi.advanceTimersByTimeAsync(4000);
  expect(ticks.sort()).toEqual(["each", "good"]);
  expect(await cron.set([each])).toEqual([]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(ticks.filter((tick) => tick === "each")).toHaveLength(2);
  cron.stop();
  await vi.advanceTimersByTimeAsync(120_000);
  expect(ticks).toHaveLength(3);
});
