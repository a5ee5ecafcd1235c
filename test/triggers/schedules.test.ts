/** Schedules against a clock that sleeps, jumps and changes: what was missed is made up for as the header says, and no tick counts twice. */
import { afterEach, expect, test } from "vitest";
import { createCards } from "../../runtime/engine/store/cards.ts";
import { Database } from "../../runtime/engine/store/database.ts";
import { ClearedError } from "../../runtime/kernel/errors.ts";
import { openAlerts } from "../../runtime/outside/notices/alerts.ts";
import { type Planned, forgetOthers, startDue } from "../../runtime/outside/triggers/cron.ts";

const databases: Database[] = [];
afterEach(() => {
  for (const one of databases.splice(0)) one.close();
});

function setup(expression: string, more: Partial<Planned> = {}) {
  const database = new Database(":memory:");
  databases.push(database);
  const keys = new Set<string>();
  const ticks: string[] = [];
  const notes: string[] = [];
  const planned: Planned = { agent: "ingest", expression, timezone: "America/New_York", missed: "run-once", ...more };
  let now = 0;
  let failure: ClearedError | null = null;
  return {
    database,
    ticks,
    notes,
    fail: (error: ClearedError | null) => {
      failure = error;
    },
    alerts: () => openAlerts(database, now),
    cards: () => createCards(database).list({ open: true }),
    /** Looks at what is due at this moment; answers the ticks that started a run. */
    async at(moment: string): Promise<string[]> {
      now = Date.parse(moment);
      const before = ticks.length;
      await startDue(
        {
          database,
          now: () => now,
          note: (message) => void notes.push(message),
          start: async (agent, { cause }) => {
            if (failure !== null) throw failure;
            const created = !keys.has(cause.key);
            keys.add(cause.key);
            if (created) ticks.push((cause.detail as { tick: string }).tick.slice(0, 16));
            return { id: agent, created };
          },
        },
        planned,
      );
      return ticks.slice(before);
    },
  };
}

test("a new schedule counts from when it is first seen, and each tick starts one run", async () => {
  const { at, alerts } = setup("0 6 * * *");
  expect(await at("2026-11-20T12:00:00Z")).toEqual([]);
  expect(await at("2026-11-21T10:59:59Z")).toEqual([]);
  expect(await at("2026-11-21T11:00:00Z")).toEqual(["2026-11-21T11:00"]);
  expect(await at("2026-11-21T11:00:30Z")).toEqual([]);
  expect(alerts()).toEqual([]);
});

// what missed: says, the runs after a week asleep, what the card says of them
test.each<[Planned["missed"], number, string]>([
  ["run-once", 1, "It runs once now."],
  ["run-all", 7, "It runs 7 times now, once for each."],
  ["skip", 0, "It was skipped (missed: skip)."],
])("a machine that slept for a week: %s", async (missed, runs, then) => {
  const { at, cards, alerts } = setup("0 6 * * *", { missed });
  await at("2026-11-10T12:00:00Z");
  const started = await at("2026-11-17T14:00:00Z");
  expect(started).toHaveLength(runs);
  if (runs > 0) expect(started.at(-1)).toBe("2026-11-17T11:00");
  expect(cards()).toMatchObject([
    {
      title: "ingest should have run at 2026-11-11 11:00 UTC and did not, nor later until 2026-11-17 11:00 UTC",
      body: { about: { what_now: then } },
    },
  ]);
  expect(alerts()).toHaveLength(1);
  expect(await at("2026-11-17T14:00:10Z")).toEqual([]);
  expect(await at("2026-11-18T11:00:01Z")).toEqual(["2026-11-18T11:00"]);
});

test("run-all is limited: the last hundred run, and the card says that there were more", async () => {
  const { at, cards } = setup("* * * * *", { missed: "run-all" });
  await at("2026-11-10T12:00:00Z");
  const started = await at("2026-11-17T12:00:00Z");
  expect(started).toHaveLength(100);
  expect([started[0], started.at(-1)]).toEqual(["2026-11-17T10:21", "2026-11-17T12:00"]);
  expect(cards()).toMatchObject([{ body: { about: { what_now: "It runs now for the last 100 of them; those before are left out." } } }]);
});

test("a few minutes late is no alarm, and skip still runs", async () => {
  const { at, alerts } = setup("0 6 * * *", { missed: "skip" });
  await at("2026-11-20T12:00:00Z");
  expect(await at("2026-11-21T11:04:00Z")).toEqual(["2026-11-21T11:00"]);
  expect(alerts()).toEqual([]);
});

