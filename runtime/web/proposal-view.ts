/**
 * The page of a proposal: its card as the terminal prints it, the decision, and everything else one tap away.
 * All of it comes from proposers, banks and scripts, possibly from another clone: it is escaped and clipped, and no script runs.
 */
import { formatAt } from "../kernel/errors.ts";
import { visible } from "../kernel/text.ts";
import type { Card, Call } from "../kernel/ports.ts";
import { type ProposalCard, cardOf } from "../change/proposals/card.ts";
import { type CardPart, checkName } from "../change/proposals/card-details.ts";
import { type CheckResult, type Proposal, type ProposalState, stateWord } from "../change/proposal-types.ts";
import { agentFile } from "../workspace/layout.ts";
import { decisionForm, legsView } from "./card-view.ts";
import type { Fact } from "../app/facts.ts";
import { type Html, frame, html, nothing, plain, type Times, accountName, amount, facts, whole } from "./html.ts";
import { badge } from "./run-view.ts";
import type { BacktestReport, EntryEffect, RunDifference } from "../change/evidence/types.ts";
import { backtestLines, partingLine } from "../change/evidence/words.ts";

const TONES: Record<ProposalState, string> = {
  ...{ draft: "quiet", checking: "busy", ready: "attention", unproven: "attention", blocked: "bad", approved: "busy" },
  ...{ rejected: "quiet", superseded: "quiet", applied: "good", reverted: "quiet" },
};
const CHECKS = { ok: "good", failed: "bad", skipped: "quiet" } as const;
const FINDINGS = 20;
// Larger changes are read with `cleared proposals diff`; no line is shown partially.
const DIFF_LINES = 1500;
const DIFF_CHARS = 1_000_000;
const LONGEST = 500;
const DOUBTS = new Set(["Not proven", "May do more"]);

const stateOf = (one: Pick<Proposal, "state" | "why">): Html => badge({ word: stateWord(one), tone: TONES[one.state] });

/** `/proposals`: every proposal, open ones first. */
export function proposalsPage(proposals: readonly Proposal[], times: Times): Html {
  return frame(
    "Proposals",
    html`${proposals.length === 0 ? "No change has been proposed yet." : "What was proposed, and the outcome."}`,
    html`<ol class="runs">${proposals.map(
      (one) =>
        html`<li><a class="row" href="/proposals/${one.number}"><span class="number">${one.number}</span> ${stateOf(one)} <span class="name"><bdi>${plain(one.title, 200)}</bdi></span> <span class="when">${plain(one.by, 60)} · ${times.at(one.at)}</span></a></li>`,
    )}</ol>`,
  );
}

type ProposalFact = NonNullable<Fact<"proposal">>;

export interface ProposalPage extends ProposalFact {
  token: string;
  times: Times;
}

/** The proposal's card on the start page, with a link to its details. */
export function proposalSummary(proposal: Proposal, timezone: string): Html {
  return html`${cardView(cardOf(proposal, { timezone }))}<p><a href="/proposals/${proposal.number}">Everything about it</a></p>`;
}

/** The card of change/proposals/card.ts: what changes, then each part. */
function cardView({ headline, parts }: ProposalCard): Html {
  return html`<div class="headline">${whole(headline, LONGEST)}</div><dl class="facts">${parts.map(
    ({ name, lines }) =>
      html`<div><dt>${name}</dt><dd>${lines.map((line) => html`<div${DOUBTS.has(name) ? html` class="attention-text"` : nothing}>${whole(line, LONGEST)}</div>`)}</dd></div>`,
  )}</dl>`;
}

/** `/proposals/NUMBER` */
export function proposalPage({ proposal, rejected, patch, excerpts, card, token, times }: ProposalPage): Html {
  const { report, number, by, at } = proposal;
  const shown = cardOf(proposal, { rejected });
  return frame(
    plain(proposal.title, 200),
    html`${stateOf(proposal)} Proposal ${number} by <bdi>${plain(by, 100)}</bdi>, ${times.at(at)}`,
    html`<section aria-label="What it changes">${cardView(shown)}</section>
${card === null || report === null ? nothing : decision(card, token, proposal)}
<section aria-labelledby="details"><h2 id="details">Details</h2>${shown.details.filter(({ name }) => name !== "Checks" && name !== "Recorded runs").map(detail)}
${report === null ? nothing : fold("Checks", checks(report.checks, excerpts))}
${report === null || report.backtests.length === 0 ? nothing : fold("Recorded runs", html`${report.backtests.map((one) => backtestView(one, report.names?.[agentFile(one.agent)] ?? one.agent))}`)}
${outcome(proposal)}</section>
<section aria-labelledby="text"><h2 id="text">Its text</h2>${diff(patch, number)}</section>`,
  );
}

