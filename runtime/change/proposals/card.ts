/**
 * The card of a proposal as data, for a reader who never sees code: what changes, the money, what cannot be proved, what it may do in addition,
 * who must approve; everything else is detail. Terminal and page print the same. Made from facts only: the report, and what the proposer said,
 * which is quoted. A line of the card is one line, whatever a title, a reason or a message contains.
 */
import { readableHeader } from "../checks/reached.ts";
import { changeOf, harmOf, isAnswer, moneyLines } from "../evidence/words.ts";
import type { Tree } from "../../kernel/ports.ts";
import { oneLine, upTo } from "../../kernel/text.ts";
import { AGENTS, agentFile } from "../../workspace/layout.ts";
import { type CardAround, type CardPart, checkName, count, detailsOf, listed, nameIn, quoted, inWords } from "./card-details.ts";
import { ASKING } from "./store.ts";
import {
  type ChangeKind,
  type CheckResult,
  GRAVE,
  type Proposal,
  type ProposedFile,
  type Report,
  type TextChange,
} from "../proposal-types.ts";

export interface ProposalCard {
  /** What changes in the business, or why it is stopped. */
  headline: string;
  /** What else a person reads before they decide, in order; empty parts are omitted. */
  parts: CardPart[];
  details: CardPart[];
}

/** The sentence for a failed check that stops a proposal, for a reader who does not program. */
const STOPS: Partial<Record<CheckResult["check"], string>> = {
  paths: "it changes a file that proposals may not change",
  config: "config.yaml has an error",
  header: "an agent's header has an error",
  lint: "a script has an error",
  types: "a script has an error",
  capabilities: "a script uses something its header does not allow",
  states: "a script acts in a state that does not allow it",
  policies: "a policy's own test case fails",
  importers: "a dialect has an error",
  tools: "a tool of the workspace has an error",
  dry_run: "it fails when it is tried",
  invariants: "the books would be wrong",
  claims: "a claim about it is not true",
};

/** Checks that execute scripts. */
const TRIED = new Set<CheckResult["check"]>(["dry_run", "invariants", "cases", "backtest"]);

// What a person reads at once; the details have the rest.
const SHOWN = 6;
// Most lines about additional rights, if all of them are grave.
const MOST = 30;
// Room for two formulas and what they decide.
const LINE = 500;

/** Names of the agents a change touches, by path, for `Report.names`; none for a header that cannot be parsed. */
export async function namesOf(files: readonly ProposedFile[], base: Tree, tree: Tree): Promise<Record<string, string>> {
  const names: Record<string, string> = {};
  for (const { path } of files.filter((one) => one.path.startsWith(AGENTS))) {
    // The old name: a new one could say anything.
    const header = readableHeader((await base.read(path)) ?? (await tree.read(path)) ?? "", path);
    if (header !== null) names[path] = header.name;
  }
  return names;
}

/** The card, as both surfaces print it. */
export function cardOf(proposal: Proposal, around: CardAround = {}): ProposalCard {
  const { report } = proposal;
  const [headline = "", ...also] = changed(proposal);
  const widened = (report?.widening ?? []).filter((one) => !isDoubt(one)).map(({ text }) => oneLine(text, LINE));
  // Each line is shown once: in the headline, else where it matters most.
  const said = new Set([headline]);
  const once = (lines: readonly string[]) => lines.filter((line) => !said.has(line) && said.add(line)).map(inWords);
  const [more, doubtful] = [once(widened), once(doubts(proposal))];
  const grave = report?.widening.filter(({ kind }) => GRAVE.includes(kind)).length ?? 0;
  const parts: CardPart[] = [
    { name: "Also", lines: upTo(once(also), SHOWN) },
    { name: "Money", lines: report?.backtests.flatMap(moneyLines) ?? [] },
    { name: "Not proven", lines: upTo(doubtful, SHOWN) },
    { name: "May do more", lines: upTo(more, Math.max(SHOWN, Math.min(grave, MOST))) },
    ...askedParts(proposal),
    { name: "Needs", lines: needs(proposal) },
  ];
  return {
    headline: inWords(oneLine(headline, LINE)),
    parts: parts.filter(({ lines }) => lines.length > 0),
    details: detailsOf(proposal, around).filter(({ lines }) => lines.length > 0),
  };
}

