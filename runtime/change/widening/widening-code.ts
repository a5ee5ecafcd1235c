/** The new abilities of a changed program, as lines: its difference (code-difference.ts) judged by rows, and the tools it names. */
import { codeDifference, type DeedChange, type ValueChange } from "./code-difference.ts";
import { lastOf } from "./code-names.ts";
import { type Program, classIn } from "./program.ts";
import { type Place, SILENT } from "./stated-values.ts";
import type { Written } from "./leaves.ts";
import { isOdd } from "../../scripts/guards.ts";
import type { ChangeKind } from "../proposal-types.ts";
import {
  type Asked,
  CALLS,
  DEEDS,
  type Line,
  NAMES,
  ROWS,
  type Row,
  WORDS,
  isMutate,
  isTool,
  literal,
  nameDeeds,
} from "./widening-rows.ts";
import { VALUES } from "./widening-values.ts";

/** Reports one change with its place; line 0: no line. */
export type Say = (kind: ChangeKind, widens: boolean, text: string, at: { file: string; line?: number }) => void;

/** The line of the first matching row. */
function firstLine<T>(rows: readonly Row<T>[], one: T, asked: Asked): Line | null {
  for (const row of rows) {
    const line = row(one, asked);
    if (line) return line;
  }
  return null;
}

/** Reports what `now` does and `was` does not. `was` null: the program is new, and everything it may do is reported. */
export function codeWidening(was: Program | null, now: Program, asked: Asked, say: Say, callers: readonly Program[] = []): void {
  const { fresh: tools, moved } = newTools(was, now, asked, say);
  if (was === null) return parties(now, asked, say);
  const { calls, deeds, words, names, rows, values } = codeDifference(was, now, callers);
  const told = new Map<string, string>();
  const grouped = new Map<string, [Line, Place][]>();
  const each = <T extends Place>(some: readonly T[], table: readonly Row<T>[]) => {
    for (const one of some) {
      const line = firstLine(table, one, asked);
      if (line === null) continue;
      // Lines on the same line of code are combined only if one names the other's subject and is no less severe.
      const placeOf = (at: number, widens: boolean) => `${one.file}:${at} ${widens}`;
      if (line.rest !== undefined && told.get(placeOf(one.line, line.widens))?.includes(line.rest) === true) continue;
      const places = [one.line, ...(("lines" in one ? one.lines : []) as number[])].filter((at) => at !== 0);
      for (const place of places.flatMap((at) => (line.widens ? [placeOf(at, true), placeOf(at, false)] : [placeOf(at, false)])))
        told.set(place, `${told.get(place) ?? ""}\n${line.text}`);
      if (line.only === undefined) say(line.kind, line.widens, line.text, one);
      else grouped.set(line.only.when, [...(grouped.get(line.only.when) ?? []), [line, one]]);
    }
  };
  // A new event is reported by its name.
  const isNamed = (text: string) =>
    words.some(
      ({ call, word, change }) => change === "new" && text.startsWith(call) && (text === call || text.includes(JSON.stringify(word))),
    );
  each(
    calls.filter(({ role, what, was: before }) => role !== "emits" || before > 0 || !isNamed(what)),
    CALLS,
  );
  for (const [when, all] of grouped) {
    const [line, place] = (all.find(([one]) => one.widens) ?? all[0]) as [Line, Place];
    const does = all
      .map(([one]) => one.only?.does)
      .join(", ")
      .replace(/, (?=[^,]*$)/, " and ");
    say(line.kind, line.widens, `${does} ${when}${line.widens ? ": compare by hand" : ""}`, place);
  }
  each(words, WORDS);
  // An argument is reported with its call.
  const given = names.filter(({ name, was: old, now: next }) => (next ?? old) !== name);
  each(given, NAMES);
  each(rows, ROWS);
  const isTold = ({ path, was: old, now: next }: ValueChange) =>
    (SILENT.test(path) && !path.startsWith("git_commit")) ||
    tools.has(literal(next) ?? "") ||
    words.some(({ call, word }) => call === path && word === literal(next ?? old));
  const untold = values.filter((one) => !isTold(one));
  each(untold, VALUES);
  // Tools that are called in another order are reported as such.
  const isMoved = ({ was: old, now: next }: DeedChange) => moved.has(nameDeeds(next, old).join().replace(/\w+ /g, ""));
  each(
    deeds.filter((one) => !(one.order ? isMoved(one) : one.role === "emits" && isNamed(one.now))),
    DEEDS,
  );
  const place = now.built.at(-1) ?? { file: now.file, line: 0 };
  if (now.built.length > was.built.length)
    say("tool", true, "builds names or calls while it runs, so its text does not show what it calls: compare by hand", place);
}

