/**
 * What a changed header means: a row for each key, told whether it loosens something or not. A key without a row is told leaf by leaf, so
 * that no change of a header passes without a word.
 */
import type { Json, State } from "../ports.ts";
import type { Header } from "../sandbox/header.ts";
import { changeWords, leafChanges, same } from "./leaves.ts";
import type { Around } from "./program.ts";
import { recipientsIn } from "./recipients.ts";
import type { ChangeKind, WideningKind } from "./types.ts";

interface Line {
  kind: ChangeKind;
  widens: boolean;
  text: string;
}
type Row = (was: Header, now: Header, around: Pick<Around, "nextTick">) => Line[] | Promise<Line[]>;

const widen = (kind: WideningKind, text: string): Line[] => [{ kind, widens: true, text }];
const tell = (kind: ChangeKind, text: string): Line[] => [{ kind, widens: false, text }];

const RISKS = ["low", "medium", "high"];
// How many ticks of a schedule are looked at, and how far: what ticks more often than these can tell ends them sooner.
const TICKS = 200;
const SPAN_MS = 1000 * 3_600_000;

const statesOf = ({ machine }: Header): State[] => machine?.states.map(({ state }) => state) ?? [];
const conditional = ({ machine }: Header): boolean | undefined =>
  machine?.states.find(({ state }) => state === "APPROVAL_GATE")?.conditional;

const ROWS: Partial<Record<keyof Header, Row>> = {
  name: (was, now) => tell("text", `is called ${JSON.stringify(now.name)} instead of ${JSON.stringify(was.name)}`),
  description: () => tell("text", "is described in other words"),
  uses(was, now) {
    const [added, gone] = [now.uses.filter((one) => !was.uses.includes(one)), was.uses.filter((one) => !now.uses.includes(one))];
    return [
      ...(added.length === 0 ? [] : widen("capability", `may use ${added.join(", ")}, which it might not before`)),
      ...(gone.length === 0 ? [] : tell("header", `may no longer use ${gone.join(", ")}`)),
    ];
  },
  mutates: (was, now) =>
    was.mutates === false
      ? widen("capability", "may change things; it was read-only (mutates: false)")
      : tell("header", now.mutates === false ? "is read-only now (mutates: false)" : `mutates is ${now.mutates}`),
  process: (was, now) => {
    const policy = ({ process }: Header) => (process === undefined ? "no policy of its process" : `policies/${process}.yaml`);
    const text = `is judged by ${policy(now)} instead of ${policy(was)}`;
    return was.process === undefined ? tell("header", text) : widen("policy", text);
  },
  risk: (was, now) => {
    const milder = was.risk !== undefined && (now.risk === undefined || RISKS.indexOf(now.risk) < RISKS.indexOf(was.risk));
    return milder
      ? widen("gate", `its risk is ${now.risk ?? "no longer told"}; it was ${was.risk}`)
      : tell("header", `its risk is ${now.risk}${was.risk === undefined ? "" : `; it was ${was.risk}`}`);
  },
  machine(was, now) {
    if (was.machine === null) return tell("header", "goes through fixed states now");
    if (now.machine === null) return widen("state", "drops its states: any call may come at any time, and no gate is fixed");
    const [before, after] = [statesOf(was), statesOf(now)];
    const gone = before.filter((one) => !after.includes(one));
    const found = [
      ...gone.flatMap((state) =>
        state === "APPROVAL_GATE"
          ? widen("gate", "drops its gate for a person (APPROVAL_GATE)")
          : widen("state", `drops the state ${state}`),
      ),
      ...after
        .filter((one) => !before.includes(one))
        .flatMap((state) =>
          state === "MUTATE" ? widen("state", "may change things now (MUTATE)") : tell("header", `has the state ${state}, too`),
        ),
    ];
    if (conditional(was) === false && conditional(now) === true)
      found.push(...widen("gate", "asks a person only where the policy does; before, always (APPROVAL_GATE?)"));
    if (conditional(was) === true && conditional(now) === false)
      found.push(...tell("header", "always asks a person; before, only where the policy did"));
    return found.length > 0 ? found : tell("text", "describes its states in other words");
  },
  missed: (was, now) =>
    now.missed === "run-all"
      ? widen("schedule", "makes up for every start it missed (missed: run-all)")
      : tell("schedule", `what it missed: ${now.missed} instead of ${was.missed}`),
  trigger: () => [], // with the key that says what starts it
  schedule: (was, now, around) => schedule(was, now, around),
  timezone: (was, now) =>
    now.schedule !== undefined && was.schedule === now.schedule
      ? widen(
          "schedule",
          `starts at other times: in ${now.timezone ?? "the workspace's time zone"} instead of ${was.timezone ?? "the workspace's"}`,
        )
      : [],
  watch: (was, now) => started("file_watch", was, now, (one) => `when a file arrives in ${one.watch ?? "import/"}`),
  on_event: (was, now) => started("event", was, now, (one) => `on the event ${one.on_event ?? ""}`),
  webhook: (was, now) => started("webhook", was, now, (one) => `from outside, by the webhook ${one.webhook ?? ""}`),
  input: (was, now) => leaves("input", was, now),
};

