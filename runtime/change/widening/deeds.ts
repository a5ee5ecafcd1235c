/**
 * The calls and list insertions of two versions of a program, each with its conditions and contents (code-difference.ts): which places are
 * equivalent, and which do something else or in another order.
 */
import { argsAt } from "../../scripts/form-marks.ts";
import type { SurveyTest } from "../../kernel/ports.ts";
import { apart, partOf } from "../evidence/partings.ts";
import type { Place } from "./stated-values.ts";

const OPPOSITE: [RegExp, string][] = [
  [/^Unary!\(([\s\S]*)\)$/, "$1"],
  [/^Binary!==/, "Binary==="],
  [/^Binaryempty/, "Binaryfilled"],
];
/** A condition in a normal form, regardless of negation. */
export function conditionOf(kind: string, form: string): string {
  const [what, by] = OPPOSITE.find(([one]) => one.test(form)) ?? [];
  if (kind === "each" || what === undefined) return `${kind} ${form}`;
  return conditionOf(kind === "if" ? "not" : "if", form.replace(what, by ?? ""));
}

/** The operands of `a && b` or `a || b` that is true or false; null for other forms. isBoth: whether both operands hold. */
function sidesOf(means: string): { sides: string[]; isBoth: boolean } | null {
  const [, kind = "", form = "", operator] = /^(if|not) (Logical(&&|\|\|)[\s\S]*)$/.exec(means) ?? [];
  const { args, end } = argsAt(form, form.indexOf("("));
  if (operator === undefined || end !== form.length) return null;
  return { sides: args.map((one) => conditionOf(kind, one)), isBoth: (operator === "&&") === (kind === "if") };
}
/** The conditions implied by one: `if (a) if (b)` is `if (a && b)`, and `!(a && b)` is `!a || !b`. */
function partsOf(means: string): string[] {
  const logical = sidesOf(means);
  if (logical === null) return [means];
  return logical.isBoth ? logical.sides.flatMap(partsOf) : [`either (${insteadOf(means).sort().join(") or (")})`];
}
function insteadOf(means: string): string[] {
  const logical = sidesOf(means);
  return logical === null || logical.isBoth ? [partsOf(means).sort().join(" and ")] : logical.sides.flatMap(insteadOf);
}

export const meansOf = (tests: readonly { means: string }[]): string =>
  tests
    .flatMap(({ means }) => partsOf(means))
    .sort()
    .join("\n");

interface Done extends Place {
  kind: string;
  tests: readonly { means: string }[];
  means: string;
  exact: string;
  /** Without what is already reported about it. */
  rest: string;
  after: readonly string[];
  shown: string;
  order?: readonly number[];
}

const opposite = ({ means }: { means: string }) => means.replace(/^(if|not) /, (_, kind) => (kind === "if" ? "not " : "if "));
// Iterations of the same loop exclude nothing.
const isApart = (one: Done, other: Done) =>
  one.tests.some((test) => !test.means.startsWith("each ") && other.tests.some(({ means }) => means === opposite(test)));

/** Pairs that changed order; each occurs once in both versions. Mutually exclusive ones have no order. */
export function exchanged<T extends Done>(mine: readonly T[], theirs: readonly T[]): [was: T, now: T][] {
  const keyOf = ({ file, kind, means, exact }: T) => [file, kind, means, exact].join("\n");
  const inOrder = (all: readonly T[]) =>
    [...Map.groupBy(all, keyOf)]
      .flatMap(([key, [only, ...more]]) => (only === undefined || more.length > 0 ? [] : [{ key, only }]))
      .sort((a, b) => compared(a.only.order, b.only.order));
  const [old, fresh] = [inOrder(mine).map(({ key }) => key), inOrder(theirs)];
  return fresh.flatMap(({ key, only }, i): [T, T][] => {
    const at = old.indexOf(key);
    const isPassed = (other: (typeof fresh)[number]) => old.includes(other.key) && old.indexOf(other.key) < at;
    const passed = fresh.slice(i + 1).find((other) => isPassed(other) && other.only.file === only.file && !isApart(only, other.only));
    return passed === undefined ? [] : [[passed.only, only]];
  });
}
function compared(one: readonly number[] = [], other: readonly number[] = []): number {
  const at = one.findIndex((place, i) => place !== other[i]);
  return at < 0 ? one.length - other.length : (one[at] ?? 0) - (other[at] ?? 0);
}

