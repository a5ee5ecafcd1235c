/**
 * Who may decide a proposal, and what is decided: the signed question names one content commit, and an approval is valid as long as the
 * report it was given on. Reports and states may come from another clone; only those made here are trusted.
 */
import { notAlone } from "../../engine/authority.ts";
import { factsNamed, getFact, setFact } from "../../engine/store/facts.ts";
import type { Database } from "../../engine/store/database.ts";
import { canonicalHash } from "../../kernel/canonical.ts";
import { asCode } from "../../kernel/text.ts";
import { compareDecimals } from "../../rules/policy/values.ts";
import type { Card, CardDraft, Decision } from "../../kernel/ports.ts";
import { partings } from "../evidence/partings.ts";
import type { BacktestReport } from "../evidence/types.ts";
import type { Proposal, Report } from "../proposal-types.ts";

/** Signed with the answer, so that an approval cannot be moved to other content. */
export function gateOf({ id, commit }: Pick<Proposal, "id" | "commit">): string {
  return `proposal/${id}/${commit}`;
}

/**
 * The question as the rules of cards see it (engine/authority.ts, engine/approval.ts). `people`: number of people in trust.yaml; `now`: what
 * trust.yaml requires for the same change today, in addition to the report.
 */
export function questionOf(
  proposal: Omit<Proposal, "number">,
  people: number,
  now?: Pick<Report, "level" | "levels" | "approvals">,
): CardDraft {
  const { title, by, starter, author = starter ?? by, report } = proposal;
  const levels = [...new Set([...(report?.levels ?? []), ...(now?.levels ?? [])])];
  const approvals = Math.max(report?.approvals ?? 1, now?.approvals ?? 1);
  return {
    kind: "proposal",
    title,
    body: null,
    run: "proposal",
    gate: gateOf(proposal).slice("proposal/".length),
    calls: [],
    level: report?.level ?? now?.level ?? null,
    ...(levels.length === 0 ? {} : { levels }),
    approvals,
    expires: null,
    // DESIGN.md ruling 15: proposers may approve only if they are the only person; a proposal made in a run belongs to whoever started the run.
    ...(people > 1 ? notAlone(author, approvals) : {}),
  };
}

/** Decisions that count: those given on this report, and the last one by its signature, because its author's clock may be behind. */
export function countedOf({ decisions }: Proposal, since: number, last: string, just: Decision | null = null): Decision[] {
  const kept = decisions.filter((one) => one.at >= since || one.signature === last);
  return just === null || kept.some((one) => one.signature === last) ? kept : [...kept, just];
}

/** The approval of a proposal: decisions since the time of the report (ms), and the last one. */
export interface Approval {
  since: number;
  /** Its signature. */
  last: string;
}

/** Why an approval of `was` does not extend to `now`, the report made by today's code; null if nothing relevant has changed. */
export function differenceThatMatters(was: Report, now: Report): string | null {
  const wider = now.widening.find(({ text }) => !was.widening.some((one) => one.text === text));
  if (wider !== undefined) return `it now also widens: ${asCode(wider.text)}`;
  const other = now.changes?.find(({ text }) => was.changes?.some((one) => one.text === text) !== true);
  if (other !== undefined) return `it now also changes: ${asCode(other.text)}`;
  for (const test of now.backtests) {
    const old = was.backtests.find(({ agent }) => agent === test.agent);
    for (const kind of ["worse", "failed"] as const)
      if (test.counts[kind] > (old?.counts[kind] ?? 0)) return `${test.counts[kind]} recorded runs of ${test.agent} now come out ${kind}`;
    for (const move of test.moves) {
      const { from, to, currency, amount } = move;
      const known = old?.moves.find((one) => one.from === from && one.to === to && one.currency === currency);
      const way = from === "" ? `are new on ${to}` : to === "" ? `are gone from ${from}` : `move from ${from} to ${to}`;
      if (known === undefined) return `entries of ${test.agent} now ${way}`;
      if (compareDecimals(amount, known.amount) > 0) return `${amount} ${currency} now ${way}, not ${known.amount}`;
    }
    const outside = outsideOf(test).find((one) => !outsideOf(old).includes(one));
    const other = outside ?? restOf(test).find((one) => !restOf(old).includes(one));
    if (other !== undefined) return `recorded runs of ${test.agent} now differ in ${asCode(other)}`;
  }
  const doubt = now.unproven?.find((one) => was.unproven?.includes(one) !== true);
  if (doubt !== undefined) return doubt;
  const failed = now.cases.failed.find((one) => !was.cases.failed.includes(one));
  if (failed !== undefined) return `the case ${failed} now fails`;
  const level = [...now.levels, now.level ?? ""].find((one) => one !== "" && one !== was.level && !was.levels.includes(one));
  if (level !== undefined) return `it now asks for ${level}`;
  return now.approvals > was.approvals ? `it now asks for ${now.approvals} people` : null;
}

