/**
 * Compares two versions of a program by structure: values, calls with their conditions, and what names and keys are given. A name is identified
 * by its definition, so renaming it, or moving an expression into or out of a constant, is no difference.
 */
import { INDIRECT, LITERAL, NAME, STOPS, differInLiterals, literalsIn, namesIn, plainForm } from "../../scripts/form-marks.ts";
import { apart } from "../evidence/partings.ts";
import { conditionOf, conditionWords, exchanged, inEvery, inOne, meansOf, unlike } from "./deeds.ts";
import { type Canonical, type Reach, endOf, holderOf, lastOf, matchNames, reachOf, readsApart, shownOf } from "./code-names.ts";
import type { Program, Role } from "./program.ts";
import { SILENT, type Given, type Place, type Stated, rowsOf, statedIn } from "./stated-values.ts";

/** The forms before and after, if only their literals differ. */
type Literals = { old: string[]; since: string[] } | null;

export interface ValueChange extends Place {
  literals?: Literals;
  /** The keys around it; the first may be a name of the script or a call, the last "..." for a spread object. */
  path: string;
  /** The subject of a table's row: its first text; null outside of tables. */
  near: string | null;
  was: Given | null;
  now: Given | null;
  /** Used only in comparisons. */
  compared: boolean;
  /** The nearest name that it is assigned to. */
  head: string | null;
  /** In the notation common to both versions. */
  means: Record<"was" | "now", string | null>;
  /** The tool whose call contains it. */
  tool: string | null;
  /** Significant keys and calls that its name reaches. */
  reaches: readonly string[];
}

/** A name is given another value. body: a function of several statements has changed. order: `now` comes before `was`. */
export interface NameChange extends Place {
  name: string;
  was: string | null;
  now: string | null;
  body: boolean;
  order: boolean;
  /** For the same value: its conditions, now and before. */
  when: readonly [now: string, before: string];
  reaches: readonly string[];
}

/** Calls of one kind whose number or conditions have changed. */
export interface CallChange extends Place {
  what: string;
  role: Role | "puts" | "stops" | "does";
  was: number;
  now: number;
  /** Number of calls of this role, before and after. */
  all: readonly [number, number];
  /** Conditions that one of them gained or lost, as in the source; the lines of the current ones. */
  lines: readonly number[];
  added: readonly string[];
  dropped: readonly string[];
  /** Significant keys and calls that a list reaches, for what is put into it. */
  reaches: readonly string[];
}

/** A call under the same conditions as before, but with other arguments or in another order. */
export interface DeedChange extends Place {
  what: string;
  role: CallChange["role"];
  was: string;
  now: string;
  order: boolean;
  reaches: readonly string[];
}

/** A call that only reads or reports, with its fixed word: `config_get thresholds.x`, `ctx_emit paid`. */
export type WordChange = ReturnType<typeof wordsOf>[number];

/** @param callers programs that use `now`: its result reaches what they do with it */
export function codeDifference(was: Program, now: Program, callers: readonly Program[] = []) {
  const { before, after, changed, kept } = matchNames(was.names, now.names);
  const reached = [now, ...callers].map(reachOf);
  const reach: Reach = (name) => reached.flatMap((one) => one(name));
  const { values, rows } = valuesOf(was, now, before, after, reach, changed);
  // If only literals differ, those are reported, unless two of them change places.
  const all = [...changed, ...values].flatMap(({ literals }) => literals ?? []);
  const inAll = (key: "old" | "since") => all.flatMap((one) => one[key]).flatMap(literalsIn);
  // A changed comparison value does not say what depends on it; the condition does.
  const isTold = (form: string) =>
    values.some(({ compared, near, means }) => (!compared || near !== null) && form === LITERAL + means.now + LITERAL);
  const fresh = new Set(apart(inAll("since"), inAll("old"), String)[0].filter(isTold));
  const told = toldIn(values);
  const { calls, deeds } = callsOf(was, now, before, after, reach, told);
  const isUntold = ({ literals }: Pick<ValueChange, "literals">) => !literals?.since.flatMap(literalsIn).some((one) => fresh.has(one));
  return {
    ...{ values: values.filter(isUntold), rows },
    names: [...changed.filter(isUntold), ...kept((form, key) => told(form, key))].map(({ tests, ...one }): NameChange => {
      const [gone, more] = apart(
        ...tests,
        ({ kind, form }) => `${kind} ${before(form)}`,
        ({ kind, form }) => `${kind} ${after(form)}`,
      );
      const when = [inEvery(conditionWords(more, gone)), inEvery(conditionWords(gone, more))] as const;
      return { ...one, when, reaches: [...reach(one.id), ...readsApart(now, one.was, one.now)] };
    }),
    ...{ calls, deeds },
    words: wordsOf(was, now),
  };
}

