/**
 * What an agent or script may do that it might not before: rights, triggers and states of its header, and what its text calls, tells and
 * asks. Compared with all the scripts it runs. Whatever cannot be ordered is told as "compare by hand", so nothing widens unsaid.
 */
import type { State } from "../ports.ts";
import type { Header } from "../sandbox/header.ts";
import { scheduleWidening } from "./widening-schedule.ts";
import { type Around, type Program, type Role, type Site, TOOL, classIn } from "./program.ts";
import { hostsIn, recipientsIn } from "./recipients.ts";
import type { Widening, WideningKind } from "./types.ts";

type Say = (kind: WideningKind, text: string, file: string, line?: number) => void;

const RISKS = ["low", "medium", "high"];
const quoted = (text: string): string => JSON.stringify(text.length > 80 ? `${text.slice(0, 79)}…` : text);

/** `was` null: the program is new, and widens by everything it has. */
export async function programWidening(was: Program | null, now: Program, around: Around, autoConfirm: number): Promise<Widening[]> {
  const found: Widening[] = [];
  const say: Say = (kind, text, file, line) =>
    void found.push({ kind, text: `${now.title}: ${text}`, at: { file, ...(line === undefined ? {} : { line }) } });
  if (now.header !== null) {
    headerWidening(was?.header ?? null, now.header, now, say);
    for (const one of await scheduleWidening(was?.header ?? null, now.header, around))
      say(one.kind, one.text, now.file, lineOf(now, one.key));
  }
  textWidening(was, now, around, say);
  if (was !== null) siteWidening(was, now, say);
  statusWidening(was, now, say, autoConfirm);
  return found;
}

/** The line of the header where a key stands. */
function lineOf({ source }: Program, key: string): number | undefined {
  const index = source.split("\n").findIndex((line) => new RegExp(`^[\\s*]*${key}\\s*:`).test(line));
  return index < 0 ? undefined : index + 1;
}

function headerWidening(was: Header | null, now: Header, program: Program, say: Say): void {
  const at = (key: string) => [program.file, lineOf(program, key)] as const;
  const added = now.uses.filter((one) => was?.uses.includes(one) !== true);
  if (added.length > 0) say("capability", `may use ${added.join(", ")}${was === null ? "" : `, which it might not before`}`, ...at("uses"));
  if (was === null) {
    if (now.machine !== null && !stateNames(now).includes("APPROVAL_GATE") && stateNames(now).includes("MUTATE"))
      say("gate", "changes things without a gate for a person", ...at("states"));
    return;
  }
  if (was.mutates === false && now.mutates !== false)
    say("capability", "may change things; it was read-only (mutates: false)", ...at("mutates"));
  if (was.process !== now.process && was.process !== undefined)
    say(
      "policy",
      `is no longer judged by policies/${was.process}.yaml${now.process === undefined ? "" : `, but by policies/${now.process}.yaml`}`,
      ...at("process"),
    );
  if (was.risk !== undefined && (now.risk === undefined || RISKS.indexOf(now.risk) < RISKS.indexOf(was.risk)))
    say("gate", `its risk is lowered from ${was.risk} to ${now.risk ?? "not told"}`, ...at("risk"));
  if (was.machine === null) return;
  if (now.machine === null) return say("state", "drops its states: any call may come at any time, and no gate is fixed", ...at("name"));
  const dropped = stateNames(was).filter((state) => !stateNames(now).includes(state));
  for (const state of dropped)
    say(
      state === "APPROVAL_GATE" ? "gate" : "state",
      state === "APPROVAL_GATE" ? "drops its gate for a person (APPROVAL_GATE)" : `drops the state ${state}`,
      ...at("states"),
    );
  if (stateNames(now).includes("MUTATE") && !stateNames(was).includes("MUTATE"))
    say("state", "may change things now (MUTATE)", ...at("states"));
  const gate = (header: Header) => header.machine?.states.find(({ state }) => state === "APPROVAL_GATE");
  if (gate(was)?.conditional === false && gate(now)?.conditional === true)
    say("gate", "asks a person only where the policy does; before, always (APPROVAL_GATE?)", ...at("states"));
}

const stateNames = (header: Header): State[] => header.machine?.states.map(({ state }) => state) ?? [];

