/** Quiet hours: the next open minute, over midnight and over both changes of the clock. */
import { expect, test } from "vitest";
import { nextOpen, type QuietHours } from "../../runtime/outside/notices/outbox.ts";

const NIGHT: QuietHours = { from: "20:00", to: "08:00", timezone: "America/New_York" };

// what it is, hours, now, first open minute
test.each<[string, Partial<QuietHours>, string, string]>([
  ["open at noon", {}, "2026-11-20T17:00:30Z", "2026-11-20T17:00:30Z"],
  ["the last open minute", {}, "2026-11-21T00:59:59Z", "2026-11-21T00:59:59Z"],
  ["the first quiet minute waits over midnight", {}, "2026-11-21T01:00:00Z", "2026-11-21T13:00:00Z"],
  ["after midnight it is the same morning", {}, "2026-11-21T05:30:10Z", "2026-11-21T13:00:00Z"],
  ["clocks go forward in the night: an hour sooner", {}, "2026-03-08T03:00:00Z", "2026-03-08T12:00:00Z"],
  ["clocks go back in the night: an hour later", {}, "2026-11-01T02:00:00Z", "2026-11-01T13:00:00Z"],
  ["quiet ends at a minute that does not exist: the first one after it", { to: "02:30" }, "2026-03-08T05:00:00Z", "2026-03-08T07:00:00Z"],
  ["quiet ends at a minute that comes twice: its first coming", { to: "01:30" }, "2026-11-01T05:00:00Z", "2026-11-01T05:30:00Z"],
  ["and is quiet again when the hour comes back", { to: "01:30" }, "2026-11-01T06:10:00Z", "2026-11-01T06:30:00Z"],
  ["hours within one day", { from: "12:00", to: "13:30" }, "2026-11-20T17:10:00Z", "2026-11-20T18:30:00Z"],
  ["another zone", { timezone: "Asia/Kolkata" }, "2026-11-20T16:00:00Z", "2026-11-21T02:30:00Z"],
  ["leap day", {}, "2028-02-29T02:00:00Z", "2028-02-29T13:00:00Z"],
])("%s", (_, hours, now, open) => {
  expect(new Date(nextOpen(Date.parse(now), { ...NIGHT, ...hours })).toISOString()).toBe(new Date(open).toISOString());
});

test("without quiet hours every time is open", () => {
  expect(nextOpen(5, null)).toBe(5);
});
