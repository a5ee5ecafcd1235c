/**
 * What the text of a script names that it did not before: tools, recipients, addresses, facts, days, and how sure it is of an entry. By its
 * literals, and by the values of telling keys; a value that is computed otherwise than before is told, because it cannot be ordered.
 */
import { type Around, type Program, TOOL, classIn } from "./program.ts";
import { hostsIn, recipientsIn } from "./recipients.ts";
import type { WideningKind } from "./types.ts";

export type Say = (kind: WideningKind, text: string, file: string, line?: number) => void;
type Literal = Program["literals"][number];
type Field = Program["fields"][number];

const PERSONS = ["user-confirmed", "user-corrected", "bootstrap-confirmed"];
const DAY = /^(?:19|20)\d\d-\d\d(?:-\d\d)?(?:T.*)?$/;
const CLOCK = ["ctx_today", "ctx_now"];
const AMOUNT = /(?:^|\.)(?:amount|total|sum|price|quantity)$/;

const quoted = (text: string): string => JSON.stringify(text.length > 80 ? `${text.slice(0, 79)}…` : text);

/** `was` null: the script is new. @param autoConfirm the confidence from which on nobody looks */
export function textWidening(was: Program | null, now: Program, around: Around, autoConfirm: number, say: Say): void {
  tools(was, now, around, say);
  for (const [kind, list, words] of [
    ["recipient", recipientsIn, "names a recipient"],
    ["host", hostsIn, "names an address"],
  ] as const)
    for (const [value, { file, line }] of newIn(was, now, list))
      say(kind, `${words} that did not stand there: ${quoted(value)}`, file, line);
  confirmed(was, now, say);
  if (was === null) return;
  const facts = ({ path, value }: Literal) =>
    /(?:^|\.)facts\./.test(path) ? [`${path.split(".").at(-1)} is ${JSON.stringify(value)}`] : [];
  for (const { value, one } of oftener(was, now, facts)) say("policy", `tells the policy a fact of its own: ${value}`, one.file, one.line);
  const amounts = ({ path, value }: Literal) =>
    AMOUNT.test(path) && typeof value !== "boolean" && Number(value) !== 0 ? [String(value)] : [];
  for (const { value, one } of oftener(was, now, amounts)) say("tool", `fixes an amount itself: ${quoted(value)}`, one.file, one.line);
  for (const [day, { file, line }] of newIn(was, now, ({ value }) => (typeof value === "string" && DAY.test(value) ? [value] : [])))
    say("command", `depends on a day that stands in its text (${day}): no recorded run tells what it does then`, file, line);
  const looks = ({ calls }: Program) => calls.find(({ name }) => CLOCK.includes(name));
  const clock = looks(was) === undefined ? looks(now) : undefined;
  if (clock !== undefined)
    say("command", "looks at the day it runs on: no recorded run tells what it does on another", clock.at.file, clock.at.line);
  sure(was, now, autoConfirm, say);
  values(was, now, classIn(around.trust), say);
}

function tools(was: Program | null, now: Program, around: Around, say: Say): void {
  const toolClass = classIn(around.trust);
  const servers = Object.keys(around.trust.mcp);
  const fresh = [...newIn(was, now, (one) => (isTool(one, servers) ? [String(one.value)] : []))];
  const reads = fresh.filter(([tool]) => toolClass(tool).class !== "mutate");
  for (const [tool, { file, line }] of fresh)
    if (toolClass(tool).class === "mutate") say("tool", `calls ${tool}, which changes things (${toolClass(tool).why})`, file, line);
  const first = reads[0]?.[1];
  if (first !== undefined) say("tool", `reads with ${reads.map(([tool]) => tool).join(", ")}`, first.file, first.line);
}

function isTool({ value, path }: Literal, servers: readonly string[]): boolean {
  if (typeof value !== "string" || !TOOL.test(value)) return false;
  return servers.includes(value.slice(0, value.indexOf("/"))) || /(?:^|[._])tools?$/i.test(path) || /^mcp_/.test(path);
}

/** Entries that nobody looks at any more. */
function confirmed(was: Program | null, now: Program, say: Say): void {
  const written = (program: Program | null, status: string) =>
    (program?.literals ?? []).filter(({ value, path }) => value === status && !/query/.test(path));
  const more = (status: string) => written(now, status).length - written(was, status).length;
  for (const status of PERSONS) {
    const last = written(now, status).at(-1);
    if (last !== undefined && more(status) > 0) say("review", `books as ${status}, as if a person had said so`, last.file, last.line);
  }
  const auto = written(now, "auto-confirmed").at(-1);
  if (auto !== undefined && more("auto-confirmed") > 0) say("review", "books as auto-confirmed where it did not", auto.file, auto.line);
  if (was !== null && more("pending-review") < 0) say("review", "marks entries as pending-review in fewer cases", now.file);
}

