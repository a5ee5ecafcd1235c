/** What the header of an agent grants that it did not before: capabilities, states without a gate, and when it starts by itself. */
import type { State } from "../ports.ts";
import type { Header } from "../sandbox/header.ts";
import type { Around } from "./program.ts";
import type { WideningKind } from "./types.ts";

/** `key`: where it stands in the header. */
type Say = (kind: WideningKind, text: string, key: string) => void;

const RISKS = ["low", "medium", "high"];
// How many ticks of a schedule are looked at, and how far: what ticks more often than these can tell ends them sooner.
const TICKS = 200;
const SPAN_MS = 1000 * 3_600_000;

/** `was` null: the agent is new. */
export async function headerWidening(was: Header | null, now: Header, around: Pick<Around, "nextTick">, say: Say): Promise<void> {
  rights(was, now, say);
  if (was !== null) process(was, now, say);
  await starts(was, now, around, say);
}

function rights(was: Header | null, now: Header, say: Say): void {
  const added = now.uses.filter((one) => was?.uses.includes(one) !== true);
  if (added.length > 0) say("capability", `may use ${added.join(", ")}${was === null ? "" : ", which it might not before"}`, "uses");
  if (was?.mutates === false && now.mutates !== false) say("capability", "may change things; it was read-only (mutates: false)", "mutates");
  if (was === null && statesOf(now).includes("MUTATE") && !statesOf(now).includes("APPROVAL_GATE"))
    say("gate", "changes things without a gate for a person", "states");
}

function process(was: Header, now: Header, say: Say): void {
  if (was.process !== undefined && was.process !== now.process)
    say(
      "policy",
      `is judged by ${now.process === undefined ? "no policy of its process" : `policies/${now.process}.yaml`} instead of policies/${was.process}.yaml`,
      "process",
    );
  if (was.risk !== undefined && (now.risk === undefined || RISKS.indexOf(now.risk) < RISKS.indexOf(was.risk)))
    say("gate", `its risk is ${now.risk ?? "no longer told"}; it was ${was.risk}`, "risk");
  if (was.machine === null) return;
  if (now.machine === null) return say("state", "drops its states: any call may come at any time, and no gate is fixed", "name");
  const [before, after] = [statesOf(was), statesOf(now)];
  for (const state of before.filter((one) => !after.includes(one)))
    if (state === "APPROVAL_GATE") say("gate", "drops its gate for a person (APPROVAL_GATE)", "states");
    else say("state", `drops the state ${state}`, "states");
  if (after.includes("MUTATE") && !before.includes("MUTATE")) say("state", "may change things now (MUTATE)", "states");
  const gate = ({ machine }: Header) => machine?.states.find(({ state }) => state === "APPROVAL_GATE");
  if (gate(was)?.conditional === false && gate(now)?.conditional === true)
    say("gate", "asks a person only where the policy does; before, always (APPROVAL_GATE?)", "states");
}

const statesOf = ({ machine }: Header): State[] => machine?.states.map(({ state }) => state) ?? [];

async function starts(was: Header | null, now: Header, around: Pick<Around, "nextTick">, say: Say): Promise<void> {
  const has = (header: Header | null, word: Header["trigger"][number]): header is Header => header?.trigger.includes(word) === true;
  if (has(now, "schedule")) {
    const [old, fresh] = [has(was, "schedule") ? was.schedule : null, now.schedule ?? ""];
    if (old === null) say("schedule", `starts by itself on a schedule: ${fresh}`, "schedule");
    else if (old !== fresh || was?.timezone !== now.timezone) {
      const [before, after] = await Promise.all([ticks(was as Header, around), ticks(now, around)]);
      const more = after.count > before.count || (after.count === before.count && after.until < before.until);
      if (more || after.count === before.count)
        say("schedule", `starts ${more ? "more often" : "at other times"}: ${fresh} instead of ${old ?? ""}`, "schedule");
    }
    if (was !== null && now.missed === "run-all" && was.missed !== "run-all")
      say("schedule", "makes up for every start it missed (missed: run-all)", "missed");
  }
  if (has(now, "file_watch") && (!has(was, "file_watch") || was.watch !== now.watch))
    say("trigger", `starts when a file arrives in ${now.watch ?? "import/"}`, "watch");
  if (has(now, "event") && (!has(was, "event") || was.on_event !== now.on_event))
    say("trigger", `starts on the event ${now.on_event ?? ""}`, "on_event");
  if (has(now, "webhook") && (!has(was, "webhook") || was.webhook !== now.webhook))
    say("trigger", `is started from outside, by the webhook ${now.webhook ?? ""}`, "webhook");
}

/** How many ticks there are in 1,000 hours (at most TICKS), and when the last of them is. */
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
