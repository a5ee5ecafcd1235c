/**
 * The meaning of a changed header. Each changed key is reported: by the row that knows when it loosens something, else as it is, so that no
 * change of a header is hidden.
 */
import type { Json, State } from "../../kernel/ports.ts";
import { RISKS } from "../../rules/definition.ts";
import type { Header } from "../../scripts/header.ts";
import { changeWords, leafChanges, same, recipientsIn } from "./leaves.ts";
import type { Around } from "./program.ts";
import { type Line, tell as told, widen as widening } from "./widening-rows.ts";
import type { ChangeKind, WideningKind } from "../proposal-types.ts";

type Ticking = Pick<Around, "nextTick">;
type Say = (line: Line, key: string) => void;
type Loosened = [kind: WideningKind, text: string] | false;

const widen = (kind: WideningKind, text: string): Line[] => [widening(kind, text)];
const tell = (kind: ChangeKind, text: string): Line[] => [told(kind, text)];

// How many ticks of a schedule are counted, and how far ahead; a schedule with more ticks reaches the limit sooner.
const TICKS = 200;
const SPAN_MS = 1000 * 3_600_000;

const statesOf = ({ machine }: Header): State[] => machine?.states.map(({ state }) => state) ?? [];
const policyOf = ({ process }: Header): string => (process === undefined ? "no policy of its process" : `policies/${process}.yaml`);
const zoneOf = ({ timezone }: Header): string => timezone ?? "the workspace's time zone";

const LOOSENS: Partial<Record<keyof Header, (was: Header, now: Header) => Loosened>> = {
  mutates: (was) => was.mutates === false && ["capability", "may change things; it was read-only (mutates: false)"],
  process: (was, now) => was.process !== undefined && ["policy", `is judged by ${policyOf(now)} instead of ${policyOf(was)}`],
  risk: ({ risk: was }, { risk: now }) =>
    was !== undefined &&
    (now === undefined || RISKS.indexOf(now) < RISKS.indexOf(was)) && ["gate", `its risk is ${now ?? "no longer given"}; it was ${was}`],
  missed: (_, now) => now.missed === "run-all" && ["schedule", "makes up for every start it missed (missed: run-all)"],
  timezone: (was, now) => now.schedule !== undefined && ["schedule", `starts at other times: in ${zoneOf(now)} instead of ${zoneOf(was)}`],
};

/** Changes of keys without a row of their own; for a script that others run, of all keys. */
export function headerLeaves(was: Json | undefined, now: Json | undefined, key = ""): Line[] {
  return leafChanges(was, now, undefined, key).flatMap((one) => {
    const isValue = /\.(?:default|enum)/.test(one.key);
    const named = (value: Json | undefined) =>
      isValue && typeof value === "string" ? recipientsIn({ value, path: one.key.replace(/\.default$|\.enum$/, "") }) : [];
    const fresh = named(one.now).filter((value) => !named(one.was).includes(value));
    if (fresh.length === 0) return tell(/(?:^|\.)(?:description|describe)$/.test(one.key) ? "text" : "header", changeWords(one));
    return widen("recipient", `names a new recipient: ${fresh.map((value) => JSON.stringify(value)).join(", ")} (${one.key})`);
  });
}

function uses({ uses: was }: Header, { uses: now }: Header): Line[] {
  const [added, gone] = [now.filter((one) => !was.includes(one)), was.filter((one) => !now.includes(one))];
  return [
    ...(added.length === 0 ? [] : widen("capability", `may use ${added.join(", ")}, which it could not before`)),
    ...(gone.length === 0 ? [] : tell("header", `may no longer use ${gone.join(", ")}`)),
  ];
}

function machine(was: Header, now: Header): Line[] {
  if (was.machine === null) return tell("header", "goes through fixed states now");
  if (now.machine === null) return widen("state", "drops its states: any call may come at any time, and no gate is fixed");
  const [before, after] = [statesOf(was), statesOf(now)];
  const isOpen = (one: Header) => one.machine?.states.find(({ state }) => state === "APPROVAL_GATE")?.conditional;
  const found = [
    ...before
      .filter((one) => !after.includes(one))
      .flatMap((state) =>
        state === "APPROVAL_GATE"
          ? widen("gate", "no longer has a step where a person approves (APPROVAL_GATE)")
          : widen("state", `drops the state ${state}`),
      ),
    ...after
      .filter((one) => !before.includes(one))
      .flatMap((state) =>
        state === "MUTATE" ? widen("state", "may change things now (MUTATE)") : tell("header", `has the state ${state}, too`),
      ),
    ...(isOpen(was) === false && isOpen(now) === true
      ? widen("gate", "asks a person only where the policy does; before, always (APPROVAL_GATE?)")
      : []),
    ...(isOpen(was) === true && isOpen(now) === false ? tell("header", "always asks a person; before, only where the policy did") : []),
  ];
  return found.length > 0 ? found : tell("text", "describes its states in other words");
}

