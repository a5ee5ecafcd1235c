/**
 * The card of a proposal in plain words, for somebody who never sees code. Written from facts only: the report, and what the proposer said,
 * which is quoted. A line of it is one line: whatever was written into a title, a reason or a message cannot make two of it.
 */
import { formatAt } from "../errors.ts";
import { backtestLines } from "../evidence/words.ts";
import type { Json, Tree } from "../ports.ts";
import { dayIn, parseHeader } from "../sandbox/header.ts";
import { oneLine } from "../text.ts";
import { AGENTS, agentFile } from "../workspace/layout.ts";
import type { CheckResult, Proposal, ProposedFile, Report } from "./types.ts";

/** What a card tells beside the proposal itself. */
export interface CardAround {
  /** Earlier proposals on the same files that were rejected, newest first. */
  rejected?: readonly Pick<Proposal, "title" | "by" | "why">[];
  /** Days are written in this zone; UTC unless told. */
  timezone?: string;
}

export interface ProposalCard {
  title: string;
  lines: string[];
  /** The same as data, for --json and programs. */
  facts: Json;
}

const NAMES: Record<CheckResult["check"], string> = {
  ...{ paths: "paths", config: "config", header: "header", lint: "lint", types: "types", capabilities: "capabilities", states: "states" },
  ...{ policies: "policies", importers: "importers", knowledge: "knowledge", tools: "tools", cases: "cases", dry_run: "dry run" },
  ...{ invariants: "invariants", backtest: "backtest" },
};
/** What a check is called for people. */
export const checkName = (check: CheckResult["check"]): string => NAMES[check] ?? check;

// What a person reads at one look; the page and `--json` have the rest.
const FINDINGS = 5;
const REJECTED = 3;
const DRY = 6;
const DRY_AGENTS = 2;
const LISTED = 10;

const quoted = (text: string, limit = 300): string => `“${oneLine(text, limit)}”`;
const count = (n: number, one: string, many = `${one}s`): string => `${n} ${n === 1 ? one : many}`;

const listed = (all: readonly string[]): string =>
  `${all.slice(0, LISTED).join(", ")}${all.length > LISTED ? ` and ${all.length - LISTED} more` : ""}`;

/** Names of the agents a change touches, by path: for `Report.names`. A header that cannot be read has none. */
export async function namesOf(files: readonly ProposedFile[], base: Tree, tree: Tree): Promise<Record<string, string>> {
  const names: Record<string, string> = {};
  for (const { path } of files.filter((one) => one.path.startsWith(AGENTS))) {
    // By the name it had: a new one could say anything.
    const source = (await base.read(path)) ?? (await tree.read(path));
    try {
      if (source !== null) names[path] = parseHeader(source, path).name;
    } catch {
      // The check of the header says what is wrong with it; the path has to do.
    }
  }
  return names;
}

/** What stands on the card, line by line; lines that belong to one above begin with two blanks. */
export function cardOf(proposal: Proposal, around: CardAround = {}): ProposalCard {
  const { report } = proposal;
  const lines = [
    `proposed by ${oneLine(proposal.by, 100)} on ${dayIn(around.timezone ?? "UTC", proposal.at)}${proposal.reason === "" ? ", without a reason" : `: ${quoted(proposal.reason, 600)}`}`,
    `it is ${proposal.state}${proposal.why === null ? "" : `: ${oneLine(proposal.why, 400)}`}`,
    ...what(proposal),
    ...(proposal.despite === null ? [] : [`makes recorded runs worse on purpose: ${quoted(proposal.despite)}`]),
    ...(report === null ? ["nothing has been checked yet"] : reported(report)),
    ...before(around.rejected ?? []),
    ...(report === null || proposal.state !== "ready" ? [] : [neededFor(report)]),
  ];
  return { title: oneLine(proposal.title, 200), lines, facts: factsOf(proposal) };
}

function what({ files, report }: Proposal): string[] {
  const verbs = { added: "adds", changed: "changes", removed: "removes" };
  return (Object.keys(verbs) as (keyof typeof verbs)[]).flatMap((change) => {
    const named = files
      .filter((one) => one.change === change)
      .map(({ path }) => (report?.names?.[path] === undefined ? path : `${oneLine(report.names[path] ?? "", 60)} (${path})`));
    return named.length === 0 ? [] : [`${verbs[change]} ${listed(named)}`];
  });
}

function reported(report: Report): string[] {
  const freezes = Object.keys(report.freezes).length;
  return [
    ...widens(report),
    ...checks(report),
    ...tested(report),
    ...cases(report),
    ...(freezes === 0
      ? []
      : [`approving it freezes ${count(freezes, "run")} as ${freezes === 1 ? "a case" : "cases"} that every later change must keep`]),
  ];
}

