/**
 * What a proposer says of a change, compared with what is computed: a claim that is not so blocks the change, and so does a widening that no
 * claim names. Free text cannot be compared with a change, so claims are data.
 */
import { compareDecimals } from "../../rules/policy/values.ts";
import { plainDecimal } from "../../kernel/money.ts";
import { oneLine } from "../../kernel/text.ts";
import type { Found } from "../checks/findings.ts";
import type { Looked } from "../checks/pipeline.ts";
import type { Around } from "../widening/program.ts";
import { type Fact, type Judged, factsOf, nameOf } from "./claim-facts.ts";
import type { AskedFor, Claim, ClaimKind } from "../proposal-types.ts";

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
    // One line may tell of several rights: each is named.
    const rights = facts.filter(
      (fact) => kind === "capability" && fact.kind === kind && fact.file === file && fact.to.some((one) => holds(text, one)),
    );
    if (rights.every((one) => named.has(one)) && plain.some((claim) => covers(claim, proven.get(claim) ?? [], { kind, text, file })))
      return [];
    const message = `It widens something that no claim names: ${oneLine(text, 300).replace(/[‹›]/g, "")}. Claim it as kind "${kind}" with subject "${nameOf(file)}" and a value of it as "to", or leave it out.`;
    return [{ code: "CLAIM_MISSING", at: at ?? { file }, message }];
  });
  const beside = await linesBeside(judged, named);
  const rest = claims.some(({ kind }) => kind === "nothing_else") ? othersThan(facts, named, judged, beside) : [];
  const says = `${plain.length} ${plain.length === 1 ? "claim" : "claims"}, ${plain.length - wrong.length} true; ${beside === 0 ? "no line" : `${beside} ${beside === 1 ? "line" : "lines"}`} changed beside ${plain.length === 1 ? "it" : "them"}`;
  return { says, findings: [...wrong, ...unnamed, ...rest] };
}

const plainText = (text: string): string => text.trim().replace(/\s+/g, " ").toLowerCase();
const sameText = (a: string, b: string): boolean => {
  if (plainText(a) === plainText(b)) return true;
  const [x, y] = [plainDecimal(a), plainDecimal(b)];
  return x !== null && y !== null && compareDecimals(x, y) === 0;
};
/** The words of a text that stand for themselves: a value is not part of a longer one. */
const holds = (text: string, value: string): boolean =>
  value.trim() !== "" && new RegExp(`(?<![\\w.])${RegExp.escape(value.trim())}(?![\\w]|\\.\\d)`, "i").test(text);

function isSo({ kind, subject, from, to, count, amount }: Claim, fact: Fact): boolean {
  if (kind !== fact.kind || !fact.subjects.some((one) => sameText(one, subject))) return false;
  const has = (values: string[], value: string | undefined) =>
    value === undefined || (fact.text === undefined ? values.some((one) => sameText(one, value)) : holds(fact.text, value));
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
  return [claim.from, claim.to].some((one) => one !== undefined && TELLING.test(one) && holds(text, one));
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

/** Files and lines that no claim names, and changes of recorded runs. */
function othersThan(facts: readonly Fact[], named: ReadonlySet<Fact>, { paths }: Judged, beside: number): Found[] {
  const files = new Set([...named].map(({ file }) => file));
  const found = (file: string, what: string): Found => ({
    ...{ code: "CLAIM_WRONG", at: { file } },
    message: `The claim "nothing_else" is not so: ${what}.`,
  });
  const runs = facts.filter((fact) => /^(?:entries|calls|notices)_changed$/.test(fact.kind) && (fact.count ?? 0) > 0);
  const claimed = (fact: Fact) => [...named].some((one) => one.kind === fact.kind && one.file === fact.file);
  const left = paths.filter((path) => !files.has(path));
  const lines = beside === 0 || left.length > 0 ? [] : [found(paths[0] ?? "", `${beside} changed lines are not what a claim names`)];
  return [
    ...left.map((path) => found(path, `${path} changes, and no claim names it`)),
    ...lines,
    ...runs
      .filter((fact) => !claimed(fact))
      .slice(0, LISTED)
      .map((fact) => found(fact.file, `${fact.kind}: ${factWords(fact)}, and no claim says so`)),
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