type Changed = ReturnType<typeof matchNames>["changed"];

function valuesOf(was: Program, now: Program, before: Canonical, after: Canonical, reach: Reach, names: Changed) {
  const [old, all] = [statedIn(was, before), statedIn(now, after)];
  const place = ({ path, near }: Stated) => `${path}\n${near ?? ""}`;
  // A literal without a key is the same wherever it is.
  const whole = (one: Stated) => `${place(one)}\n${one.path !== "" && one.compared} ${one.means}`;
  const [then, since] = [new Set(old.map(place)), new Set(all.map(place))];
  const exact = (one: Stated) => `${place(one)}\n${one.compared} ${one.of} ${one.file} ${one.means}`;
  // A cell of a table is the same whether or not something compares with it.
  const cell = (one: Stated) => `${one.near !== null} ${place(one)}\n${one.near === null ? whole(one) : one.means}`;
  let [gone, fresh] = apart(...apart(...apart(old, all, exact), whole), cell);
  // Moved: the same value under another path, where one of the two paths occurs only once.
  const isMoved = (a: Stated, b: Stated) =>
    lastOf(a.path) === lastOf(b.path) ? !then.has(place(b)) || !since.has(place(a)) : isBare(a, b) || isBare(b, a);
  // Into a name or function without a key: the condition or the log text it is part of describes any other difference.
  const isBare = (a: Stated, b: Stated) => a.path === "" && a.compared === b.compared && (a.compared || SILENT.test(b.path));
  fresh = fresh.filter((one) => {
    const twin = gone.find((other) => other.means === one.means && other.near === one.near && isMoved(other, one));
    gone = gone.filter((other) => other !== twin);
    return twin === undefined;
  });
  const rows = rowsOf(old, all);
  const isOf = (one: Stated) => rows.some((row) => row.file === one.file && row.near === one.near && row.change !== "order");
  const values: ValueChange[] = [];
  const isLiteral = ({ given }: Stated) => "literal" in given;
  // Templates that changed: their pieces are part of what is reported about them.
  const templates = new Set(
    names.flatMap(({ id, literals, was: old }) => (literals === null && old?.startsWith("`") ? [`${NAME}${id}${NAME}`] : [])),
  );
  const change = (one: Stated, other: Stated | undefined, from: Given | null, to: Given | null, literals: Literals = null) => {
    const { path, near, compared, tool, file, head } = one;
    const shown = [from, to].map((given) => (given !== null && "shown" in given ? given.shown : null)) as [string | null, string | null];
    const reaches = [...reach(head ?? holderOf(path, file)), ...endOf(now, path, tool), ...readsApart(now, ...shown)];
    if (literals === null && from !== null && "shown" in from && from.shown.startsWith("`")) templates.add(path);
    const means = { was: from === null ? null : (other ?? one).means, now: to === null ? null : one.means };
    values.push({ literals, path, near, head, means, was: from, now: to, compared, tool, reaches, file, line: to === null ? 0 : one.line });
  };
  // A computed cell of a table has no row of its own.
  const isAt = (one: Stated, other: Stated) =>
    place(one) === place(other) ||
    (other.near === null && !isLiteral(other) && `${other.file} ${other.path}` === `${one.file} ${one.path}`);
  // Cells that were computed and are fixed now: the literals that they were made of are reported with them.
  const fixed: Stated[] = [];
  for (const one of fresh.filter((some) => !isOf(some))) {
    const same = gone.filter((other) => isAt(one, other) && other.compared === one.compared);
    const twin =
      same.find((other) => !isLiteral(other) && !fresh.some((some) => place(some) === place(other) && !isLiteral(some))) ??
      same.find((other) => isLiteral(other) === isLiteral(one)) ??
      same.find((other) => !fresh.some((some) => place(some) === place(other) && isLiteral(some) === isLiteral(other) && !some.compared));
    gone = gone.filter((other) => other !== twin);
    if (twin !== undefined && isLiteral(one) && !isLiteral(twin)) fixed.push(twin);
    // If only a literal in it differs, the literal is reported.
    const isSame = twin !== undefined && !isLiteral(one) && differInLiterals(twin.means, one.means);
    change(one, twin, twin?.given ?? null, one.given, isSame ? { old: [twin.means], since: [one.means] } : null);
  }
  // What was removed with its call or object is reported with that.
  const parents = new Set(all.map(({ path }) => path.slice(0, path.lastIndexOf(lastOf(path)))));
  const remains = (one: Stated) => (isLiteral(one) ? undefined : all.find((other) => isLiteral(other) && isAt(other, one)));
  fixed.push(...gone.filter(remains));
  for (const one of gone) {
    const isPartOf = (whole: Stated) => isAt(one, whole) && whole.means.includes(LITERAL + one.means + LITERAL);
    const isPiece = isLiteral(one) && (templates.has(one.path) || (one.near !== null && fixed.some(isPartOf)));
    const parent = one.path.slice(0, one.path.lastIndexOf(lastOf(one.path)));
    // What a person is shown is not part of the call, so it is reported although all of it was removed.
    if (one.path === "" || isPiece || isOf(one) || !parents.has(parent.replace(/\bdetails\.$/, ""))) continue;
    // One of the literals in an expression may be all that remains of it.
    const left = remains(one);
    change(left ?? one, one, one.given, left?.given ?? null);
  }
  return { values, rows };
}