function widens({ widening }: Report): string[] {
  if (widening.length === 0) return ["widens nothing"];
  return [
    `widens ${count(widening.length, "thing")}:`,
    ...widening.map(({ kind, text, at }) => `  ! ${kind}: ${oneLine(text, 400)}${at === null ? "" : ` (${oneLine(formatAt(at), 250)})`}`),
  ];
}

function checks({ checks: all, widening }: Report): string[] {
  const named = (status: CheckResult["status"]) => all.filter((one) => one.status === status && one.check !== "backtest");
  const [ok, failed] = [named("ok"), all.filter((one) => one.status === "failed")];
  const rights = widening.filter(({ kind }) => kind === "capability").length;
  const says = ({ check, says: said }: CheckResult): string =>
    check === "capabilities"
      ? ` (${rights === 0 ? "none widened" : `${rights} widened`})`
      : check === "cases" && /^[1-9]\d*\/\d+$/.test(said)
        ? ` ${said}`
        : "";
  // What is worse in the backtest stands below, run by run.
  const told = ({ check, findings }: CheckResult) => (check === "backtest" ? [] : findings.filter(({ remark }) => remark !== true));
  return [
    ...(ok.length === 0 ? [] : [`checks: ${ok.map((one) => `${checkName(one.check)}${says(one)}`).join(", ")}  ok`]),
    ...failed.flatMap((one) => [
      `failed: ${checkName(one.check)} (${oneLine(one.says, 120)})`,
      ...told(one)
        .slice(0, FINDINGS)
        .flatMap(({ at, code, message, todo }) => [
          `  ${oneLine(formatAt(at), 250)} ${code}: ${oneLine(message, 400)}`,
          ...(todo === "" || message.includes(todo) ? [] : [`    ${oneLine(todo)}`]),
        ]),
      ...(told(one).length > FINDINGS ? [`  and ${told(one).length - FINDINGS} more`] : []),
    ]),
  ];
}

/** What it would have done to real runs; where there are none, what the dry run did. */
function tested(report: Report): string[] {
  const { backtests, dryRun } = report;
  const nameOf = (agent: string) => oneLine(report.names?.[agentFile(agent)] ?? agent, 60);
  const [known, unknown] = [backtests.filter(({ runs }) => runs > 0), backtests.filter(({ runs }) => runs === 0)];
  const told = known.flatMap((one) => {
    const [first = "", ...more] = backtestLines(one);
    return [backtests.length === 1 ? first : first.replace(/^backtest/, () => `backtest of ${nameOf(one.agent)}`), ...more].map(indented);
  });
  if (unknown.length > 0) told.push(`no recorded run tells what it would have done: ${listed(unknown.map(({ agent }) => nameOf(agent)))}`);
  const dry = dryRun.filter(({ agent }) => known.every((one) => one.agent !== agent));
  return [
    ...told,
    ...dry
      .slice(0, DRY_AGENTS)
      .flatMap(({ agent, lines }) => [
        `tried without acting, ${nameOf(agent)}:`,
        ...lines.slice(0, DRY).map((line) => `  ${oneLine(line)}`),
        ...(lines.length > DRY ? [`  and ${lines.length - DRY} more lines`] : []),
      ]),
  ];
}

function cases({ cases: { passed, failed, open, fixed } }: Report): string[] {
  if (passed + failed.length + open.length + fixed.length === 0) return [];
  return [
    `cases: ${passed} of ${passed + failed.length} hold${fixed.length === 0 ? "" : `, ${fixed.length} of them for the first time`}`,
    ...(open.length === 0 ? [] : [`  ${count(open.length, "correction")} that no script has learnt yet`]),
  ];
}

function before(rejected: NonNullable<CardAround["rejected"]>): string[] {
  return rejected
    .slice(0, REJECTED)
    .map(({ title, by, why }) => `rejected before: ${quoted(title, 120)} of ${oneLine(by, 60)}${why === null ? "" : `: ${oneLine(why)}`}`);
}

/** Who must decide, in one sentence. */
export function neededFor({ level, levels, approvals }: Report): string {
  const who = levels.length > 0 ? levels.join(" and ") : level;
  return `needs the yes of ${approvals > 1 ? `${approvals} people` : "a person"}${who === null ? "" : `, as ${who}`}`;
}

function factsOf({ number, id, title, reason, by, state, why, files, report, applied, reverted }: Proposal): Json {
  const { widening = [], backtests = [], cases: held = null, level = null, levels = [], approvals = 1 } = report ?? {};
  const tests = backtests.map(({ agent, runs, days, counts, net, moves, money }) => ({ agent, runs, days, counts, net, moves, money }));
  const failed = (report?.checks ?? []).flatMap(({ status, findings }) => (status === "failed" ? findings : []));
  const told = { number, id, title, reason, by, state, why, files, widening, backtests: tests, cases: held, findings: failed };
  return { ...told, level, levels, approvals, applied, reverted } as unknown as Json;
}

/** A line of our own layout keeps its blanks; what would end it does not. */
const indented = (line: string): string => line.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ").slice(0, 500);