/** For a change that a model wrote: how its claims compare with the facts, what it had read, and last its own words. */
function askedParts({ asked = null, report }: Proposal): CardPart[] {
  if (asked === null) return [];
  const claims = report?.checks.find(({ check }) => check === "claims");
  const { request, model, says, outside, derived = [] } = asked;
  const shown = (all: readonly string[], most: number) => upTo(all, SHOWN).map((one) => oneLine(one, most));
  return [
    { name: "Written by", lines: [`${oneLine(model, 100)}, for request ${request}${claims === undefined ? "" : `: ${claims.says}`}`] },
    { name: "Read text from outside", lines: shown(outside, 120) },
    { name: "Computed twice", lines: shown(derived, 300) },
    { name: "The proposer says", lines: says === "" ? [] : [quoted(says, 600)] },
  ];
}

/** A file as a reader calls it who never looks into folders: `Refund a customer`, `the policy customer_refund`. */
function fileWords(path: string, report: Report): string {
  const [, folder = "", name = ""] = /^(scripts|policies|importers|cases)\/(.*)\.(?:ts|yaml)$/.exec(path) ?? [];
  const what = { scripts: "the script", policies: "the policy", importers: "the dialect", cases: "the case" }[folder];
  return what === undefined ? oneLine(report.names?.[path] ?? path, 100) : `${what} ${name}`;
}

/** What changes, gravest first: in the recorded runs, else in the files. */
function changed(proposal: Proposal): string[] {
  const { report, files } = proposal;
  if (report === null)
    return [proposal.state === "blocked" ? `Stopped: ${stopOf(proposal)}` : `Not checked yet: ${quoted(proposal.title, 200)}`];
  const stop = proposal.state === "blocked" ? [`Stopped: ${stopOf(proposal)}`] : [];
  const runs = report.backtests.flatMap((one) => changeOf(one, nameIn(report, one.agent)));
  const verbs = { added: "Adds", removed: "Removes" } as const;
  const named = (change: keyof typeof verbs) => files.filter((one) => one.change === change).map(({ path }) => fileWords(path, report));
  const whole = (["added", "removed"] as const).flatMap((change) =>
    named(change).length === 0 ? [] : [`${verbs[change]} ${listed(named(change))}`],
  );
  const told = [...(report.changes ?? [])]
    .filter(({ kind }) => TOLD.includes(kind))
    .sort((a, b) => TOLD.indexOf(a.kind) - TOLD.indexOf(b.kind));
  const texts = told.map(({ text }) => oneLine(text, LINE));
  const same = report.backtests.filter(({ runs: all, counts }) => all > 0 && counts.same === all);
  const nothing = same.map((one) => `${nameIn(report, one.agent)} (${count(one.runs, "run")})`);
  const open = proposal.state === "unproven" ? (report.unproven ?? []).slice(0, 1) : [];
  // Something worse that may still be approved must not be hidden among other lines.
  const harm = proposal.state === "blocked" ? [] : report.backtests.flatMap((one) => harmOf(one, nameIn(report, one.agent)));
  const mended = report.mended ?? [];
  const good = mended.length === 0 ? [] : [`${count(mended.length, "run")} that failed would succeed (${upTo(mended, 3).join(", ")})`];
  const [answers, does] = [runs.filter(isAnswer), runs.filter((one) => !isAnswer(one))];
  const worse = harm.map((one) => `Worse on purpose: ${one}`);
  const first = [...stop, ...good, ...worse, ...open, ...does, ...whole, ...texts, ...answers];
  const widens = first.length > 0 ? [] : report.widening.slice(0, 1).map(({ text }) => oneLine(text, LINE));
  const written = (report.changes ?? []).flatMap(({ kind, text }) => (kind === "code" ? [oneLine(text)] : []));
  const rest = [...(nothing.length === 0 ? [] : [`Nothing changes in the recorded runs of ${listed(nothing)}`]), ...written];
  return first.length + widens.length + rest.length > 0
    ? [...first, ...widens, ...rest]
    : [`Changes ${listed(files.map(({ path }) => path))}`];
}

/** Kinds of changes that a bookkeeper asks about, in this order. */
const TOLD: readonly ChangeKind[] = [
  "account",
  "recipient",
  "rate",
  "review",
  "gate",
  "policy",
  "case",
  "tool",
  "host",
  "setting",
  "schedule",
  "trigger",
  "condition",
  "header",
  "value",
];

