/**
 * What a proposer says of a change, compared with what is computed: a claim that is not so blocks the change, and so does a widening that no
 * claim names. Free text cannot be compared with a change, so claims are data. Nothing is executed here.
 */
import { compareDecimals } from "../../rules/policy/values.ts";
import { plainDecimal } from "../../kernel/money.ts";
import { oneLine } from "../../kernel/text.ts";
import type { Json, Tree } from "../../kernel/ports.ts";
import { plainForm } from "../../scripts/form-marks.ts";
import { type Header, parseHeader } from "../../scripts/header.ts";
import { readYaml } from "../../scripts/yaml-text.ts";
import { AGENTS, CONFIG, SCRIPTS, TOOLS } from "../../workspace/layout.ts";
import type { Found } from "../checks/findings.ts";
import type { Looked } from "../checks/pipeline.ts";
import { shortAccount } from "../evidence/partings.ts";
import type { BacktestReport } from "../evidence/types.ts";
import { type Given, codeDifference } from "../widening/code-difference.ts";
import { lastOf } from "../widening/code-names.ts";
import { leafChanges } from "../widening/leaves.ts";
import { type Around, type Program, programAt } from "../widening/program.ts";
import type { AskedFor, Changed, Claim, ClaimKind } from "../proposal-types.ts";

/** Something that the change does, as claims may put it. */
interface Fact {
  kind: ClaimKind;
  file: string;
  /** What it may be called by. */
  subjects: string[];
  /** Values before and now; any of them may be claimed. */
  from: string[];
  to: string[];
  count?: number;
  amount?: string;
  /** Where its words are all there is to compare with. */
  text?: string;
  lines: number[];
}

/** The change and what is known of it. */
export interface Judged {
  base: Tree;
  tree: Tree;
  paths: readonly string[];
  changed: Changed;
  backtests: readonly BacktestReport[];
}

// A model that is told more does not mend more.
const LISTED = 6;

/** The claims of a proposal against its facts. */
export async function claimsLooked({ claims }: AskedFor, judged: Judged, around: Around): Promise<Looked> {
  const facts = await factsOf(judged, around);
  const plain = claims.filter(({ kind }) => kind !== "nothing_else");
  const proven = new Map(plain.map((claim) => [claim, facts.filter((fact) => isSo(claim, fact))]));
  const named = new Set([...proven.values()].flat());
  const wrong = plain.filter((claim) => proven.get(claim)?.length === 0).map((claim) => wrongClaim(claim, facts, judged));
  const unnamed = judged.changed.widening.flatMap(({ kind, text, at }): Found[] => {
    const file = at?.file ?? "";
    if (plain.some((claim) => covers(claim, proven.get(claim) ?? [], { kind, text, file }))) return [];
    const message = `It widens something that no claim names: ${oneLine(text, 300).replace(/[‹›]/g, "")}. Claim it as kind "${kind}" with subject "${nameOf(file)}" and a value of it as "to", or leave it out.`;
    return [{ code: "CLAIM_MISSING", at: at ?? { file }, message }];
  });
  const beside = await linesBeside(judged, named);
  const rest = claims.some(({ kind }) => kind === "nothing_else") ? othersThan(facts, named, judged) : [];
  const says = `${plain.length} ${plain.length === 1 ? "claim" : "claims"}, ${plain.length - wrong.length} true; ${beside === 0 ? "no line" : `${beside} ${beside === 1 ? "line" : "lines"}`} changed beside ${plain.length === 1 ? "it" : "them"}`;
  return { says, findings: [...wrong, ...unnamed, ...rest] };
}

async function factsOf({ base, tree, paths, changed, backtests }: Judged, around: Around): Promise<Fact[]> {
  const found: Fact[] = [];
  for (const path of paths) {
    const [was, now] = [await base.read(path), await tree.read(path)];
    if (was === now) continue;
    found.push(...fileFacts(path, was, now));
    if (path.startsWith(AGENTS)) found.push(...headerFacts(path, headerIn(was, path), headerIn(now, path)));
    if (/\.yaml$/.test(path)) found.push(...settingFacts(path, was, now));
    if (was !== null && now !== null && path.endsWith(".ts")) found.push(...(await codeFacts(path, base, tree, around)));
  }
  for (const { kind, text, at } of [...changed.widening, ...changed.changes.filter((one) => one.kind === "gate")])
    found.push({
      kind: kind as ClaimKind,
      ...about(at?.file ?? ""),
      from: [],
      to: [],
      text,
      lines: at?.line === undefined ? [] : [at.line],
    });
  return [...found, ...backtests.flatMap(runFacts)];
}

