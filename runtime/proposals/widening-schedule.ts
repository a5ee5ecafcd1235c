/** When an agent starts by itself: triggers that are new, and schedules that tick more often. */
import type { Header } from "../sandbox/header.ts";
import type { Around } from "./program.ts";
import type { WideningKind } from "./types.ts";

interface Started {
  kind: WideningKind;
  text: string;
  /** Where it stands in the header. */
  key: string;
}

// How many ticks are looked at, and how far: what ticks more often than these two can tell ends them sooner.
const TICKS = 200;
const SPAN_MS = 1000 * 3_600_000;

/** `was` null: the agent is new. */
export async function scheduleWidening(was: Header | null, now: Header, around: Pick<Around, "nextTick">): Promise<Started[]> {
  const found: Started[] = [];
  const say = (kind: WideningKind, key: string, text: string) => void found.push({ kind, key, text });
  const has = (header: Header | null, word: Header["trigger"][number]) => header?.trigger.includes(word) === true;
  if (has(now, "schedule") && !has(was, "schedule")) say("schedule", "schedule", `starts by itself on a schedule: ${now.schedule ?? ""}`);
  else if (has(now, "schedule") && was !== null && (was.schedule !== now.schedule || was.timezone !== now.timezone)) {
    const [before, after] = [await ticks(was, around), await ticks(now, around)];
    if (after.count > before.count || (after.count === before.count && after.until < before.until))
      say("schedule", "schedule", `starts more often: ${now.schedule ?? ""} instead of ${was.schedule ?? ""}`);
    else if (after.count === before.count)
      say("schedule", "schedule", `starts at other times: ${now.schedule ?? ""} instead of ${was.schedule ?? ""}`);
  }
  if (has(now, "schedule") && was !== null && now.missed === "run-all" && was.missed !== "run-all")
    say("schedule", "missed", "makes up for every start it missed (missed: run-all)");
  if (has(now, "file_watch") && (!has(was, "file_watch") || was?.watch !== now.watch))
    say("trigger", "watch", `starts when a file arrives in ${now.watch ?? "import/"}`);
  if (has(now, "event") && (!has(was, "event") || was?.on_event !== now.on_event))
    say("trigger", "on_event", `starts on the event ${now.on_event ?? ""}`);
  if (has(now, "webhook") && (!has(was, "webhook") || was?.webhook !== now.webhook))
    say("trigger", "webhook", `is started from outside, by the webhook ${now.webhook ?? ""}`);
  return found;
}

/** How many ticks there are in the next 1,000 hours (at most TICKS), and when the last of them is. */
async function ticks(header: Header, { nextTick }: Pick<Around, "nextTick">): Promise<{ count: number; until: number }> {
  const schedule = { agent: "", expression: header.schedule ?? "", timezone: header.timezone ?? "UTC" };
  let count = 0;
  let at = 0;
  for (let next = await nextTick(schedule, at); next !== null && next <= SPAN_MS && count < TICKS; next = await nextTick(schedule, at)) {
    count++;
    at = next;
  }
  return { count, until: count < TICKS ? SPAN_MS : at };
}