/** What starts the agent, by the header key for it. */
const STARTS: [keyof Header, Header["trigger"][number], (one: Header) => string][] = [
  ["watch", "file_watch", (one) => `when a file arrives in ${one.watch ?? "import/"}`],
  ["on_event", "event", (one) => `on the event ${one.on_event ?? ""}`],
  ["webhook", "webhook", (one) => `from outside, by the webhook ${one.webhook ?? ""}`],
  ["trigger", "a2a", () => "from outside, by tasks of other agents (A2A)"],
  ["trigger", "mcp", () => "from outside, by tools of chat clients (MCP)"],
];

async function starts(was: Header | null, now: Header, around: Ticking, say: Say): Promise<void> {
  const has = (one: Header | null, word: Header["trigger"][number]): one is Header => one?.trigger.includes(word) === true;
  for (const [key, word, how] of STARTS) {
    const [old, fresh] = [has(was, word) ? how(was) : null, has(now, word) ? how(now) : null];
    if (old === fresh) continue;
    for (const line of fresh === null ? [] : widen("trigger", `starts ${fresh}`)) say(line, key);
    for (const line of old === null ? [] : tell("trigger", `no longer starts automatically ${old}`)) say(line, key);
  }
  const [old, fresh] = [has(was, "schedule") ? was : null, has(now, "schedule") ? now : null];
  if (old?.schedule !== fresh?.schedule) for (const line of await schedule(old, fresh, around)) say(line, "schedule");
}

async function schedule(was: Header | null, now: Header | null, around: Ticking): Promise<Line[]> {
  if (now === null) return tell("schedule", `no longer starts automatically on a schedule (${was?.schedule})`);
  const after = await ticks(now, around);
  if (after.count === 0)
    return tell("schedule", `never starts by its schedule: no day fits ${now.schedule}${was === null ? "" : `; it was ${was.schedule}`}`);
  if (was === null) return widen("schedule", `starts automatically on a schedule: ${now.schedule}${inDays(now.schedule)}`);
  const before = await ticks(was, around);
  const isMore = after.count > before.count || (after.count === before.count && after.until < before.until);
  const words = `: ${now.schedule} instead of ${was.schedule}${inDays(now.schedule)}`;
  if (isMore || after.count === before.count) return widen("schedule", `starts ${isMore ? "more often" : "at other times"}${words}`);
  return tell("schedule", `starts less often${words}`);
}

const WEEK = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
/** A schedule of one time of day in words; "" for any other. */
function inDays(expression = ""): string {
  const [, minute = "", hour = "", day, from, to] = /^(\d+) (\d+) (\*|\d+) \* (?:\*|([0-7])(?:-([0-7]))?)$/.exec(expression) ?? [];
  if (day === undefined || (day !== "*" && from !== undefined)) return "";
  const days = from === undefined ? "every day" : `on ${WEEK[Number(from)]}${to === undefined ? "" : ` to ${WEEK[Number(to)]}`}`;
  return ` (${day === "*" ? days : `on day ${day} of each month`} at ${hour.padStart(2, "0")}:${minute.padStart(2, "0")})`;
}

/** The number of ticks in 1,000 hours (at most TICKS), and the time of the last; a single later one counts as one. */
async function ticks({ schedule: expression = "", timezone = "UTC" }: Header, { nextTick }: Ticking) {
  const asked = { agent: "", expression, timezone };
  let [count, at] = [0, 0];
  while (count < TICKS) {
    const next = await nextTick(asked, at);
    if (next === null || (next > SPAN_MS && count > 0)) break;
    count++;
    at = next;
  }
  return { count, until: count < TICKS ? Math.max(SPAN_MS, at) : at };
}

const STARTING: readonly (keyof Header)[] = ["trigger", "schedule", ...STARTS.map(([key]) => key)];

/** `was` null: the agent is new. `say` is called with the header key of each line. */
export async function headerWidening(was: Header | null, now: Header, around: Ticking, say: Say): Promise<void> {
  for (const key of was === null ? [] : (Object.keys({ ...was, ...now }) as (keyof Header)[])) {
    if (was === null || same(was[key] as Json, now[key] as Json) || STARTING.includes(key)) continue;
    const loosened = LOOSENS[key]?.(was, now) ?? false;
    const lines =
      loosened !== false
        ? widen(...loosened)
        : key === "uses"
          ? uses(was, now)
          : key === "machine"
            ? machine(was, now)
            : headerLeaves(was[key] as Json, now[key] as Json, key);
    for (const line of lines) say(line, key === "machine" ? "states" : key);
  }
  if (was === null) {
    if (now.uses.length > 0) say(widening("capability", `may use ${now.uses.join(", ")}`), "uses");
    if (statesOf(now).includes("MUTATE") && !statesOf(now).includes("APPROVAL_GATE"))
      say(widening("gate", "changes things without a gate for a person"), "states");
  }
  await starts(was, now, around, say);
}