const nameOf = (path: string): string => path.replace(/^(?:agents|policies|scripts\/tools|scripts|importers)\/|\.(?:ts|yaml)$/g, "");
const about = (path: string, ...more: string[]): Pick<Fact, "file" | "subjects"> => ({
  file: path,
  subjects: [path, nameOf(path), ...more],
});
const plainFact = { from: [], to: [], lines: [] };

function fileFacts(path: string, was: string | null, now: string | null): Fact[] {
  const title = headerIn(now ?? was, path)?.name;
  const names = about(path, ...(title === undefined ? [] : [title]), ...(path.startsWith(TOOLS) ? [`compute_${nameOf(path)}`] : []));
  if (path.startsWith(AGENTS))
    return [{ ...plainFact, ...names, kind: was === null ? "agent_added" : now === null ? "agent_removed" : "agent_changed" }];
  return was === null && path.startsWith(SCRIPTS) ? [{ ...plainFact, ...names, kind: "tool_added" }] : [];
}

function headerIn(text: string | null, path: string): Header | null {
  if (text === null || !path.startsWith(AGENTS)) return null;
  try {
    return parseHeader(text, path);
  } catch {
    return null; // its own check says what is wrong with it
  }
}

function headerFacts(path: string, was: Header | null, now: Header | null): Fact[] {
  if (now === null) return [];
  const names = about(path, now.name);
  const fact = (kind: ClaimKind, from: string | undefined, to: string | undefined): Fact[] =>
    from === to ? [] : [{ kind, ...names, from: from === undefined ? [] : [from], to: to === undefined ? [] : [to], lines: [] }];
  const uses = (one: Header | null) => one?.uses ?? [];
  return [
    ...fact("schedule", was?.schedule, now.schedule),
    ...fact("trigger", was?.trigger.join(", "), now.trigger.join(", ")),
    ...uses(now).flatMap((one) => (uses(was).includes(one) ? [] : fact("capability", undefined, one))),
    ...uses(was).flatMap((one) => (uses(now).includes(one) ? [] : fact("capability", one, undefined))),
  ];
}

function settingFacts(path: string, was: string | null, now: string | null): Fact[] {
  const read = (text: string | null): Json | undefined =>
    text === null ? undefined : ((readYaml(text, { file: path, code: "CONFIG_INVALID", maxLength: 262_144 }).value ?? {}) as Json);
  let changes: ReturnType<typeof leafChanges>;
  try {
    changes = leafChanges(read(was) ?? {}, read(now) ?? {});
  } catch {
    return []; // its own check says what is wrong with it
  }
  const shown = (value: Json | undefined): string[] =>
    value === undefined ? [] : typeof value === "object" && value !== null && !Array.isArray(value) ? cellsOf(value) : [textOf(value)];
  return changes.map(({ key, was: from, now: to }) => ({
    kind: path === CONFIG || !/^rules\b|\[/.test(key) ? "threshold" : "rule",
    ...about(path, key, `${nameOf(path)}.${key}`, ...(/\[([^\]]+)\]/.exec(key)?.slice(1) ?? [key.split(".").at(-1) ?? key])),
    from: shown(from),
    to: shown(to),
    lines: placesOf(now, key),
  }));
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));
const cellsOf = (cells: object): string[] => [...Object.values(cells).map(textOf), JSON.stringify(cells)];

/** Lines that the last name of a key stands on. */
function placesOf(text: string | null, key: string): number[] {
  const word = /\[([^\]]+)\][^[]*$/.exec(key)?.[1] ?? key.split(".").at(-1) ?? key;
  return (text ?? "").split("\n").flatMap((line, i) => (line.includes(word) ? [i + 1] : []));
}