/** Why nobody may approve it, in one sentence. */
export function stopOf({ report, why }: Proposal): string {
  const failed = report?.checks.filter(({ status }) => status === "failed") ?? [];
  const harm = report?.backtests.flatMap((one) => harmOf(one, nameIn(report, one.agent))) ?? [];
  const [first] = failed;
  // The backtest of a broken script says nothing.
  if (harm[0] !== undefined && failed.every(({ check }) => TRIED.has(check))) return harm[0];
  if (first === undefined) return oneLine(why ?? "it could not be checked", 400);
  if (first.check === "cases") {
    const { passed, failed: broken } = report?.cases ?? { passed: 0, failed: [] };
    return `${broken.length} of ${count(passed + broken.length, "kept case")} would change (${listed(broken)})`;
  }
  const finding = first.findings.find((one) => one.remark !== true);
  return `${STOPS[first.check] ?? `the check "${checkName(first.check)}" fails`}${finding === undefined ? "" : `: ${oneLine(finding.message, 200)}`}`;
}

/** Lines about what recorded runs cannot show: a date, a value that never occurred, code that no run executed. */
const isDoubt = ({ kind }: TextChange): boolean => kind === "command";

function doubts({ report, despite, state, isForeign }: Proposal): string[] {
  if (report === null) return [];
  const tried = new Set(report.backtests.filter(({ runs, counts }) => runs > counts.not_replayable).map(({ agent }) => agentFile(agent)));
  const untried = report.backtests.filter(
    (one) => one.runs === 0 && report.unproven?.some((text) => text.includes(nameIn(report, one.agent))) !== true,
  );
  const part = report.backtests.filter(({ runs, counts: { not_replayable: n } }) => n > 0 && n * 2 <= runs);
  const names = untried.map(({ agent }) => nameIn(report, agent));
  return [
    ...(isForeign === true ? ["All of this was computed in another clone; an approval counts once it is computed here as well"] : []),
    ...(despite === null ? [] : [`Worse on purpose, says the proposer: ${quoted(despite)}`]),
    ...(report.unproven ?? []).slice(state === "unproven" ? 1 : 0).map((text) => oneLine(text, 400)),
    ...(names.length === 0 ? [] : [`Never ran here, so not tried: ${upTo(names, 4).join(", ")}`]),
    ...part.map(
      (one) => `${one.counts.not_replayable} of ${count(one.runs, "recorded run")} of ${nameIn(report, one.agent)} could not be tried`,
    ),
    ...(report.elsewhere ?? []).flatMap((agent) =>
      report.vouched?.[agent] === undefined
        ? []
        : [`${nameIn(report, agent)} was tried in another clone, by ${oneLine(report.vouched[agent].by, 60)}, not here`],
    ),
    ...report.widening.filter(isDoubt).map(({ text }) => oneLine(text, LINE)),
    ...(report.changes ?? [])
      .filter(({ kind, at }) => kind === "code" && at !== null && at.file.startsWith(AGENTS) && !tried.has(at.file))
      .map(({ text }) => oneLine(text)),
  ];
}

function needs(proposal: Proposal): string[] {
  const { state, report, why } = proposal;
  if (state === "blocked") {
    const isWorse = report?.checks.every(({ check, status }) => status !== "failed" || check === "backtest") === true;
    const wrong =
      "; where what a case keeps is wrong, correct its entry, or retire it first by a proposal that removes its file, with --reason";
    const isKept = report?.checks.some(({ check, status }) => check === "cases" && status === "failed") === true;
    return [`a new proposal without this${isWorse ? "; if it is meant, propose it again with --despite REASON" : isKept ? wrong : ""}`];
  }
  if (!ASKING.includes(state) || report === null) return why === null ? [] : [oneLine(why, 400)];
  const since = state === "ready" && why !== null ? [oneLine(why, 400)] : [];
  return [...since, `${neededFor(report)}${state === "unproven" ? ", who says why despite the missing proof" : ""}`];
}

/** Who must decide, in words. */
export function neededFor({ level, levels, approvals }: Report): string {
  const who = levels.length > 0 ? levels.join(" and ") : level;
  return `approval by ${approvals > 1 ? `${approvals} people` : "a person"}${who === null ? "" : `, as ${who}`}`;
}