const NOTHING = { sites: [], calls: [], literals: [], names: new Map(), fields: [], puts: [], built: [] };
const PARTIES: readonly ChangeKind[] = ["recipient", "host", "review"];

/** Recipients and payees that a new program names, and calls whose recipient or tool is computed, because the source does not show them. */
function parties(now: Program, asked: Asked, say: Say): void {
  const told = new Set<string>();
  const tell = (one: ValueChange, kinds: readonly ChangeKind[]) => {
    const found = firstLine(VALUES, one, asked);
    if (found?.widens !== true || !kinds.includes(found.kind) || told.has(found.text)) return;
    told.add(found.text);
    say(found.kind, true, found.text.replace("is computed differently (", "is computed ("), one);
  };
  const odd = now.literals.filter(
    ({ compared, decides, value }) => (compared || decides) && isOdd(String(value)) && asked.account(String(value)) === null,
  );
  for (const [value, [one]] of Map.groupBy(odd, (each) => each.value))
    if (one !== undefined) say("value", false, `decides by one odd value, ${JSON.stringify(value)}, which executions hardly meet`, one);
  for (const one of now.literals)
    tell({ ...one, near: null, head: null, means: { was: null, now: null }, was: null, now: { literal: one.value }, reaches: [] }, PARTIES);
  // Values computed in another script are reported with that script.
  const computed = codeDifference({ ...now, ...NOTHING }, now).values.filter((one) => literal(one.now) === undefined);
  for (const one of computed) tell(one, one.file === now.file && /^tool$/.test(lastOf(one.path)) ? ["recipient", "tool"] : ["recipient"]);
}

/** Reports tools that it did not name before, or calls in another order. */
function newTools(was: Program | null, now: Program, asked: Asked, say: Say) {
  const moved = new Set<string>();
  const known = new Set(was?.literals.flatMap((one) => (isTool(one, asked) ? [one.value] : [])));
  const fresh = new Map(
    now.literals.flatMap((one) => (isTool(one, asked) && !known.has(one.value) ? [[String(one.value), one] as const] : [])),
  );
  const acts = ({ literals }: Program) => literals.filter((one) => !one.compared && isTool(one, asked) && isMutate(one.value, asked));
  const comesFirst = (all: Program["literals"], tool: Written["value"], other: Written["value"]) => {
    const [at, next] = [tool, other].map((name) => all.findIndex(({ value }) => value === name)) as [number, number];
    return at >= 0 && at < next && all[at]?.path === all[next]?.path;
  };
  const [old, since] = [acts(was ?? now), acts(now)];
  for (const at of since) {
    const passed = since.filter(({ value }) => comesFirst(since, at.value, value) && comesFirst(old, value, at.value));
    const names = [...new Set(passed.map(({ value }) => value))].join(", ");
    for (const { value } of passed) moved.add(`${at.value},${value}`);
    if (names !== "" && since.find(({ value }) => value === at.value) === at)
      say("condition", false, `calls ${at.value} before ${names}, which it came after`, at);
  }
  const reads = [...fresh].filter(([tool]) => !isMutate(tool, asked));
  for (const [tool, at] of fresh)
    if (isMutate(tool, asked)) say("tool", true, `calls ${tool}, which changes things (${classIn(asked.trust)(tool).why})`, at);
  if (reads[0] !== undefined) say("tool", true, `reads with ${reads.map(([tool]) => tool).join(", ")}`, reads[0][1]);
  return { fresh: new Set<Written["value"]>(fresh.keys()), moved };
}