async function codeFacts(path: string, base: Tree, tree: Tree, around: Around): Promise<Fact[]> {
  const [was, now] = await Promise.all([base, tree].map((one) => programAt(one, path, around)));
  const isRead = (one: typeof was): one is Program => one != null && !("problem" in one);
  if (!isRead(was) || !isRead(now)) return [];
  const { rows, values, names } = codeDifference(was, now);
  const shown = (given: Given | null): string[] => (given === null ? [] : ["literal" in given ? textOf(given.literal) : given.shown]);
  const own = <T extends { file: string }>(all: readonly T[]) => all.filter(({ file }) => file === path);
  return [
    ...own(rows).map(({ near, change, cells, line }): Fact => {
      const values = cellsOf(cells);
      return {
        kind: "rule",
        ...about(path, near),
        from: change === "new" ? [] : values,
        to: change === "gone" ? [] : values,
        lines: [line],
      };
    }),
    ...own(values).map(({ near, path: at, was: from, now: to, line }): Fact => {
      const names = [near ?? "", lastOf(plainForm(at)), plainForm(at)].filter((one) => one !== "");
      return { kind: near === null ? "threshold" : "rule", ...about(path, ...names), from: shown(from), to: shown(to), lines: [line] };
    }),
    ...own(names).map(({ name, was: from, now: to, line }): Fact => {
      const values = [from, to].map((one) => (one === null ? [] : [one])) as [string[], string[]];
      return { kind: "threshold", ...about(path, name), from: values[0], to: values[1], lines: [line] };
    }),
  ];
}

function runFacts({ agent, entries, moves, acts = [] }: BacktestReport): Fact[] {
  const file = `${AGENTS}${agent}.ts`;
  const accounts = (name: string) => [name, shortAccount(name)];
  return [
    { kind: "entries_changed", ...about(file), ...plainFact, count: entries },
    ...moves.map(({ from, to, entries: count, amount }): Fact => {
      return { kind: "entries_changed", ...about(file), from: accounts(from), to: accounts(to), count, amount, lines: [] };
    }),
    ...acts.flatMap(({ kind, what, was, now, differ }): Fact[] => {
      if (kind !== "call" && kind !== "notice") return [];
      const count = differ + Math.abs(now.count - was.count);
      const told = { from: [String(was.count)], to: [String(now.count)], count, ...(now.sum === null ? {} : { amount: now.sum }) };
      return [{ kind: kind === "call" ? "calls_changed" : "notices_changed", ...about(file, what), ...told, lines: [] }];
    }),
  ];
}

const plainText = (text: string): string => text.trim().replace(/\s+/g, " ").toLowerCase();
const sameText = (a: string, b: string): boolean => {
  if (plainText(a) === plainText(b)) return true;
  const [x, y] = [plainDecimal(a), plainDecimal(b)];
  return x !== null && y !== null && compareDecimals(x, y) === 0;
};
/** The words of a text that stand for themselves: a value is not part of a longer one. */
const says = (text: string, value: string): boolean =>
  value.trim() !== "" && new RegExp(`(?<![\\w.])${RegExp.escape(value.trim())}(?![\\w]|\\.\\d)`, "i").test(text);

function isSo({ kind, subject, from, to, count, amount }: Claim, fact: Fact): boolean {
  if (kind !== fact.kind || !fact.subjects.some((one) => sameText(one, subject))) return false;
  const has = (values: string[], value: string | undefined) =>
    value === undefined || (fact.text === undefined ? values.some((one) => sameText(one, value)) : says(fact.text, value));
  if (!has(fact.from, from) || !has(fact.to, to)) return false;
  // What happens no time is claimed as such, or not at all.
  return (
    (count === undefined ? fact.count !== 0 : count === fact.count) &&
    (amount === undefined || (fact.amount !== undefined && sameText(amount, fact.amount)))
  );
}

/** Kinds that say the same of a change as a kind of widening, in other words. */
const LIKE: Partial<Record<ClaimKind, readonly string[]>> = {
  rule: ["policy", "review", "setting", "tool"],
  threshold: ["policy", "review", "setting", "gate"],
  tool_added: ["tool"],
  calls_changed: ["tool"],
  notices_changed: ["recipient"],
};

/** A word that tells something: not "is" or "in". */
const TELLING = /\d|\p{Lu}|\w{4}/u;

