/**
 * Where the rules of a policy became less strict. A rule is kept if some rule of the new pack applies wherever it did and requires no less;
 * anything that cannot be proved to be as strict is reported as loosened.
 */
import { type Atom, type Condition, type Operand, namesIn, print } from "../../rules/policy/condition.ts";
import { demandsAtLeast, implies } from "../../rules/policy/lint.ts";
import { type Ladder, meetsLevel } from "../../rules/policy/levels.ts";
import type { Scope } from "../../rules/policy/evaluate.ts";
import type { Rule } from "../../rules/policy/verdict.ts";
import { namedUpTo } from "../../kernel/text.ts";
import { STRICTNESS } from "../../kernel/verdict.ts";
import type { Pack, PolicyCase } from "../../workspace/settings/policies.ts";
import { code, tell, widen } from "./widening-rows.ts";
import type { SettingLine } from "./widening-settings.ts";

const NEW = "threshold.now_";

/** `key` of a line: its rule, threshold or case. */
export function policyWidening(was: Pack, now: Pack, ladder: Ladder): SettingLine[] {
  const found: SettingLine[] = [];
  const say = (kind: "policy" | "case", text: string, key: string) => found.push({ ...widen(kind, `${now.process}: ${text}`), key });
  const more = (text: string, key: string) => found.push({ ...tell("value", `${now.process}: ${text}`), key });
  // One scope with the thresholds of both packs, those of the new one renamed.
  const renamed = Object.fromEntries(Object.entries(now.set.thresholds).map(([key, value]) => [`now_${key}`, value]));
  const scope: Scope = { ...was.set, thresholds: { ...was.set.thresholds, ...renamed } };
  const rules = now.set.rules.map((rule) => ({ ...rule, when: withNew(rule.when) }));
  const kinds = [...was.set.kinds].filter(([fact, kind]) => now.set.kinds.has(fact) && now.set.kinds.get(fact) !== kind);
  for (const [fact, kind] of kinds)
    say("policy", `the fact ${fact} is ${now.set.kinds.get(fact)} instead of ${kind}: compare its rules by hand`, fact);

  const [before, after] = [was.set.requester, now.set.requester];
  if (before !== undefined && before !== after)
    say("policy", `whoever requested the case, by the fact ${before}, may approve it`, "requester");
  if (after !== undefined && before !== after) more(`whoever requested the case, by the fact ${after}, may not approve it`, "requester");
  found.push(...proseTaken(now, was.prose));
  const moved = new Set<string>();
  for (const rule of was.set.rules) {
    const other = rules.find(({ id }) => id === rule.id);
    if (rules.some((one) => demandsAtLeast(one, rule, ladder) && implies(rule, one, scope))) {
      const [before, after] = [print(rule.when), other === undefined ? "" : print(withOld(other.when))];
      if (other !== undefined && after !== before && !implies(other, rule, scope))
        more(`${rule.id} applies in more cases (${code(after)}; before: ${code(before)})`, rule.id);
      continue;
    }
    if (other === undefined) {
      say("policy", `the rule ${rule.id} is removed (${rule.description})`, rule.id);
      continue;
    }
    for (const text of lessOf(rule, other, ladder)) say("policy", `${rule.id} ${text}`, rule.id);
    if (implies(rule, other, scope)) continue;
    const changed = thresholdsOf(rule.when).filter(
      (key) => JSON.stringify(was.set.thresholds[key]) !== JSON.stringify(now.set.thresholds[key]),
    );
    const same = print(withNew(rule.when)) === print(other.when);
    for (const key of same ? changed : []) {
      if (moved.has(key)) continue;
      moved.add(key);
      const [before, after] = [was.set.thresholds[key], now.set.thresholds[key]].map((one) => JSON.stringify(one));
      const less = implies(other, rule, scope)
        ? `, so ${rule.id} applies in fewer cases (${rule.description})`
        : `, on which ${rule.id} depends: compare by hand`;
      say("policy", `its threshold ${key} is ${after} instead of ${before}${less}`, key);
    }
    if (same && changed.length > 0) continue;
    const how = implies(other, rule, scope) ? "applies in fewer cases" : "changed in a way that cannot be ordered: compare by hand";
    say("policy", `${rule.id} ${how} (${code(print(withOld(other.when)))}; before: ${code(print(rule.when))})`, rule.id);
  }
  const ids = renamedRules(was, now);
  const isNew = ({ id }: Rule) => ![...was.set.rules.map((one) => one.id), ...ids.values()].includes(id);
  for (const { id, action, level, approvals, description, when } of now.set.rules.filter(isNew)) {
    const who = `${approvals > 1 ? ` of ${approvals} people` : ""}${level === null ? "" : `, as ${level},`}`;
    more(`adds the rule ${id}: it ${SAYS[action]}${who} where ${code(print(when))} (${description})`, id);
  }
  const asked = new Set(now.set.rules.flatMap(({ when }) => namesIn(when)));
  for (const [fact, kind] of now.set.kinds)
    if (!was.set.kinds.has(fact) && kind !== "boolean" && !asked.has(fact))
      say("policy", `declares the fact ${fact}, and no rule asks about it: what a run acts on counts as judged where it gives that`, fact);
  const [gone, other]: [string[], string[]] = [[], []];
  // A fact that only new rules use changes no case of the existing rules.
  const known = new Set([...was.set.rules, ...now.set.rules.filter((rule) => !isNew(rule))].flatMap(({ when }) => namesIn(when)));
  const text = ({ facts, ...rest }: PolicyCase) => JSON.stringify([rest, Object.entries(facts).filter(([fact]) => known.has(fact))]);
  const called = new Set(was.cases.map(({ name }) => name));
  const otherwiseNamed = new Set<string>();
  for (const one of was.cases) {
    const kept = now.cases.find(({ name }) => name === one.name);
    const twin = kept ?? now.cases.find((other) => !called.has(other.name) && text({ ...other, name: one.name }) === text(one));
    if (kept === undefined && twin !== undefined && otherwiseNamed.add(twin.name)) continue;
    const isSame = kept !== undefined && [one, { ...one, ...named(one, ids) }].some((old) => text(old) === text(kept));
    if (kept === undefined) gone.push(one.name);
    else if (!isSame && isStricter(one, kept)) more(`its test case "${one.name}" expects more`, one.name);
    else if (!isSame) other.push(one.name);
  }
  const fresh = now.cases.flatMap(({ name }) => (called.has(name) || otherwiseNamed.has(name) ? [] : [name]));
  for (const [names, how, tellAs] of [
    [other, "changed", say.bind(null, "case")],
    [gone, "removed", say.bind(null, "case")],
    [fresh, "new", more],
  ] as const) {
    const [first = ""] = names;
    if (names.length === 1) tellAs(`its test case "${first}" is ${how}`, first);
    const quoted = names.map((name) => `"${name}"`);
    if (names.length > 1) tellAs(`${names.length} of its test cases are ${how} (${namedUpTo(quoted, 3)})`, first);
  }
  return found;
}