test("without an owner every command shows what is overdue, from the store alone", async () => {
  const { at, database } = setup("0 6 * * *");
  await at("2026-11-20T12:00:00Z");
  expect(openAlerts(database, Date.parse("2026-11-21T11:05:00Z"))).toEqual([]);
  expect(openAlerts(database, Date.parse("2026-11-21T11:06:00Z"))).toEqual([
    expect.stringContaining("ingest should have run at 2026-11-21 11:00 UTC and has not"),
  ]);
  forgetOthers(database, []);
  expect(openAlerts(database, Date.parse("2026-11-21T11:06:00Z"))).toEqual([]);
});

test("a run that cannot start is an alert, and the schedule continues", async () => {
  const { at, cards, fail } = setup("0 6 * * *");
  await at("2026-11-20T12:00:00Z");
  fail(new ClearedError("RUN_INPUT", "the field n is missing."));
  expect(await at("2026-11-21T11:00:00Z")).toEqual([]);
  expect(cards()).toMatchObject([{ body: { about: { what_now: "the field n is missing." } } }]);
  fail(null);
  expect(await at("2026-11-22T11:00:00Z")).toEqual(["2026-11-22T11:00"]);
});

test("a failing store loses no tick", async () => {
  const { at, fail } = setup("0 6 * * *");
  await at("2026-11-20T12:00:00Z");
  fail(new ClearedError("STORE_FULL", "full."));
  await expect(at("2026-11-21T11:00:00Z")).rejects.toMatchObject({ code: "STORE_FULL" });
  fail(null);
  expect(await at("2026-11-21T11:01:00Z")).toEqual(["2026-11-21T11:00"]);
});

test("setting the clock back repeats no tick", async () => {
  const { at, ticks } = setup("*/30 * * * *", { timezone: "UTC" });
  await at("2026-11-20T05:50:00Z");
  await at("2026-11-20T06:00:01Z");
  await at("2026-11-20T06:30:01Z");
  await at("2026-11-20T05:45:00Z");
  await at("2026-11-20T06:00:01Z");
  await at("2026-11-20T06:30:01Z");
  await at("2026-11-20T07:00:01Z");
  expect(ticks).toEqual(["2026-11-20T06:00", "2026-11-20T06:30", "2026-11-20T07:00"]);
  // A clock that was years ahead for a moment silences nothing.
  await at("2031-01-01T00:00:00Z");
  await at("2026-11-20T07:10:00Z");
  expect(await at("2026-11-20T07:30:01Z")).toEqual(["2026-11-20T07:30"]);
});

// what it is, schedule, from, until, the ticks in between at one look each quarter of an hour
test.each<[string, string, string, string, string[]]>([
  [
    "clocks go forward: 02:30 does not exist and runs at 03:00",
    "30 2 * * *",
    "2026-03-07T12:00:00Z",
    "2026-03-09T12:00:00Z",
    ["2026-03-08T07:00", "2026-03-09T06:30"],
  ],
  [
    "clocks go back: 01:30 comes twice and runs once",
    "30 1 * * *",
    "2026-10-31T12:00:00Z",
    "2026-11-02T12:00:00Z",
    ["2026-11-01T05:30", "2026-11-02T06:30"],
  ],
  [
    "clocks go back: each half hour is each half hour",
    "*/30 0-2 * * *",
    "2026-11-01T03:30:00Z",
    "2026-11-01T08:00:00Z",
    [
      "2026-11-01T04:00",
      "2026-11-01T04:30",
      "2026-11-01T05:00",
      "2026-11-01T05:30",
      "2026-11-01T06:00",
      "2026-11-01T06:30",
      "2026-11-01T07:00",
      "2026-11-01T07:30",
    ],
  ],
  ["a leap day", "0 6 29 2 *", "2028-02-28T12:00:00Z", "2028-03-02T12:00:00Z", ["2028-02-29T11:00"]],
  ["the last of the month", "0 6 L * *", "2026-02-27T12:00:00Z", "2026-03-31T12:00:00Z", ["2026-02-28T11:00", "2026-03-31T10:00"]],
])("%s", async (_, expression, from, until, expected) => {
  const { at, ticks } = setup(expression);
  for (let now = Date.parse(from); now <= Date.parse(until); now += 900_000) await at(new Date(now).toISOString());
  expect(ticks).toEqual(expected);
});