function leaves(key: keyof Header, was: Header, now: Header): Line[] {
  return leafChanges(was[key] as Json, now[key] as Json, undefined, key).flatMap((one) => {
    const path = one.key.replace(/\.default$|\.enum$/, "");
    const named = (value: Json | undefined) =>
      /\.(?:default|enum)/.test(one.key) && typeof value === "string" ? recipientsIn({ value, path }) : [];
    const fresh = named(one.now).filter((value) => !named(one.was).includes(value));
    return fresh.length > 0
      ? widen("recipient", `names a new recipient: ${fresh.map((value) => JSON.stringify(value)).join(", ")} (${one.key})`)
      : tell("header", changeWords(one));
  });
}

const has = (header: Header | null, word: Header["trigger"][number]): boolean => header?.trigger.includes(word) === true;

function started(word: Header["trigger"][number], was: Header | null, now: Header, how: (one: Header) => string): Line[] {
  if (has(now, word)) {
    if (was !== null && has(was, word) && how(was) === how(now)) return [];
    return [
      ...widen("trigger", `starts ${how(now)}`),
      ...(was !== null && has(was, word) ? tell("trigger", `no longer starts ${how(was)}`) : []),
    ];
  }
  return was !== null && has(was, word) ? tell("trigger", `no longer starts by itself ${how(was)}`) : [];
}

async function schedule(was: Header | null, now: Header, around: Pick<Around, "nextTick">): Promise<Line[]> {
  const [old, fresh] = [was, now].map((one) => (one !== null && has(one, "schedule") ? (one.schedule ?? "") : null)) as [
    string | null,
    string | null,
  ];
  if (old === fresh) return [];
  if (fresh === null) return tell("schedule", `no longer starts by itself on a schedule (${old})`);
  const after = await ticks(now, around);
  if (after.count === 0)
    return tell("schedule", `never starts by its schedule: no day fits ${fresh}${old === null ? "" : `; it was ${old}`}`);
  if (old === null) return widen("schedule", `starts by itself on a schedule: ${fresh}`);
  const before = await ticks(was as Header, around);
  const more = after.count > before.count || (after.count === before.count && after.until < before.until);
  const words = `: ${fresh} instead of ${old}`;
  if (more || after.count === before.count) return widen("schedule", `starts ${more ? "more often" : "at other times"}${words}`);
  return tell("schedule", `starts less often${words}`);
}

/** How many ticks there are in 1,000 hours (at most TICKS), and when the last of them is; one that is later counts as one. */
async function ticks(header: Header, { nextTick }: Pick<Around, "nextTick">): Promise<{ count: number; until: number }> {
  const asked = { agent: "", expression: header.schedule ?? "", timezone: header.timezone ?? "UTC" };
  let count = 0;
  let at = 0;
  for (
    let next = await nextTick(asked, at);
    next !== null && (next <= SPAN_MS || count === 0) && count < TICKS;
    next = await nextTick(asked, at)
  ) {
    count++;
    at = next;
  }
  return { count, until: count < TICKS ? Math.max(SPAN_MS, at) : at };
}

/** `was` null: the agent is new. `say` gets the key of the header that the line is about. */
export async function headerWidening(
  was: Header | null,
  now: Header,
  around: Pick<Around, "nextTick">,
  say: (line: Line, key: string) => void,
): Promise<void> {
  if (was === null) {
    if (now.uses.length > 0) say({ kind: "capability", widens: true, text: `may use ${now.uses.join(", ")}` }, "uses");
    if (statesOf(now).includes("MUTATE") && !statesOf(now).includes("APPROVAL_GATE"))
      say({ kind: "gate", widens: true, text: "changes things without a gate for a person" }, "states");
    for (const line of await schedule(null, now, around)) say(line, "schedule");
    for (const key of ["watch", "on_event", "webhook"] as const)
      for (const line of (await ROWS[key]?.({ ...now, trigger: [] }, now, around)) ?? []) say(line, key);
    return;
  }
  for (const key of Object.keys({ ...was, ...now }) as (keyof Header)[]) {
    const starts = key === "schedule" || key === "watch" || key === "on_event" || key === "webhook";
    if (same(was[key] as Json, now[key] as Json) && !(starts && !same(was.trigger, now.trigger))) continue;
    const row = ROWS[key];
    for (const line of row === undefined ? leaves(key, was, now) : await row(was, now, around))
      say(line, key === "machine" ? "states" : key);
  }
}