const fold = (name: string, body: Html): Html =>
  html`<details class="brief"><summary>${name}</summary><div class="inside">${body}</div></details>`;

const detail = ({ name, lines }: CardPart): Html =>
  fold(
    name,
    html`<ul class="list">${lines.map((line) => html`<li class="${line.startsWith("! ") ? "attention-text" : ""}">${whole(line, LONGEST)}</li>`)}</ul>`,
  );

/** Its commits on the branch. */
function outcome({ applied, reverted }: Proposal): Html {
  const fact = (name: string, commit: string | null) =>
    commit === null ? nothing : html`<div><dt>${name}</dt><dd><code>${plain(commit.slice(0, 9))}</code></dd></div>`;
  return html`<dl class="facts">${fact("Commit", applied)}${fact("Taken back", reverted)}</dl>`;
}

function checks(all: readonly CheckResult[], excerpts: ProposalFact["excerpts"]): Html {
  const finding = ({ at, code, message, why, todo, remark }: CheckResult["findings"][number]) => {
    const line = excerpts.get(`${at.file}:${at.line}`);
    return html`<div class="${remark === true ? "calls" : "error"}"><p><code>${plain(formatAt(at), 250)} ${plain(code, 80)}</code></p>${line === undefined ? nothing : html`<pre class="code" tabindex="0"><code>${plain(line, LONGEST)}</code></pre>`}<p class="words">${plain(message, 1000)}</p><p>${plain(why, LONGEST)} ${plain(todo, LONGEST)}</p></div>`;
  };
  return html`<ul class="list">${all.map(
    (one) =>
      html`<li>${badge({ word: one.status, tone: CHECKS[one.status] ?? "quiet" })} <span class="name">${plain(checkName(one.check), 40)}</span> <span class="faint">${plain(one.says, 200)}</span>${one.findings.slice(0, FINDINGS).map(finding)}${one.findings.length > FINDINGS ? html`<p class="faint">and ${one.findings.length - FINDINGS} more</p>` : nothing}</li>`,
  )}</ul>`;
}

function decision(card: Card, token: string, { decisions }: Proposal): Html {
  const said = decisions.filter((one) => one.decision === "approved").map((one) => plain(one.by, 60));
  return html`<section aria-labelledby="decide"><h2 id="decide">Decide</h2><p class="faint">${said.length === 0 ? nothing : `Approved so far by ${said.join(", ")}. `}Approval makes one commit; waiting runs stay on the code they began with.</p>${decisionForm(card, token)}<p><a href="/">Later</a></p></section>`;
}

/** The change as git prints it, each line escaped; added and removed lines are marked by their first character. */
function diff(patch: string, number: number): Html {
  const lines = patch.trimEnd().split("\n");
  let size = 0;
  const shown = lines.slice(0, DIFF_LINES).filter((line) => (size += line.length) <= DIFF_CHARS);
  const tone = (line: string) =>
    /^(?:\+\+\+|---|diff |index )/.test(line)
      ? "head"
      : line.startsWith("+")
        ? "plus"
        : line.startsWith("-")
          ? "minus"
          : line.startsWith("@@")
            ? "head"
            : "";
  return html`<details class="brief"><summary>${lines.length} lines</summary><pre class="diff" tabindex="0" role="region" aria-label="The change">${shown.map(
    (line) => html`<span class="${tone(line)}">${visible(line)}
</span>`,
  )}</pre>${lines.length > shown.length ? html`<p class="faint">and ${lines.length - shown.length} more: <code>cleared proposals diff ${number}</code></p>` : nothing}</details>`;
}

const RUNS = 30;
const ENTRIES = 50;
const MONEY = 200;
const BACKTEST_TONES = { same: "good", changed: "attention", worse: "bad", failed: "bad", not_replayable: "quiet" } as const;