/** Tools, recipients, hosts and facts that stand in the text. */
function textWidening(was: Program | null, now: Program, around: Around, say: Say): void {
  const toolClass = classIn(around.trust);
  const servers = Object.keys(around.trust.mcp);
  const toolsOf = (program: Program | null) => found(program, (one) => (isTool(one, servers) ? [String(one.value)] : []));
  const known = toolsOf(was);
  for (const [tool, { file, line }] of toolsOf(now)) {
    if (known.has(tool)) continue;
    const { class: what, why } = toolClass(tool);
    say("tool", what === "mutate" ? `calls ${tool}, which changes things (${why})` : `reads with ${tool}`, file, line);
  }
  for (const [kind, list, words] of [
    ["recipient", recipientsIn, "names a recipient"],
    ["host", hostsIn, "names an address"],
  ] as const) {
    const before = found(was, list);
    for (const [value, { file, line }] of found(now, list))
      if (!before.has(value)) say(kind, `${words} that did not stand there: ${quoted(value)}`, file, line);
  }
  if (was === null) return;
  const facts = ({ literals }: Program) =>
    literals
      .filter(({ path }) => /(?:^|\.)facts\./.test(path))
      .map((one) => ({ ...one, says: `${one.path.split(".").at(-1)} is ${JSON.stringify(one.value)}` }));
  const own = beyond(
    facts(now).map(({ says }) => says),
    facts(was).map(({ says }) => says),
  );
  for (const { says, file, line } of facts(now).filter(({ says }) => own.includes(says)))
    say("policy", `tells the policy a fact of its own: ${says}`, file, line);
  more(
    was,
    now,
    ({ fields }) => fields.filter(({ name, fixed }) => name === "tool" && !fixed),
    (at, shown) => say("tool", `calls a tool whose name it computes (${shown})`, at.file, at.line),
    ({ shown }) => shown,
  );
  more(
    was,
    now,
    ({ fields }) => fields.filter(({ name, fixed }) => (name === "to" || name === "channel") && !fixed),
    (at, shown) => say("recipient", `computes whom it tells (${shown})`, at.file, at.line),
    ({ shown }) => shown,
  );
  more(
    was,
    now,
    ({ built }) => built,
    (at) =>
      say("tool", "builds names or calls while it runs, so what it calls cannot be read from its text: compare by hand", at.file, at.line),
    () => "",
  );
}

function isTool({ value, path }: Program["literals"][number], servers: readonly string[]): boolean {
  if (typeof value !== "string" || !TOOL.test(value)) return false;
  return (
    servers.includes(value.slice(0, value.indexOf("/"))) || /(?:^|[._])tools?$/i.test(path) || path === "mcp_call" || path === "mcp_try"
  );
}

/** Values found in the literals, each with the place of its first. */
function found<T extends Program["literals"][number]>(program: Program | null, list: (one: T) => string[]): Map<string, T> {
  const values = new Map<string, T>();
  for (const one of (program?.literals ?? []) as T[]) for (const value of list(one)) if (!values.has(value)) values.set(value, one);
  return values;
}

/** Tells the first new one when there are more of a kind than before. */
function more<T extends { file: string; line: number }>(
  was: Program,
  now: Program,
  list: (program: Program) => T[],
  tell: (one: T, text: string) => void,
  text: (one: T) => string,
): void {
  const [before, after] = [list(was), list(now)];
  if (after.length <= before.length) return;
  const fresh = after.find((one) => !before.some((other) => text(other) === text(one))) ?? after.at(-1);
  if (fresh !== undefined) tell(fresh, text(fresh));
}

const ROLES: Record<Role, { kind: WideningKind; fewer: boolean; says: string; decides: string | null }> = {
  acts: { kind: "tool", fewer: false, says: "acts outside or tells somebody", decides: "acts outside or tells somebody" },
  writes: { kind: "tool", fewer: false, says: "writes", decides: null },
  asks: { kind: "gate", fewer: true, says: "asks a person", decides: "asks a person" },
  reviews: { kind: "review", fewer: true, says: "puts something before a person", decides: "puts something before a person" },
  judges: { kind: "policy", fewer: true, says: "has the policy judge", decides: "has the policy judge" },
};