/** How sure it says it is, and whether it still asks what is sure enough. */
function sure(was: Program, now: Program, autoConfirm: number, say: Say): void {
  const numbers = ({ value, path }: Literal) =>
    typeof value !== "boolean" && Number(value) >= autoConfirm && (Number(value) < 1 || /(?:^|\.)confidence$/.test(path))
      ? [String(value)]
      : [];
  const count = ({ literals }: Program) => literals.flatMap(numbers).length;
  const added = count(now) - count(was);
  const fresh = oftener(was, now, numbers);
  const place = fresh.at(-1)?.one;
  if (added > 0 && place !== undefined)
    say(
      "review",
      `is sure by itself in ${added} more ${added === 1 ? "case" : "cases"} (${[...new Set(fresh.map(({ value }) => value))].join(", ")}; ${autoConfirm} needs no person)`,
      place.file,
      place.line,
    );
  const asked = ({ calls }: Program) =>
    calls.flatMap(({ name, given }) => (name === "config_get" ? [given[""] ?? given["key"] ?? ""] : []));
  for (const key of new Set(asked(was)))
    if (key.startsWith("thresholds.") && !asked(now).includes(key)) say("review", `no longer reads ${key} from config.yaml`, now.file);
}

/** Values of telling keys that are decided otherwise than before. */
function values(was: Program, now: Program, toolClass: ReturnType<typeof classIn>, say: Say): void {
  const told = (
    names: readonly string[],
    by: "means" | "when",
    pick: (one: Field) => boolean,
    tell: (one: Field) => [WideningKind, string],
  ) => {
    const of = ({ fields }: Program) => fields.filter((one) => names.includes(one.name));
    const fresh = of(now).find(
      (one) => pick(one) && !of(was).some((other) => other.name === one.name && other.tool === one.tool && other[by] === one[by]),
    );
    if (fresh !== undefined) say(...tell(fresh), fresh.file, fresh.line);
  };
  const byHand = (what: string, { shown }: Field) => `${what} is decided otherwise (${shown}): compare by hand`;
  const known = ({ name }: Field) => was.fields.some((other) => other.name === name);
  told(
    ["tool"],
    "means",
    ({ fixed }) => !fixed,
    ({ shown }) => ["tool", `calls a tool whose name it computes (${shown})`],
  );
  told(
    ["to", "channel"],
    "means",
    ({ fixed }) => !fixed,
    ({ shown }) => ["recipient", `computes whom it tells (${shown})`],
  );
  told(
    ["params"],
    "means",
    ({ tool }) => tool !== null && toolClass(tool).class === "mutate" && was.fields.some((other) => other.tool === tool),
    (one) => ["tool", byHand(`what it hands to ${one.tool}`, one)],
  );
  told(["calls"], "means", known, (one) => ["gate", byHand("which calls it asks for or makes", one)]);
  told(
    ["amount"],
    "means",
    (one) => known(one) && !one.fixed,
    (one) => ["tool", byHand("an amount", one)],
  );
  told(["status"], "when", known, (one) => ["review", byHand("which status an entry gets", one)]);
  told(["ask", "required", "level", "agent"], "means", known, (one) => ["gate", byHand(`"${one.name}"`, one)]);
  if (now.built.length > was.built.length) {
    const { file, line } = now.built.at(-1) ?? { file: now.file, line: 1 };
    say("tool", "builds names or calls while it runs, so its text does not tell what it calls: compare by hand", file, line);
  }
}

/** Values found in the literals of the one and not of the other, each with its first place. */
function newIn(was: Program | null, now: Program, list: (one: Literal) => string[]): Map<string, Literal> {
  const known = new Set(was?.literals.flatMap(list));
  const found = new Map<string, Literal>();
  for (const one of now.literals) for (const value of list(one)) if (!known.has(value) && !found.has(value)) found.set(value, one);
  return found;
}

/** Values that stand there more often than before; of equal ones those in a file that did not have them. */
function oftener(was: Program, now: Program, list: (one: Literal) => string[]): { value: string; one: Literal }[] {
  const all = (program: Program) => program.literals.flatMap((one) => list(one).map((value) => ({ value, one })));
  const before = all(was);
  const rest = before.map(({ value, one }) => `${one.file} ${value}`);
  const unmatched = all(now).filter(({ value, one }) => {
    const index = rest.indexOf(`${one.file} ${value}`);
    if (index >= 0) rest.splice(index, 1);
    return index < 0;
  });
  // What only moved from one file to another is no more than before.
  const moved = rest.map((key) => key.slice(key.indexOf(" ") + 1));
  return unmatched.filter(({ value }) => {
    const index = moved.indexOf(value);
    if (index >= 0) moved.splice(index, 1);
    return index < 0;
  });
}