/** Differences outside of the books and in facts given to policies: sums as shown, without the number of runs. */
function outsideOf({ acts = [], facts = [] }: Partial<BacktestReport> = {}): string[] {
  return [
    ...acts.flatMap(({ kind, what, was, now, fields }) => {
      const name = `${kind} ${what}`.trim();
      const more = was.sum === now.sum ? [] : [`${name}: ${now.sum ?? "none"} in all, not ${was.sum ?? "none"}`];
      return [name, ...more, ...fields.map(({ key, to }) => `${name}: ${key}${to === undefined ? "" : ` to ${to}`}`)];
    }),
    ...facts.map(({ name }) => `the fact ${name}`),
  ];
}

/** The remaining differences, by content: fields of entries without money, files, ends and results. */
function restOf({ differences = [] }: Partial<BacktestReport> = {}): string[] {
  return differences.flatMap(({ entries, files = [], why }) => [
    ...entries
      .flatMap(({ was, now }) => (was === null || now === null ? [] : [...partings({ ...was, legs: [] }, { ...now, legs: [] })]))
      .map(({ key }) => `the ${key} of entries`),
    // Days, sums and names differ in every file.
    ...files.flatMap(({ kind, says }) =>
      says.map((line) => `a ${kind}: ${line.replace(/ \(.*\)$|: ".*$/s, "").replace(/\d[\d.,]*/g, "some")}`),
    ),
    ...why.flatMap((line) => /^(?:ends as .*|verdict.*|result: [^ "]+)/.exec(line)?.[0] ?? []),
  ]);
}

const reportFact = (id: string): string => `proposal report ${id}`;
const APPROVED = "proposal approved ";

/**
 * Records that this workspace made the report of a proposal that may be decided; null: its last report does not allow approval. The whole
 * report is compared: another clone could put other words, levels and checks under the same commit and time.
 */
export function rememberReport(database: Database, id: string, report: Report | null): void {
  setFact(database, reportFact(id), report === null ? "" : canonicalHash(report));
}

export function isOwnReport(database: Database, { id, report }: Pick<Proposal, "id" | "report">): boolean {
  return report !== null && getFact(database, reportFact(id)) === canonicalHash(report);
}

/** Durable before the state says approved: a proposal is applied only where it was approved, or two clones would both do it. */
export function rememberApproval(database: Database, { id, commit }: Proposal, { since, last }: Approval): void {
  setFact(database, `${APPROVED}${id}`, `${commit} ${since} ${last}`);
}

/** Called when the commit is made, or never will be. */
export function forgetApproval(database: Database, { id }: Proposal): void {
  setFact(database, `${APPROVED}${id}`, "");
}

/** Proposals approved here whose commit may be missing, by id; reads only the store. */
export function approvalsHere(database: Database): Map<string, Approval & { commit: string }> {
  const approved = factsNamed(database, APPROVED).filter(({ value }) => value !== "");
  return new Map(
    approved.map(({ name, value }) => {
      const [commit = "", since, last = ""] = value.split(" ");
      return [name.slice(APPROVED.length), { commit, since: Number(since), last }];
    }),
  );
}

/** The earlier decision that a second person is shown: by whom, and when. Null if there is none. */
export function lastWord(proposal: Proposal, card: Pick<Card, "id">): Decision | null {
  const said = proposal.state === "rejected" ? "rejected" : "approved";
  if (!["approved", "applied", "reverted", "rejected"].includes(proposal.state)) return null;
  const last = proposal.decisions.findLast(({ decision }) => (decision === "rejected") === (said === "rejected"));
  return { ...(last ?? { decision: said, by: "plain git", at: proposal.at }), card: card.id };
}