/** Calls that act at more places, ask at fewer, or are decided by another condition. */
function siteWidening(was: Program, now: Program, say: Say): void {
  for (const role of Object.keys(ROLES) as Role[]) {
    const { kind, fewer, says, decides } = ROLES[role];
    const [before, after] = [was, now].map(({ sites }) => groups(sites.filter((one) => one.role === role)));
    for (const what of new Set([...(before?.keys() ?? []), ...(after?.keys() ?? [])])) {
      const [old, fresh] = [before?.get(what) ?? [], after?.get(what) ?? []];
      const count = fresh.length - old.length;
      const other = fresh.find(({ means }) => !old.some((one) => one.means === means));
      const place = other ?? fresh.at(-1);
      if (fewer && count < 0) {
        // Another call of the same role in its place is no loss.
        const total = (sites: Map<string, Site[]> | undefined) => [...(sites?.values() ?? [])].flat().length;
        if (total(after) < total(before))
          say(
            kind,
            `${says} at ${fresh.length} ${places(fresh.length)} instead of ${old.length} (${what})`,
            place?.file ?? now.file,
            place?.line,
          );
        else say(kind, `${says} elsewhere than before (${what}): compare by hand`, now.file);
      } else if (!fewer && count > 0)
        say(
          kind,
          `${says} at ${fresh.length} ${places(fresh.length)}, before at ${old.length} (${what})`,
          place?.file ?? now.file,
          place?.line,
        );
      else if (other !== undefined && decides !== null && old.length > 0)
        say(
          kind,
          `when it ${decides} is decided otherwise (${what}${other.shown === "" ? "" : `: ${other.shown}`}): compare by hand`,
          other.file,
          other.line,
        );
    }
  }
  // Whether carry_out asks is an argument: its value decides as a condition does.
  for (const name of ["ask", "required", "level", "agent"]) {
    const of = ({ fields }: Program) => fields.filter((one) => one.name === name);
    const other = of(now).find(({ means }) => !of(was).some((one) => one.means === means));
    if (other !== undefined && of(was).length > 0)
      say("gate", `"${name}" is decided otherwise (${other.shown}): compare by hand`, other.file, other.line);
  }
}

const places = (count: number): string => (count === 1 ? "place" : "places");

function groups(sites: readonly Site[]): Map<string, Site[]> {
  return Map.groupBy(sites, ({ what }) => what);
}

const PERSONS = ["user-confirmed", "user-corrected", "bootstrap-confirmed"];

/** Entries that a person no longer sees: the status, and how sure it must be. */
function statusWidening(was: Program | null, now: Program, say: Say, autoConfirm: number): void {
  const written = (program: Program | null, status: string) =>
    (program?.literals ?? []).filter(({ value, path }) => value === status && !/query/.test(path));
  for (const status of PERSONS) {
    const [first] = written(now, status);
    if (first !== undefined && written(now, status).length > written(was, status).length)
      say("review", `books as ${status}, as if a person had said so`, first.file, first.line);
  }
  const auto = written(now, "auto-confirmed");
  if (auto[0] !== undefined && auto.length > written(was, "auto-confirmed").length)
    say("review", "books as auto-confirmed at one more place", auto[0].file, auto.at(-1)?.line);
  if (was === null) return;
  const pending = written(now, "pending-review").length - written(was, "pending-review").length;
  if (pending < 0) say("review", "marks fewer entries as pending-review", now.file);
  const status = ({ fields }: Program) => fields.filter(({ name }) => name === "status");
  const other = status(now).find(({ means }) => !status(was).some((one) => one.means === means));
  if (other !== undefined && status(was).length > 0)
    say("review", `which status an entry gets is decided otherwise (${other.shown}): compare by hand`, other.file, other.line);
  const sure = ({ literals }: Program) =>
    literals.filter(
      ({ value, path }) =>
        Number(value) >= autoConfirm && (Number(value) < 1 || /(?:^|\.)confidence$/.test(path)) && typeof value !== "boolean",
    );
  const [before, after] = [sure(was), sure(now)];
  const fresh = beyond(
    after.map(({ value }) => String(value)),
    before.map(({ value }) => String(value)),
  );
  const place = after.findLast(({ value }) => fresh.includes(String(value)));
  if (after.length > before.length && place !== undefined)
    say(
      "review",
      `is sure by itself in ${after.length - before.length} more ${after.length - before.length === 1 ? "case" : "cases"} (${fresh.join(", ")}; ${autoConfirm} needs no person)`,
      place.file,
      place.line,
    );
  const asked = (program: Program) =>
    program.calls.flatMap(({ name, given }) => (name === "config_get" ? [given[""] ?? given["key"] ?? ""] : []));
  for (const key of new Set(asked(was)))
    if (key.startsWith("thresholds.") && !asked(now).includes(key)) say("review", `no longer reads ${key} from config.yaml`, now.file);
}

/** What stands in the first list more often than in the second. */
function beyond(now: readonly string[], was: readonly string[]): string[] {
  const rest = [...was];
  return now.filter((one) => {
    const index = rest.indexOf(one);
    if (index >= 0) rest.splice(index, 1);
    return index < 0;
  });
}
