/**
 * Compares the proposer's claims about a change with its computed effects: a false claim blocks the change, and so does a widened right that
 * no claim names. Free text cannot be compared, so claims are data.
 */
import { compareDecimals } from "../../rules/policy/values.ts";
import { plainDecimal } from "../../kernel/money.ts";
import { oneLine } from "../../kernel/text.ts";
import { AGENTS } from "../../workspace/layout.ts";
import type { Found, Looked } from "../checks/findings.ts";
import type { Around } from "../widening/program.ts";
import { type Fact, type Judged, factsOf, nameOf } from "./claim-facts.ts";
import type { AskedFor, Claim, ClaimKind } from "../proposal-types.ts";

// A model does not repair more when it is told more.
const LISTED = 6;

export async function claimsLooked({ claims }: AskedFor, judged: Judged, around: Around): Promise<Looked> {
  const facts = await factsOf(judged, around);
  const plain = claims.filter(({ kind }) => kind !== "nothing_else");
  const proven = new Map(plain.map((claim) => [claim, facts.filter((fact) => isSo(claim, fact))]));
  // A claim names one thing: one that fits several, such as a file name, names none of them.
  const isOne = (all: Fact[]) => new Set(all.filter(isValue).map(asOne)).size <= 1;
  const named = new Set([...proven.values()].flatMap((all) => (isOne(all) ? all : all.filter((one) => !isValue(one)))));
  const wrong = plain.filter((claim) => proven.get(claim)?.length === 0).map((claim) => wrongClaim(claim, facts, judged));
  const unnamed = judged.changed.widening.flatMap(({ kind, text, at }): Found[] => {
    const file = at?.file ?? "";
    // One line may report several rights; each must be named.
    const rights = facts.filter(
      (fact) => kind === "capability" && fact.kind === kind && fact.file === file && fact.to.some((one) => holds(text, one)),
    );
    if (rights.every((one) => named.has(one)) && plain.some((claim) => covers(claim, proven.get(claim) ?? [], { kind, text, file })))
      return [];
    const how = claimsFor({ kind, text, file }, rights, facts);
    const message = `It widens something that no claim names: ${oneLine(text, 300).replace(/[‹›]/g, "")}. Claim it as ${how}, or leave it out.`;
    return [{ code: "CLAIM_MISSING", at: at ?? { file }, message }];
  });
  const beside = await linesBeside(judged, named);
  const others = unnamedOf(facts, named);
  const rest = claims.some(({ kind }) => kind === "nothing_else") ? othersThan(facts, named, judged, beside, others) : [];
  const isTrue = new Set([...proven.values()].flatMap((all) => all.map((one) => facts.indexOf(one)).join() || [])).size;
  const all = isTrue + wrong.length;
  const more = others.length === 0 ? "" : `; ${others.length} not claimed: ${oneLine(others.map(factWords).join("; "), 300)}`;
  const says = `${all} ${all === 1 ? "claim" : "claims"}, ${isTrue} true; ${beside === 0 ? "no line" : `${beside} ${beside === 1 ? "line" : "lines"}`} changed beside ${all === 1 ? "it" : "them"}${more}`;
  return { says, findings: [...wrong, ...unnamed, ...rest] };
}

const plainText = (text: string): string => text.trim().replace(/\s+/g, " ").toLowerCase();
const sameText = (a: string, b: string): boolean => {
  if (plainText(a) === plainText(b)) return true;
  const [x, y] = [plainDecimal(a), plainDecimal(b)];
  return x !== null && y !== null && compareDecimals(x, y) === 0;
};
/** True if the text contains the value as a word of its own, not inside a longer one. */
const holds = (text: string, value: string): boolean =>
  value.trim() !== "" && new RegExp(`(?<![\\w.])${RegExp.escape(value.trim())}(?![\\w]|\\.\\d)`, "i").test(text);

/** A changed value, as opposed to a sentence about one. */
const isValue = ({ kind, text }: Fact): boolean => text === undefined && /^(?:rule|threshold|schedule|trigger|capability)$/.test(kind);
const asOne = ({ file, from, to, lines }: Fact): string => JSON.stringify([file, from, to, lines]);

/** A new file, claimed as such: the other facts of a policy are sentences. */
const isWhole = ({ kind, text }: Fact): boolean =>
  /^(?:agent|tool)_(?:added|removed)$/.test(kind) || (kind === "policy" && text === undefined);