function wordsOf(was: Program, now: Program) {
  const wordsIn = ({ calls }: Program) =>
    calls.flatMap(({ name, effect, reads, given, at }) => {
      const word = given[""] ?? given["key"] ?? given["event"] ?? given["name"] ?? (effect === "read" ? "" : null);
      return (effect === "read" || effect === "control") && word !== null
        ? [{ call: name, word, reads: reads && given["tool"] === undefined, file: at.file, line: at.line ?? 0 }]
        : [];
    });
  const [old, fresh] = [wordsIn(was), wordsIn(now)];
  const is = (a: (typeof old)[number]) => (b: typeof a) => a.call === b.call && a.word === b.word;
  const only = (all: typeof old, others: typeof old) => all.filter((one, i) => !others.some(is(one)) && all.findIndex(is(one)) === i);
  return [
    ...only(fresh, old).map((one) => ({ ...one, change: "new" as const })),
    ...only(old, fresh).map((one) => ({ ...one, line: 0, change: "gone" as const })),
  ];
}

const roleOf = (list: string): "puts" | "stops" | "does" => (list === STOPS ? "stops" : list === INDIRECT ? "does" : "puts");

type Told = (form: string, key: "was" | "now") => string;
/** Removes from a form what is reported as a value of its own. */
function toldIn(values: readonly ValueChange[]): Told {
  return (form, key) =>
    values.reduce((text, { path, means: { [key]: means }, was, now }) => {
      if (means === null) return text;
      const given = key === "was" ? was : now;
      const [one, name] = [given !== null && "literal" in given ? `${LITERAL}${means}${LITERAL}` : means, lastOf(path)];
      if (/[.:]$|^$/.test(path)) return text.replaceAll(one, "");
      const [whole, left] = [`${name}:${one}`, was === null || now === null ? "" : `${name}:`];
      return left === ""
        ? text.replaceAll(`${whole},`, "").replaceAll(`,${whole}`, "").replaceAll(whole, "")
        : text.replaceAll(whole, left);
    }, form);
}

