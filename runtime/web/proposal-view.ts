/**
 * A proposal as a page: what it is, what it widens, what it would have changed, its checks, the decision, and its text one tap away.
 * Everything in it comes from proposers, banks and scripts, perhaps by another clone: it is escaped and cut, and no script runs.
 */
import { formatAt } from "../errors.ts";
import type { Card } from "../ports.ts";
import { checkName, neededFor } from "../proposals/card.ts";
import type { CheckResult, Proposal, ProposalState } from "../proposals/types.ts";
import { agentFile } from "../workspace/layout.ts";
import { decisionForm } from "./card-view.ts";
import { backtestView } from "./evidence-view.ts";
import type { ProposalFact } from "./facts.ts";
import { type Html, html, layout, nothing, plain, type Times } from "./html.ts";
import { badge } from "./run-view.ts";

const TONES: Record<ProposalState, string> = {
  ...{ draft: "quiet", checking: "busy", ready: "attention", unproven: "attention", blocked: "bad", approved: "busy" },
  ...{ rejected: "quiet", superseded: "quiet", applied: "good", reverted: "quiet" },
};
const CHECKS = { ok: "good", failed: "bad", skipped: "quiet" } as const;
const FINDINGS = 20;
// Larger changes are read with `cleared proposals diff`.
const DIFF_LINES = 1500;
const LONGEST = 500;

const stateOf = ({ state }: Pick<Proposal, "state">): Html => badge({ word: state, tone: TONES[state] });

/** `/proposals`: every proposal, those on their way first. */
export function proposalsPage(proposals: readonly Proposal[], times: Times): Html {
  return frame(
    "Proposals",
    html`${proposals.length === 0 ? "Nobody has proposed a change yet." : "What was proposed, and what became of it."}`,
    html`<ol class="runs">${proposals.map(
      (one) =>
        html`<li><a class="row" href="/proposals/${one.number}"><span class="number">${one.number}</span> ${stateOf(one)} <span class="name"><bdi>${plain(one.title, 200)}</bdi></span> <span class="when">${plain(one.by, 60)} · ${times.at(one.at)}</span></a></li>`,
    )}</ol>`,
  );
}

export interface ProposalPage extends ProposalFact {
  token: string;
  times: Times;
}

/** `/proposals/NUMBER` */
export function proposalPage({ proposal, rejected, patch, excerpts, card, token, times }: ProposalPage): Html {
  const { report, number, by, at } = proposal;
  return frame(
    plain(proposal.title, 200),
    html`${stateOf(proposal)} Proposal ${number} by <bdi>${plain(by, 100)}</bdi>, ${times.at(at)}`,
    html`${about(proposal, rejected)}
${report === null ? html`<p class="empty">Nothing has been checked yet.</p>` : nothing}
${report === null ? nothing : widens(report.widening)}
${report === null ? nothing : html`<section aria-labelledby="tried"><h2 id="tried">What it would have changed</h2>${report.backtests.map((one) => backtestView(one, report.names?.[agentFile(one.agent)] ?? one.agent))}${report.backtests.length === 0 ? html`<p class="empty">No agent is touched, so no run was tried.</p>` : nothing}${dryRuns(report)}</section>`}
${report === null ? nothing : checks(report.checks, excerpts)}
${report === null ? nothing : cases(report)}
${card === null || report === null ? nothing : decision(card, token, proposal)}
<section aria-labelledby="text"><h2 id="text">Its text</h2>${diff(patch, number)}</section>`,
  );
}

function frame(title: string, sub: Html, body: Html): Html {
  return layout({
    title: `${title} · Cleared`,
    body: html`<header class="top"><p class="brand"><a href="/">Cleared</a></p><h1><bdi>${title}</bdi></h1><p class="sub">${sub}</p></header><main id="main" class="single">${body}</main>`,
  });
}

