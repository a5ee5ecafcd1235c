/**
 * Matches the names of two versions of a program by what they are given, not by what they are called, and finds what a name reaches through
 * everything made from it.
 */
import { argsAt, differInLiterals, headOf, LITERAL, NAME, namesIn, plainForm, renamed, turned } from "../../scripts/form-marks.ts";
import { SCRIPTS } from "../../workspace/layout.ts";
import type { SurveyTest } from "../../kernel/ports.ts";
import { apart } from "../evidence/partings.ts";
import type { Program } from "./program.ts";

type Names = Program["names"];
/** A form in the notation common to both versions. */
export type Canonical = (form: string, isExact?: boolean) => string;
export type Reach = (name: string) => string[];

/** The last key of a path, or the path itself if it is a name. */
export function lastOf(path: string): string {
  const head = headOf(path);
  const keys = path.slice(head === null ? 0 : head.length + 2);
  return keys.endsWith("...") ? "..." : (keys.split(".").findLast((one) => one !== "") ?? plainForm(path));
}

/** Matches the names of two versions; returns two ways to write a form, and the names that are given another value. */
export function matchNames(was: Names, now: Names) {
  const [left, right] = [new Map<string, string>(), new Map<string, string>()];
  const pair = (one: string, other: string): void => {
    left.set(one, other);
    right.set(other, other);
  };
  /** What a name is given, with matched names replaced; others as they are, or by number. */
  const written = (all: Names, known: ReadonlyMap<string, string>, name: string, exact: boolean): string => {
    const seen: string[] = [];
    const open = (one: string) => (exact ? one : `?${seen.includes(one) ? seen.indexOf(one) : seen.push(one) - 1}`);
    return (all.get(name) ?? []).map(({ form }) => renamed(form, (one) => known.get(one) ?? open(one))).join("\n");
  };
  // The number of a name with several meanings shifts when one of them is renamed.
  const [counts, since] = [was, now].map((all) => Map.groupBy(all.keys(), (name) => name.replace(/#\d+$/, "")));
  const isNamed = (name: string) => {
    const base = name.replace(/#\d+$/, "");
    return was.has(name) && counts?.get(base)?.length === since?.get(base)?.length;
  };
  for (const name of now.keys()) if (isNamed(name) && written(was, left, name, true) === written(now, left, name, true)) pair(name, name);
  // A name that both versions have once is the same name, whatever else resembles it.
  const isOnly = (all: Names, name: string) => all.has(name) && !all.has(`${name}#1`) && !/#\d+$/.test(name);
  for (const name of now.keys()) if (!left.has(name) && !right.has(name) && isOnly(was, name) && isOnly(now, name)) pair(name, name);
  // Renamed: given the same value in terms of names already matched.
  for (let found = true; found; ) {
    found = [true, false].some((exact) => {
      const [old, fresh] = [[...was.keys()].filter((name) => !left.has(name)), [...now.keys()].filter((name) => !right.has(name))];
      const twins = Map.groupBy(old, (name) => written(was, left, name, exact));
      const known = left.size;
      for (const name of fresh) {
        const all = twins.get(written(now, right, name, exact)) ?? [];
        if (all.length === 1 || (exact && all.length > 0)) pair(all.shift() ?? "", name);
      }
      return left.size > known;
    });
  }
  for (const name of now.keys()) if (was.has(name) && !left.has(name) && !right.has(name)) pair(name, name);
  // A name that only one version has is replaced by its value.
  const canonical = (all: Names, known: ReadonlyMap<string, string>): Canonical => {
    const functions = [...all].flatMap(([name, [only, ...more]]) =>
      known.has(name) || !only || only.body === true || more.length > 0 ? [] : [[name, only.form] as const],
    );
    const isHanded = (name: string) => !known.has(name) && all.get(name)?.[0]?.handed !== undefined;
    const write = (form: string, above: readonly string[], isExact = false): string =>
      renamed(
        functions.reduce(
          (text, [name, given]) =>
            above.includes(name) ? text : applied(text, name, (isExact ? all.get(name)?.[0]?.exact : null) ?? given, isHanded),
          form,
        ),
        (name, whole) => {
          if (known.has(name)) return `${NAME}${known.get(name)}${NAME}`;
          const [only, ...more] = all.get(name) ?? [];
          const isOpaque = only === undefined || more.length > 0 || only.body === true || above.includes(name);
          if (isOpaque) return whole;
          const given = (isExact ? only.exact : null) ?? formOf(only, known);
          // `filter(isOpen)` passes a function like one that is written there.
          const parts = partsOf(given);
          return write(parts === null ? given : `(${parts.params.length})=>${parts.body}`, [...above, name], isExact);
        },
      );
    return (form, isExact) => turned(write(form, [], isExact));
  };
  const [before, after] = [canonical(was, left), canonical(now, right)];
  const changed = [...left].flatMap(([first, id]) => {
    const [gone, fresh] = apart(
      was.get(first) ?? [],
      now.get(id) ?? [],
      (one) => before(formOf(one, left)),
      (one) => after(formOf(one, right)),
    );
    const [then, next] = [gone[0] ?? null, fresh[0] ?? null];
    const [old, since] = [gone.map(({ form }) => before(form)), fresh.map(({ form }) => after(form))];
    const literals = old.length === since.length && old.every((form, i) => differInLiterals(form, since[i] ?? "")) ? { old, since } : null;
    const at = { file: id.slice(0, id.lastIndexOf(":")), line: (next ?? now.get(id)?.[0])?.line ?? 0 };
    // Another part of the same expression, or of a function's arguments.
    const isSame = then?.shown === next?.shown;
    const text = (one: typeof then) => one && one.shown + (isSame ? (one.way ?? "") : "");
    const shown = { was: text(then), now: text(next), body: (next ?? then)?.body === true };
    return gone.length + fresh.length === 0
      ? []
      : [{ id, name: plainForm(`${NAME}${id}${NAME}`), literals, order: false, ...shown, ...at, tests: testsOf(then, next) }];
  });
  /** Names with the same value that is computed differently; `told`: a form without what is already reported. */
  const kept = (told: (form: string, key: "was" | "now") => string) =>
    [...left].flatMap(([first, id]) => {
      if (changed.some((one) => one.id === id)) return [];
      type Written = (exact: string, by: Canonical, key: "was" | "now") => string;
      const unlike = (mine: NonNullable<ReturnType<Names["get"]>>, theirs: typeof mine, how: Written) =>
        apart(
          mine,
          theirs,
          (one) => how(one.exact ?? formOf(one, left), before, "was"),
          (one) => how(one.exact ?? formOf(one, right), after, "now"),
        );
      const some = unlike(was.get(first) ?? [], now.get(id) ?? [], (exact, by) => by(exact, true));
      const [gone, fresh] = unlike(...some, (exact, by, key) => told(by(exact, true), key));
      // The same values in another order; mutually exclusive ones have no order.
      const all = [(was.get(first) ?? []).map(({ form }) => before(form)), (now.get(id) ?? []).map(({ form }) => after(form))] as const;
      const differs = all[0].findIndex((form, i) => form !== all[1][i]);
      const isOrder =
        gone.length === 0 &&
        differs >= 0 &&
        isMoved(
          ...all,
          (now.get(id) ?? []).map(({ tests = [] }) => tests),
        );
      const [then, next] = isOrder ? [was.get(first)?.[differs], now.get(id)?.[differs]] : [gone[0], fresh[0]];
      if (then === undefined || next === undefined) return [];
      const at = { file: id.slice(0, id.lastIndexOf(":")), line: next.line };
      const shown = { ...shownOf(then, next), body: false, order: isOrder };
      return [{ id, name: plainForm(`${NAME}${id}${NAME}`), ...shown, ...at, tests: testsOf(then, next) }];
    });
  return { before, after, changed, kept };
}

type Tested = { tests?: readonly SurveyTest[] } | null;
const testsOf = (was: Tested, now: Tested) => [was?.tests ?? [], now?.tests ?? []] as const;

type Shown = { shown: string; whole?: string; exact?: string };
/** Both as their texts have them; if these are equal, with the values of their names. */
export function shownOf(was: Shown, now: Shown): { was: string; now: string } {
  const [old, fresh] = [was, now].map(({ shown, whole = shown }) => whole) as [string, string];
  return old === fresh ? { was: plainForm(was.exact ?? old), now: plainForm(now.exact ?? fresh) } : { was: old, now: fresh };
}

/** True if one of these moved before another, and both may happen. */
function isMoved(was: readonly string[], now: readonly string[], tests: readonly (readonly SurveyTest[])[]): boolean {
  const isApart = (a = 0, b = 0) =>
    tests[a]?.some(({ form, kind }) => tests[b]?.some((one) => one.form === form && [kind, one.kind].sort().join() === "if,not")) === true;
  return now.some((one, a) => now.some((other, b) => a < b && was.lastIndexOf(other) < was.indexOf(one) && !isApart(a, b)));
}

/** Of a function that one version has, with one caller: its parameters are what it is given there. */
const formOf = ({ form, handed }: { form: string; handed?: string }, known: ReadonlyMap<string, string>): string =>
  handed === undefined || namesIn(form).some((of) => known.has(of)) ? form : handed;

/** The parameters of a function and what it returns; null for other forms. */
function partsOf(form: string): { params: string[]; body: string } | null {
  if (!form.startsWith("(")) return null;
  const { args, end } = argsAt(form, 0);
  return form.startsWith("=>", end) ? { params: args.filter((one) => one !== ""), body: form.slice(end + 2) } : null;
}

/** A form with calls of single-expression functions replaced by the expression with its arguments; never an unbounded one. */
function applied(form: string, name: string, given: string, isHanded: (name: string) => boolean): string {
  const { params = [], body } = partsOf(given) ?? {};
  const at = form.indexOf(`${NAME}${name}${NAME}(`);
  if (at < 0 || form.length > 50_000 || body === undefined || body.includes(`${NAME}${name}${NAME}`)) return form;
  const { args, end } = argsAt(form, at + name.length + 2);
  const named = args.filter((one) => one !== "");
  // A parameter that is taken apart has its values by its names.
  const isPlain = (param: string) => headOf(param)?.length === param.length - 2;
  if (named.length !== params.length || params.some((one) => !isPlain(one) && !namesIn(one).every(isHanded))) return form;
  const whole = renamed(body, (_, mark) => named[params.indexOf(mark)] ?? mark);
  return applied(form.slice(0, at) + whole + form.slice(end), name, given, isHanded);
}

/** What a path that begins with a call is for: what is read, written, started or done, as opposed to text for people or arguments of tools. */
export function endOf({ sites, calls }: Program, path: string, tool: string | null): string[] {
  const [what = ""] = path.split(".", 1);
  if (
    tool !== null ||
    (/^\w+\.(?:subject|text|title|details)$/.test(path) && sites.some((one) => one.what === what && one.role === "acts"))
  )
    return [];
  if (calls.some(({ name, reads }) => reads && name === what)) return [`reads ${what}`];
  const role = sites.find((one) => one.what === what && /^(?:acts|emits|writes)$/.test(one.role))?.role;
  return role === undefined ? [] : [`${role} ${what}`];
}

/** Calls that read something else in one version than in the other. */
export function readsApart({ calls }: Program, was: string | null, now: string | null): string[] {
  const names = [...new Set(calls.flatMap(({ name, reads }) => (reads ? [name] : [])))];
  const read = (text: string, name: string) => argsAt(text, text.indexOf(`${name}(`) + name.length).args.join();
  const isIn = (name: string) => [was, now].every((text) => text?.includes(`${name}(`) === true);
  return names.filter((name) => isIn(name) && read(was ?? "", name) !== read(now ?? "", name)).map((name) => `reads ${name}`);
}

/** The significant keys and calls that a name reaches through everything made from it, including inputs and results of scripts. */
export function reachOf(program: Program): Reach {
  const { names, fields, sites, puts, calls } = program;
  const made = new Map<string, Set<string>>();
  const ends = new Map<string, Set<string>>();
  const answers = new Map(
    [...names].flatMap(([name, [only]]) => (only && WHOLE.exec(only.form) ? [[name, WHOLE.exec(only.form)?.[1] ?? ""]] : [])),
  );
  /** Names in a form, inputs of its script, and results of other scripts: of a named result only the key that is used. */
  const usedIn = (form: string, file: string): string[] => [
    ...namesIn(form),
    ...[...form.replace(TEXTS, "").matchAll(INPUT)].map(([, key]) => inputOf(scriptAt(file), key)),
    ...[...form.matchAll(KEY_OF)].flatMap(([, name = "", key]) => (answers.has(name) ? [answerOf(answers.get(name) ?? "", key)] : [])),
    ...[...form.matchAll(ANSWER)].map(([, script = ""]) => answerOf(script, KEY.exec(form)?.[1])),
  ];
  const add = (map: Map<string, Set<string>>, file: string, form: string, what: string) => {
    for (const used of usedIn(form, file)) map.set(used, (map.get(used) ?? new Set()).add(what));
  };
  for (const [name, all] of names) if (!answers.has(name)) for (const { form } of all) add(made, fileOf(name), form, name);
  /** Script inputs that are passed on key by key: as a whole, or the rest of it. */
  const forwards: [from: string, to: string][] = [];
  const isInput = (form: string) =>
    /^input(?:\.\.\.)?$/.test(headOf(form) === null ? form : (names.get(headOf(form) ?? "")?.[0]?.form ?? ""));
  for (const { form, path, tool, file } of fields) {
    add(ends, file, form, tool !== null ? `params of ${tool}` : /\.facts\./.test(path) ? "facts" : lastOf(path));
    const head = headOf(path);
    for (const end of head === null ? endOf(program, path, tool) : []) add(ends, file, form, end);
    for (const { role, what } of sites) if (path === `${what}.`) add(ends, file, form, `${role} ${what}`);
    // A value in a named object goes where the object goes; of a spread one only some keys may.
    if (head !== null && !path.endsWith("...")) add(made, file, form, head);
    else if (head === null && isInput(form) && GIVEN.test(holderOf(path, file)))
      forwards.push([`input ${scriptAt(file)}.`, holderOf(path, file)]);
    else if (head === null) for (const whole of [false, true]) add(made, file, form, holderOf(path, file, whole));
  }
  for (const { what, role, tests, file } of sites) for (const { form } of tests) add(ends, file, form, `${role} ${what}`);
  // What decides about an item of a list reaches what the list reaches.
  for (const { list, tests, file } of puts) for (const { form } of tests) for (const holder of namesIn(list)) add(made, file, form, holder);
  // An argument of a script that is run in several places does not return from each of them.
  const runs = Map.groupBy(calls, ({ name, given }) => (name === "script_run" ? (given[""] ?? given["name"] ?? "") : ""));
  const isShared = (name: string) => {
    const script = /^answer (.*)\./.exec(name)?.[1];
    return script !== undefined && (runs.get(script)?.length ?? 0) > 1;
  };
  const inputs = [...made.keys(), ...ends.keys()].filter((one) => one.startsWith("input "));
  const walk = (name: string, isAcross: boolean): string[] => {
    const seen = new Set([name, name.replace(/^(answer .*\.)\w+$/, "$1")]);
    const found = new Set<string>();
    for (const one of seen) {
      if (one.startsWith("input ") && !isAcross) continue;
      // A script is given one key, or all.
      if (one.startsWith("input ")) seen.add(one.replace(/\w+$/, ""));
      for (const [from, to] of forwards) if (one.startsWith(from) && one !== from) seen.add(to.slice(0, -1) + one.slice(from.length));
      if (GIVEN.test(one)) for (const key of inputs) if (key.startsWith(one.slice(0, -1))) seen.add(key);
      for (const what of ends.get(one) ?? []) found.add(what);
      for (const next of made.get(one) ?? []) if (!(isShared(next) && [...seen].some((from) => from.startsWith("input ")))) seen.add(next);
    }
    return [...found];
  };
  // Many paths meet in the inputs of scripts: only facts and what policies judge by are followed there.
  return (name) => [...new Set([...walk(name, false), ...walk(name, true).filter((one) => /^(?:facts$|judges )/.test(one))])];
}

const CALLED = `script_run\\(${LITERAL}"([^"]+)"${LITERAL}`;
/** A script's whole result; one inside a form; a key of a name's value; the key used at the end. */
const [WHOLE, ANSWER, KEY_OF, KEY] = [
  new RegExp(`^${CALLED}[^]*\\)$`),
  new RegExp(CALLED, "g"),
  new RegExp(`${NAME}([^${NAME}]*)${NAME}(?:\\??\\.(\\w+))?`, "g"),
  /\)\.(\w+)$/,
];
/** A literal in a form; `input` or `input.key`, if it is the script's input; the whole input. */
const [TEXTS, INPUT, GIVEN] = [
  new RegExp(`${LITERAL}[^${LITERAL}]*${LITERAL}`, "g"),
  /(?<![\w.:])input\b(?:\??\.(\w+))?/g,
  /^input .*\.\*$/,
];
const fileOf = (name: string): string => name.slice(0, name.lastIndexOf(":"));
const scriptAt = (file: string): string => file.slice(SCRIPTS.length, -".ts".length);
const inputOf = (script: string, key = ""): string => `input ${script}.${key}`;
/** What an unnamed value at a path belongs to: the arguments of a script, else the result of its own script. */
export function holderOf(path: string, file: string, whole = false): string {
  const [first, key = ""] = path.split(".");
  const script = first?.startsWith("script_run ") ? first.slice("script_run ".length) : null;
  if (script !== null && !whole) return inputOf(script, key === "" ? "*" : key);
  return answerOf(scriptAt(file), whole ? undefined : first);
}
/** A script's result under a key, or as a whole, as a name. */
const answerOf = (script: string, key: string | undefined): string => `answer ${script}.${key ?? ""}`;