function callsOf(was: Program, now: Program, before: Canonical, after: Canonical, reach: Reach, told: Told) {
  const sitesIn = ({ sites, puts }: Program, write: Canonical, key: "was" | "now") =>
    [...sites, ...puts.map(({ list, ...one }) => ({ ...one, what: write(list), role: roleOf(list) }))].map((one) => {
      const tests = one.tests.map((test) => ({ ...test, means: conditionOf(test.kind, write(test.form)) }));
      const exact = write(one.exact, true);
      return {
        ...one,
        tests,
        exact,
        // What is reported about a call that is not followed may be rated as irrelevant.
        rest: one.role === "does" ? exact : told(exact, key),
        after: one.after.map((some) => write(some)),
        kind: `${one.role} ${one.what}`,
        means: meansOf(tests),
      };
    });
  const sites = [sitesIn(was, before, "was"), sitesIn(now, after, "now")] as const;
  const [old, fresh] = [inOne(sites[0]), inOne(sites[1])];
  const means = (one: { means: string }) => one.means;
  const calls: CallChange[] = [];
  const deeds: DeedChange[] = [];
  for (const kind of new Set([...old, ...fresh].map((one) => one.kind))) {
    const [mine, theirs] = [old.filter((one) => one.kind === kind), fresh.filter((one) => one.kind === kind)];
    const [gone, added] = apart(mine, theirs, means);
    const { what, role } = (theirs[0] ?? mine[0]) as (typeof old)[number];
    const reaches = role === "puts" ? namesIn(what).flatMap(reach) : [];
    const one = { what: plainForm(what), role, reaches };
    for (const [then, next, order] of unlike(mine, theirs, role === "puts"))
      deeds.push({
        ...one,
        ...(order ? { was: then.shown, now: next.shown } : shownOf(then, next)),
        order,
        file: next.file,
        line: next.line,
      });
    if (gone.length + added.length === 0) continue;
    const testsOf = (all: typeof old, most: number) => all.slice(0, most).flatMap(({ tests }) => tests);
    const [dropped, more] = apart(testsOf(gone, added.length), testsOf(added, gone.length), means);
    const { file, line } = added.at(-1) ?? theirs.at(-1) ?? { file: now.file, line: 0 };
    const total = (all: readonly { role: string }[]) => all.filter((some) => some.role === role).length;
    const counts = { was: mine.length, now: theirs.length, all: [total(old), total(fresh)] as const };
    // If only literals differ, the differing literals describe the change.
    const isSame = more.length === dropped.length && more.every(({ form }, i) => differInLiterals(dropped[i]?.form ?? "", form));
    const had = more.flatMap(({ form }, i) => apart(literalsIn(dropped[i]?.form ?? ""), literalsIn(form), String)[0].map(plainForm));
    const conditions = {
      added: conditionWords(more, dropped),
      dropped: isSame ? [...new Set(had)] : conditionWords(dropped, more),
      lines: more.map((test) => test.line),
    };
    calls.push({ ...one, ...counts, ...conditions, file, line });
  }
  const inOrder = sites.map((all) => all.filter(({ role }) => /^(?:acts|emits|writes)$/.test(role))) as [typeof old, typeof old];
  for (const [then, { what, role, shown: first, file, line }] of exchanged(...inOrder))
    deeds.push({ what, role, was: then.shown, now: first, order: true, reaches: [], file, line });
  return { calls, deeds };
}