function about(proposal: Proposal, rejected: readonly Proposal[]): Html {
  const { reason, why, despite, files, report, applied, reverted } = proposal;
  const fact = (name: string, value: Html) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`;
  const file = ({ path, change }: Proposal["files"][number]) =>
    html`<div>${change} ${report?.names?.[path] === undefined ? nothing : html`<bdi>${plain(report.names[path] ?? "", 100)}</bdi> `}<code>${plain(path, 200)}</code></div>`;
  return html`<section aria-labelledby="about"><h2 id="about">What it is</h2><dl class="facts">
${fact("Why", reason === "" ? html`<span class="faint">no reason is given</span>` : html`<q class="words">${plain(reason, 2000)}</q>`)}
${fact("Files", html`${files.map(file)}`)}
${why === null ? nothing : fact("State", html`${plain(why, 1000)}`)}
${despite === null ? nothing : fact("On purpose", html`makes recorded runs worse: <q>${plain(despite, 1000)}</q>`)}
${applied === null ? nothing : fact("Commit", html`<code>${plain(applied.slice(0, 9))}</code>`)}
${reverted === null ? nothing : fact("Taken back", html`<code>${plain(reverted.slice(0, 9))}</code>`)}
${rejected.length === 0 ? nothing : fact("Rejected before", html`${rejected.slice(0, 5).map((one) => html`<div><a href="/proposals/${one.number}"><bdi>${plain(one.title, 120)}</bdi></a> of ${plain(one.by, 60)}${one.why === null ? nothing : html`: ${plain(one.why, 300)}`}</div>`)}`)}
</dl></section>`;
}

function widens(widening: NonNullable<Proposal["report"]>["widening"]): Html {
  return html`<section aria-labelledby="widens"><h2 id="widens">What it widens</h2>${
    widening.length === 0
      ? html`<p>${badge({ word: "nothing", tone: "good" })} No right, recipient, gate, rule or setting is loosened.</p>`
      : html`<ul class="list">${widening.map(
          ({ kind, text, at }) =>
            html`<li>${badge({ word: kind, tone: "attention" })} <bdi>${plain(text, LONGEST)}</bdi>${at === null ? nothing : html` <code class="faint">${plain(formatAt(at), 250)}</code>`}</li>`,
        )}</ul>`
  }</section>`;
}

function checks(all: readonly CheckResult[], excerpts: ProposalFact["excerpts"]): Html {
  const finding = ({ at, code, message, why, todo, remark }: CheckResult["findings"][number]) => {
    const line = excerpts.get(`${at.file}:${at.line}`);
    return html`<div class="${remark === true ? "calls" : "error"}"><p><code>${plain(formatAt(at), 250)} ${plain(code, 80)}</code></p>${line === undefined ? nothing : html`<pre class="code" tabindex="0"><code>${plain(line, LONGEST)}</code></pre>`}<p class="words">${plain(message, 1000)}</p><p>${plain(why, LONGEST)} ${plain(todo, LONGEST)}</p></div>`;
  };
  return html`<section aria-labelledby="checks"><h2 id="checks">Checks</h2><ul class="list">${all.map(
    (one) =>
      html`<li>${badge({ word: one.status, tone: CHECKS[one.status] ?? "quiet" })} <span class="name">${plain(checkName(one.check), 40)}</span> <span class="faint">${plain(one.says, 200)}</span>${one.findings.slice(0, FINDINGS).map(finding)}${one.findings.length > FINDINGS ? html`<p class="faint">and ${one.findings.length - FINDINGS} more</p>` : nothing}</li>`,
  )}</ul></section>`;
}

function dryRuns({ dryRun, names }: NonNullable<Proposal["report"]>): Html {
  return html`${dryRun.map(
    ({ agent, lines }) =>
      html`<details class="brief"><summary>Tried without acting: <bdi>${plain(names?.[agentFile(agent)] ?? agent, 100)}</bdi></summary><ul>${lines.slice(0, 50).map((line) => html`<li>${plain(line, LONGEST)}</li>`)}</ul></details>`,
  )}`;
}

function cases({ cases: { passed, failed, open, fixed }, freezes }: NonNullable<Proposal["report"]>): Html {
  const added = Object.keys(freezes);
  const names = (word: string, all: readonly string[]) =>
    all.length === 0
      ? nothing
      : html`<div><dt>${word}</dt><dd>${all.slice(0, 50).map((one) => html`<div><code>${plain(one, 200)}</code></div>`)}</dd></div>`;
  return html`<section aria-labelledby="cases"><h2 id="cases">Cases</h2><p>${passed + failed.length === 0 ? "There is none yet that it must keep." : `${passed} of ${passed + failed.length} hold.`} ${added.length === 0 ? nothing : html`Approving it adds ${added.length}.`}</p><dl class="facts">${names("Broken", failed)}${names("Hold now", fixed)}${names("Not learnt yet", open)}${names("Added", added)}</dl></section>`;
}

function decision(card: Card, token: string, { report, decisions }: Proposal): Html {
  const said = decisions.filter((one) => one.decision === "approved").map((one) => plain(one.by, 60));
  return html`<section aria-labelledby="decide"><h2 id="decide">Decide</h2><p class="faint">It ${report === null ? nothing : plain(neededFor(report), 200)}${said.length === 0 ? nothing : `; said so far: ${said.join(", ")}`}. A yes makes one commit; runs that wait stay on the code they began with.</p>${decisionForm(card, token)}<p><a href="/">Later</a></p></section>`;
}

/** The change as git writes it, each line escaped; added and removed ones by their first sign. */
function diff(patch: string, number: number): Html {
  const lines = patch.trimEnd().split("\n");
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
  return html`<details class="brief"><summary>${lines.length} lines</summary><pre class="diff" tabindex="0" role="region" aria-label="The change">${lines
    .slice(0, DIFF_LINES)
    .map(
      (line) => html`<span class="${tone(line)}">${plain(line, 2000)}
</span>`,
    )}</pre>${lines.length > DIFF_LINES ? html`<p class="faint">and ${lines.length - DIFF_LINES} more: <code>cleared proposals diff ${number}</code></p>` : nothing}</details>`;
}