/** True where a claim that is so names this widening: by its kind, or as the rule or setting it comes from, and by a value of it. */
function covers(claim: Claim, facts: readonly Fact[], { kind, text, file }: { kind: string; text: string; file: string }): boolean {
  if (claim.kind !== kind && LIKE[claim.kind]?.includes(kind) !== true) return false;
  if (!facts.some((fact) => fact.file === file && (fact.text === undefined || fact.text === text))) return false;
  return [claim.from, claim.to].some((one) => one !== undefined && TELLING.test(one) && says(text, one));
}

function wrongClaim(claim: Claim, facts: readonly Fact[], { paths }: Judged): Found {
  const alike = facts.filter(({ kind }) => kind === claim.kind);
  const near = alike.filter(({ subjects }) => subjects.some((one) => sameText(one, claim.subject)));
  const told = (near.length > 0 ? near : alike).slice(0, LISTED).map(factWords);
  const file = paths.find((path) => path === claim.subject || nameOf(path) === claim.subject) ?? paths[0] ?? "";
  return {
    code: "CLAIM_WRONG",
    at: { file },
    message: `The claim ${oneLine(JSON.stringify(claim), 400)} is not so. ${told.length === 0 ? `Nothing of the kind "${claim.kind}" changes.` : `What changes of this kind: ${told.join("; ")}.`}`,
  };
}

function factWords({ subjects, from, to, count, amount, text }: Fact): string {
  if (text !== undefined) return oneLine(text, 200).replace(/[‹›]/g, "");
  const value = (all: string[]) => oneLine(all.slice(0, 3).join(" / "), 80);
  const way = from.length + to.length === 0 ? "" : `: ${value(from) || "nothing"} -> ${value(to) || "nothing"}`;
  return `${subjects.at(-1)}${way}${count === undefined ? "" : `, count ${count}`}${amount === undefined ? "" : `, amount ${amount}`}`;
}

/** Files that the claims do not name, and changes of recorded runs; what follows from a named file is named with it. */
function othersThan(facts: readonly Fact[], named: ReadonlySet<Fact>, { paths, backtests }: Judged): Found[] {
  const files = new Set([...named].map(({ file }) => file));
  const found = (file: string, what: string): Found => ({
    code: "CLAIM_WRONG",
    at: { file },
    message: `The claim "nothing_else" is not so: ${what}.`,
  });
  const runs = facts.filter((fact) => /^(?:entries|calls|notices)_changed$/.test(fact.kind) && (fact.count ?? 0) > 0);
  const claimed = (fact: Fact) => [...named].some((one) => one.kind === fact.kind && one.file === fact.file);
  return [
    ...paths.filter((path) => !files.has(path)).map((path) => found(path, `${path} changes, and no claim names it`)),
    ...(backtests.length === 0 ? [] : runs.filter((fact) => !claimed(fact)).slice(0, LISTED)).map((fact) =>
      found(fact.file, `${fact.kind}: ${factWords(fact)}, and no claim says so`),
    ),
  ];
}

/** Lines that are new or gone where nothing that was claimed stands: of files that are there before and after. */
async function linesBeside({ base, tree, paths }: Judged, named: ReadonlySet<Fact>): Promise<number> {
  let count = 0;
  for (const path of paths) {
    const [was, now] = [await base.read(path), await tree.read(path)];
    const own = [...named].filter(({ file }) => file === path);
    if (was === null || now === null) {
      if (own.length === 0) count += (was ?? now ?? "").split("\n").length;
      continue;
    }
    const places = own.flatMap(({ lines }) => lines);
    const rest = was.split("\n");
    let fresh = 0;
    for (const [i, line] of now.split("\n").entries()) {
      const known = rest.indexOf(line);
      if (known >= 0) rest.splice(known, 1);
      else if (line.trim() !== "") {
        fresh++;
        if (!places.includes(i + 1)) count++;
      }
    }
    // A line that is written differently is gone as well: it is counted once. What a claim says is gone stands on no line.
    const gone = rest.filter((line) => line.trim() !== "").length;
    count += Math.max(0, gone - fresh - places.filter((line) => line === 0).length);
  }
  return count;
}