/** Values that no claim names, directly or in a sentence about them. Claiming a new file claims all of it. */
function unnamedOf(facts: readonly Fact[], named: ReadonlySet<Fact>): Fact[] {
  const tells = ({ text = "", lines }: Fact, fact: Fact) =>
    lines.some((line) => fact.lines.includes(line)) &&
    [fact.from, fact.to].every((values) => values.length === 0 || values.some((one) => holds(text, one)));
  const names = (one: Fact, fact: Fact) => isWhole(one) || asOne(one) === asOne(fact) || tells(one, fact);
  return facts.filter((fact) => isValue(fact) && ![...named].some((one) => one.file === fact.file && names(one, fact)));
}

/** Where a sentence separates the new value from the old. */
const PARTS = / instead of |[;,] before[:,] |; it was /;
const MARKED = /"[^"]*"|‹[^›]*›|\([^)]*\)|(?<=\b(?:is|to|uses?|emits|calls|by|for|in|the|on) )\S+/g;
/** True for a value within a sentence: quoted, or not an ordinary word of it. */
const marks = (text: string, value: string): boolean =>
  holds(text, value) && (/[\d"_/@.:]|\p{Lu}/u.test(value) || [...text.matchAll(MARKED)].some(([one]) => holds(one, value)));

function isSo({ kind, subject, from, to, count, amount }: Claim, fact: Fact): boolean {
  if (kind !== fact.kind || subject.trim() === "" || !fact.subjects.some((one) => sameText(one, subject))) return false;
  // The agent's name at the start of a line is not a value.
  const [now, was = now] = fact.text?.replace(/^[^:"‹]*: /, (name) => (fact.file.startsWith(AGENTS) ? "" : name)).split(PARTS) ?? [];
  const has = (values: string[], side: string | undefined, value: string | undefined) =>
    value === undefined || (side === undefined ? values.some((one) => sameText(one, value)) : marks(side, value));
  if (!has(fact.from, was, from) || !has(fact.to, now, to)) return false;
  // Something that no longer happens can only be claimed as such.
  return (
    (count === undefined ? fact.count !== 0 : count === fact.count) &&
    (amount === undefined || (fact.amount !== undefined && sameText(amount, fact.amount)))
  );
}

/** Kinds of claims that express the same as a kind of widening. */
const LIKE: Partial<Record<ClaimKind, readonly string[]>> = {
  rule: ["policy", "review", "setting", "tool"],
  threshold: ["policy", "review", "setting", "gate"],
  tool_added: ["tool"],
  calls_changed: ["tool"],
  notices_changed: ["recipient"],
};

/** A word with content: not "is" or "in". */
const TELLING = /\d|\p{Lu}|\w{4}/u;

/** True if a correct claim names this widening: by its kind, or as the rule or setting it comes from, with one of its values. */
function covers(claim: Claim, facts: readonly Fact[], { kind, text, file }: { kind: string; text: string; file: string }): boolean {
  if (claim.kind !== kind && LIKE[claim.kind]?.includes(kind) !== true) return false;
  if (!facts.some((fact) => fact.file === file && (fact.text === undefined || fact.text === text))) return false;
  return [claim.from, claim.to].some((one) => one !== undefined && TELLING.test(one) && holds(text, one));
}

/** Claims that would name a widening, by its quoted values first, then by ordinary words; if there are none, by its parts. */
function claimsFor(widening: { kind: string; text: string; file: string }, rights: readonly Fact[], facts: readonly Fact[]): string {
  const own = { kind: widening.kind as ClaimKind, subject: nameOf(widening.file) };
  // Something removed has only an old value.
  const ways = (one: string): Claim[] => [
    { ...own, to: one },
    { ...own, from: one },
  ];
  const isSaid = (one: Claim, fact: Fact) => isSo(one, fact) && covers(one, [fact], widening);
  const marked = [...widening.text.matchAll(MARKED)].map(([one]) => one).sort((a, b) => Number(/^\w/.test(a)) - Number(/^\w/.test(b)));
  const words = marked.map((one) => one.replace(/^["‹(]|["›),.;:]+$/g, ""));
  const would = words.flatMap(ways).find((one) => facts.some((fact) => isSaid(one, fact)));
  const named = rights.length > 0 ? rights.flatMap(({ to }) => to.slice(0, 1).map((one) => ({ ...own, to: one }))) : would ? [would] : [];
  if (named.length > 0) return named.map((one) => JSON.stringify(one)).join(", ");
  return `kind "${widening.kind}" with subject "${nameOf(widening.file)}" and a value of it as "to"`;
}

function wrongClaim(claim: Claim, facts: readonly Fact[], { paths }: Judged): Found {
  const alike = facts.filter(({ kind }) => kind === claim.kind);
  const near = alike.filter(({ subjects }) => subjects.some((one) => sameText(one, claim.subject)));
  const told = (near.length > 0 ? near : alike).slice(0, LISTED).map(factWords);
  const file = paths.find((path) => path === claim.subject || nameOf(path) === claim.subject) ?? paths[0] ?? "";
  return {
    code: "CLAIM_WRONG",
    at: { file },
    message: `The claim ${oneLine(JSON.stringify(claim), 400)} is not true. ${told.length === 0 ? `Nothing of the kind "${claim.kind}" changes.` : `What changes of this kind: ${told.join("; ")}.`}`,
  };
}

function factWords({ subjects, from, to, count, amount, text }: Fact): string {
  if (text !== undefined) return oneLine(text, 200).replace(/[‹›]/g, "");
  const value = (all: string[]) => oneLine(all.slice(0, 3).join(" / "), 80);
  const way = from.length + to.length === 0 ? "" : `: ${value(from) || "nothing"} -> ${value(to) || "nothing"}`;
  return `${subjects.at(-1)}${way}${count === undefined ? "" : `, count ${count}`}${amount === undefined ? "" : `, amount ${amount}`}`;
}

/** Files and lines that no claim names, and changed results of recorded runs. */
function othersThan(facts: readonly Fact[], named: ReadonlySet<Fact>, { paths }: Judged, beside: number, others: Fact[]): Found[] {
  const files = new Set([...named].flatMap(({ count, file }) => (count === undefined ? [file] : [])));
  const runs = facts.filter((fact) => /^(?:entries|calls|notices)_changed$/.test(fact.kind) && (fact.count ?? 0) > 0);
  const claimed = (fact: Fact) => [...named].some((one) => one.kind === fact.kind && one.file === fact.file);
  const left = paths.filter((path) => !files.has(path));
  const said = [
    ...left.map((path) => `${path} changes`),
    ...(beside === 0 || left.length > 0 ? [] : [`${beside} changed ${beside === 1 ? "line is" : "lines are"} not what a claim names`]),
    ...others.slice(0, LISTED).map(factWords),
    ...runs
      .filter((fact) => !claimed(fact))
      .slice(0, LISTED)
      .map((fact) => `${fact.kind}: ${factWords(fact)}`),
  ];
  if (said.length === 0) return [];
  const message = `The claim "nothing_else" is not true, no claim names these: ${said.join("; ")}. Claim them, or leave nothing_else out.`;
  return [{ code: "CLAIM_WRONG", at: { file: left[0] ?? others[0]?.file ?? paths[0] ?? "" }, message }];
}

/** Number of new or removed lines, in order, that belong to nothing claimed; a rewritten line counts once. */
async function linesBeside({ base, tree, paths }: Judged, named: ReadonlySet<Fact>): Promise<number> {
  let count = 0;
  for (const path of paths) {
    const [was, now] = [await base.read(path), await tree.read(path)];
    const own = [...named].filter(({ file }) => file === path);
    if ((was === null || now === null) && own.some(isWhole)) continue;
    const [places, stood] = [own.flatMap(({ lines }) => lines), own.flatMap(({ gone }) => gone ?? [])];
    const known = own.flatMap(({ gone, lines }) => (gone === undefined ? [] : lines));
    for (const { gone, fresh } of blocksOf((was ?? "").split("\n"), (now ?? "").split("\n"))) {
      // Where the old counterpart of a line is unknown, it counts with its neighbors.
      const unsure = fresh.filter((line) => places.includes(line) && !known.includes(line)).length;
      const left = gone.filter((line) => !stood.includes(line)).length - unsure;
      count += Math.max(fresh.filter((line) => !places.includes(line)).length, left);
    }
  }
  return count;
}

/** Numbers of the lines outside of the longest common subsequence of two texts, block by block, without blank lines. */
function blocksOf(was: readonly string[], now: readonly string[]): { gone: number[]; fresh: number[] }[] {
  const known = was.length * now.length <= 16_000_000; // beyond that size nobody claims line by line
  const common = known ? was.map(() => new Uint16Array(now.length + 1)) : [];
  const at = (i: number, j: number) => common[i]?.[j] ?? 0;
  for (const [i, row] of [...common.entries()].reverse())
    for (let j = now.length - 1; j >= 0; j--) row[j] = was[i] === now[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const blocks = [{ gone: [] as number[], fresh: [] as number[] }];
  for (let [i, j] = [0, 0]; i < was.length || j < now.length; ) {
    if (known && was[i] === now[j]) {
      blocks.push({ gone: [], fresh: [] });
      [i, j] = [i + 1, j + 1];
    } else if (j < now.length && (i === was.length || at(i, j + 1) >= at(i + 1, j))) {
      if (now[j++]?.trim() !== "") blocks.at(-1)?.fresh.push(j);
    } else if (was[i++]?.trim() !== "") blocks.at(-1)?.gone.push(i);
  }
  return blocks;
}