/** Prose policies about which no person is asked any more, because these rules replace them. */
export const proseTaken = ({ process, prose }: Pack, before: readonly string[]): SettingLine[] =>
  prose
    .filter((one) => !before.includes(one))
    .map((key) => ({
      ...widen(
        "policy",
        `${process}: its rules take the place of a policy in prose (${key.slice(0, 12)}): a run given that text is asked about only where they say so`,
      ),
      key,
    }));

/** Rules that were only renamed, by their old id. */
function renamedRules(was: Pack, now: Pack): Map<string, string> {
  const text = ({ id: _, ...rule }: Rule) => JSON.stringify(rule);
  const known = new Set(was.set.rules.map(({ id }) => id));
  return new Map(
    was.set.rules.flatMap((rule) => {
      const twin = now.set.rules.find((other) => !known.has(other.id) && text(other) === text(rule));
      return twin === undefined || now.set.rules.some(({ id }) => id === rule.id) ? [] : [[rule.id, twin.id] as const];
    }),
  );
}

/** The rules that a case names, under their new ids. */
function named({ rules, unknown }: PolicyCase, ids: ReadonlyMap<string, string>): Pick<PolicyCase, "rules" | "unknown"> {
  const now = (all: string[]) => all.map((id) => ids.get(id) ?? id);
  return { ...(rules === undefined ? {} : { rules: now(rules) }), ...(unknown === undefined ? {} : { unknown: now(unknown) }) };
}

/** True if the same facts must give a verdict no less strict, by no fewer rules. */
function isStricter({ verdict, ...was }: PolicyCase, now: PolicyCase): boolean {
  const rest = ({ facts, without, level, approvals }: Omit<PolicyCase, "verdict">) => JSON.stringify([facts, without, level, approvals]);
  const holds = (all: string[] = [], others: string[] = []) => all.every((id) => others.includes(id));
  const isAsStrict = STRICTNESS.indexOf(now.verdict) >= STRICTNESS.indexOf(verdict);
  return (
    rest(was) === rest(now) && isAsStrict && holds(was.rules, now.rules ?? was.rules) && holds(was.unknown, now.unknown ?? was.unknown)
  );
}

/** What a rule no longer requires, in words. */
function lessOf(was: Rule, now: Rule, ladder: Ladder): string[] {
  const found: string[] = [];
  if (STRICTNESS.indexOf(now.action) < STRICTNESS.indexOf(was.action))
    found.push(`only ${SAYS[now.action]}; before, it ${SAYS[was.action]}`);
  if (was.level !== null && (now.level === null || !meetsLevel(ladder, [now.level], was.level)))
    found.push(`asks for ${now.level ?? "no particular level"} instead of ${was.level}`);
  if (now.approvals < was.approvals) found.push(`asks ${now.approvals} instead of ${was.approvals} people`);
  if (was.distinct_from_requester && !now.distinct_from_requester) found.push("may be approved by whoever started the run");
  return found;
}

const SAYS = { inform: "tells", require_approval: "asks for approval", escalate: "escalates", block: "blocks" } as const;

const withNew = (condition: Condition): Condition => renamedIn(condition, (name) => name.replace(/^threshold\./, NEW));
const withOld = (condition: Condition): Condition => renamedIn(condition, (name) => name.replace(NEW, "threshold."));

function renamedIn(condition: Condition, rename: (name: string) => string): Condition {
  const operand = (one: Operand): Operand => (one.kind === "word" ? { ...one, text: rename(one.text) } : one);
  if (condition.op === "and" || condition.op === "or")
    return { ...condition, terms: condition.terms.map((term) => renamedIn(term, rename)) };
  if (condition.op === "not") return { ...condition, term: renamedIn(condition.term, rename) };
  if (condition.op === "constant") return condition;
  const atom: Atom = { ...condition, field: rename(condition.field) };
  if (atom.op === "in") return { ...atom, list: atom.list.map(operand) };
  return atom.op === "is" ? atom : { ...atom, operand: operand(atom.operand) };
}

const thresholdsOf = (condition: Condition): string[] => [
  ...new Set([...print(condition).matchAll(/\bthreshold\.([\w.-]+)/g)].map(([, key]) => key ?? "")),
];