/**
 * A backtest on a page: its sentence, the money by account and month, the entries that differ, and where runs diverge first.
 * @param name the agent's display name
 */
function backtestView(report: BacktestReport, name: string): Html {
  const { runs, money, moves, net, differences, waiting } = report;
  const [first = ""] = backtestLines(report);
  const nets = Object.entries(net).map(([currency, sum]) => `${sum} ${currency}`);
  return html`<article class="card"><h3><bdi>${plain(name, 100)}</bdi></h3>
<p>${runs === 0 ? "No recorded run tells what it would have done." : plain(first, 300)}</p>
${moves.length === 0 ? nothing : html`<ul class="list">${moves.slice(0, MONEY).map(({ from, to, entries, amount: sum, currency }) => html`<li>${entries} ${entries === 1 ? "entry" : "entries"}: <bdi>${plain(from, 120)}</bdi> → <bdi>${plain(to, 120)}</bdi> <span class="sum">${amount(sum, currency)} <span class="currency">${plain(currency, 12)}</span></span></li>`)}</ul>`}
${money.length === 0 ? nothing : moneyTable(report)}
${nets.length === 0 ? nothing : html`<p class="faint">Net: ${plain(nets.join(", "), 200)}</p>`}
${differences.slice(0, RUNS).map(differenceView)}
${differences.length > RUNS ? html`<p class="faint">and ${differences.length - RUNS} more runs</p>` : nothing}
${waiting.length === 0 ? nothing : html`<p>${waiting.length} waiting ${waiting.length === 1 ? "run" : "runs"}: ${waiting.filter(({ moves: can }) => can).length} could move to it.</p>`}</article>`;
}

function moneyTable({ money }: BacktestReport): Html {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Money by account and month"><table class="wide-table"><thead><tr><th scope="col">Account</th><th scope="col" class="money">Difference</th><th scope="col" class="money">Was</th><th scope="col" class="money">Now</th></tr></thead><tbody>${money
    .slice(0, MONEY)
    .map(
      ({ account, month, currency, was, now, difference }) =>
        html`<tr><th scope="row">${accountName(account)} <span class="currency">${plain(month, 10)} ${plain(currency, 12)}</span></th><td class="money">${amount(difference, currency)}</td><td class="money">${amount(was, currency)}</td><td class="money">${amount(now, currency)}</td></tr>`,
    )}</tbody></table></div>`;
}

function differenceView({ run, class: kind, why, divergence, entries, supposed }: RunDifference): Html {
  const parts = divergence ?? null;
  return html`<details class="brief"><summary>${badge({ word: kind.replace("_", " "), tone: BACKTEST_TONES[kind] ?? "quiet" })} <code>${plain(run, 60)}</code> <span class="faint">${plain(why[0] ?? "", 200)}</span></summary><div class="inside">
<p><a href="/runs/${encodeURIComponent(run)}">The run</a></p>
${why.length > 1 ? html`<ul>${why.slice(1, 20).map((line) => html`<li>${plain(line, 400)}</li>`)}</ul>` : nothing}
${parts === null ? nothing : html`<p>First difference: ${plain(partingLine(parts), 400)}</p><div class="calls">${callView("recorded", parts.recorded)}${callView("now", parts.now)}</div>`}
${(entries as RunDifference["entries"]).slice(0, ENTRIES).map(({ was, now }) => html`<div class="calls"><p class="faint">${was === null ? "new" : now === null ? "gone" : "changed"}</p>${entryView("was", was)}${entryView("now", now)}</div>`)}
${(supposed ?? []).slice(0, 10).map((line) => html`<p class="faint">Assumed: ${plain(line, 400)}</p>`)}</div></details>`;
}

function callView(word: string, call: Call | null): Html {
  return html`<div class="call"><span class="faint">${word}</span> ${call === null ? html`<span class="faint">nothing</span>` : html`<code>${plain(call.tool, 120)}</code>${facts(call.params)}`}</div>`;
}

function entryView(word: string, entry: EntryEffect | null): Html {
  if (entry === null) return nothing;
  return html`<div><p><span class="faint">${word}</span> ${plain(entry.date, 10)} <bdi>${plain(entry.description, 200)}</bdi> <span class="faint">${plain(entry.status, 30)}</span></p>${legsView({ postings: entry.legs })}</div>`;
}