/** Merges two places of which exactly one is reached: `if (a) f(x); else f(y)` is `f(a ? x : y)`. */
export function inOne<T extends Done>(sites: readonly T[]): T[] {
  for (const one of sites) {
    const [rest, last] = [one.tests.slice(0, -1), one.tests.at(-1)?.means ?? ""];
    const otherwise = meansOf([...rest, { means: last.replace(/^if /, "not ") }]);
    const twin = sites.find((other) => other.kind === one.kind && other.means === otherwise && otherwise !== one.means);
    if (twin === undefined) continue;
    const exact = one.exact === twin.exact ? one.exact : `Conditional(${last.slice("if ".length)},${one.exact},${twin.exact})`;
    const rests = one.rest === twin.rest ? one.rest : `Conditional(${last.slice("if ".length)},${one.rest},${twin.rest})`;
    const whole = { ...one, exact, rest: rests, after: [...one.after, ...twin.after], tests: rest, means: meansOf(rest) };
    const shown = one.shown === twin.shown ? one.shown : `${one.shown} else ${twin.shown}`;
    return inOne([...sites.filter((other) => other !== one && other !== twin), { ...whole, shown }]);
  }
  return [...sites];
}

/** Pairs that differ, and whether only in order. Mutually exclusive ones have no order. */
export function unlike<T extends Done>(mine: readonly T[], theirs: readonly T[], inOrder: boolean): [was: T, now: T, order: boolean][] {
  const counts = (all: readonly T[]) => new Set(all.flatMap(({ after }) => after.map((one) => one.replace(/\d+\//, ""))));
  const [old, fresh] = [counts(mine), counts(theirs)];
  const isKnown = (one: string) => [old, fresh].every((all) => all.has(one.replace(/\d+\//, "")));
  const same = ({ means, exact, after }: Pick<T, "means" | "exact" | "after">) =>
    [means, exact, ...new Set(after.filter(isKnown))].join("\n");
  const [gone, added] = apart(...apart(mine, theirs, same), (one) => same({ ...one, exact: one.rest }));
  const left = [...gone];
  const take = (at: number) => (at < 0 ? undefined : left.splice(at, 1)[0]);
  const pairs = [...added.map((now) => [take(left.findIndex(({ means }) => means === now.means)), now] as const)].map(
    ([was, now]) => [was ?? take(left.findIndex((one) => !added.some(({ means }) => means === one.means))), now, false] as const,
  );
  const found = pairs.flatMap(([was, now]): [T, T, boolean][] =>
    was === undefined || (was.rest === now.rest && was.means !== now.means) ? [] : [[was, now, was.exact === now.exact]],
  );
  if (gone.length + added.length > 0 || !inOrder) return found;
  const order = mine.map(same);
  for (const [i, one] of theirs.entries()) {
    const passed = theirs.slice(i + 1).find((later) => order.lastIndexOf(same(later)) < order.indexOf(same(one)) && !isApart(one, later));
    if (passed !== undefined) return [[passed, one, true]];
  }
  return [];
}

const WHEN = { if: "only if", not: "but not if", each: "once for each of" };
// If one place is reached by a condition and another by its opposite, the first shows it.
export const conditionWords = (all: readonly SurveyTest[], others: readonly SurveyTest[]): string[] =>
  [...Map.groupBy(all, (one) => one.shown).values()].flatMap(([one], i) =>
    one ? `${WHEN[one.kind]} ‹${partOf(one.shown, others[i]?.shown ?? "")}›` : [],
  );
/** Conditions as one text. */
export const inEvery = (all: readonly string[]): string =>
  all.length === 0 ? "in every case" : all.join(" and ").replaceAll(" and but ", " but ");
