/** The status page: open decisions, the state of runs (failed first), the agents, the balances, the workspace. */
import type { Fact } from "../app/facts.ts";
import type { StepFact } from "../app/look.ts";
import { ASKING } from "../change/proposals/store.ts";
import { questionCard } from "./ask-view.ts";
import { cardView, decidedView } from "./card-view.ts";
import { accountName, amount, type Html, html, layout, nothing, plain, type Times } from "./html.ts";
import { proposalSummary } from "./proposal-view.ts";
import { badge, byUrgency, cause, errorView, runName, statusOf, stepList, took } from "./run-view.ts";

type Told = { [K in "state" | "agents" | "runs" | "cards" | "waiting" | "entries" | "balances" | "proposals" | "asks"]: Fact<K> };

export interface StatusPage extends Told {
  /** Who decides here; null: nobody until this browser is paired. */
  person: string | null;
  /** Last steps of the runs that the page shows expanded; other runs link to their own page. */
  steps: Map<string, StepFact[]>;
  /** Cards that this person may not decide. */
  others: ReadonlySet<number>;
  /** The card this browser has just decided. */
  decided: Fact<"card">;
  token: string;
  times: Times;
  now: number;
}

export function statusPage(page: StatusPage): Html {
  const { state, waiting, times, now } = page;
  const questions = page.asks.filter(({ end }) => end?.kind === "question").length;
  const mine = waiting - page.others.size + questions;
  const waits = mine === 0 ? "Nothing waits for you" : `${mine} ${mine === 1 ? "question waits" : "questions wait"} for you`;
  const others = page.others.size === 0 ? "" : `, ${page.others.size} for someone else`;
  const open = page.proposals.filter(({ state: is }) => ASKING.includes(is)).length;
  const failed = page.runs.filter(({ status }) => status === "failed" || status === "diverged").length;
  return layout({
    title: `${mine > 0 ? `(${mine}) ` : ""}${plain(state.business, 100)} · Cleared`,
    body: html`<header class="top"><p class="brand">Cleared</p><h1><bdi>${plain(state.business, 100)}</bdi></h1>
<p class="sub">${waits}${others}. ${failed === 0 ? nothing : html`<a href="#runs">${failed} ${failed === 1 ? "run" : "runs"} failed</a>. `}${page.proposals.length === 0 ? nothing : html`<a href="/proposals">${open === 0 ? "Proposals" : open === 1 ? "1 open proposal" : `${open} open proposals`}</a>. `}<a href="/asks">${page.asks.length === 0 ? "Ask" : "Requests"}</a>. Updated ${times.at(now)} (${plain(state.timezone, 60)}). <a href="/">Refresh</a></p></header>
<main id="main">
<div class="wide">
${page.person === null ? html`<section class="notices" aria-label="Pairing"><p>This browser cannot decide yet: open the link that <code>cleared start</code> printed, or run <code>cleared pair</code>.</p></section>` : nothing}
${notices(state)}
<section aria-labelledby="cards"><h2 id="cards">For you</h2>
${page.decided === null ? nothing : decidedView(page.decided, page.token, times)}
${questions === 0 ? nothing : html`<ol class="cards">${page.asks.map((one) => (one.end?.kind === "question" ? html`<li>${questionCard(one, one.end, page.token)}</li>` : nothing))}</ol>`}
${waiting > 0 ? cardList(page) : questions === 0 ? html`<p class="empty">Nothing waits for you.</p>` : nothing}
</section>
<section aria-labelledby="runs"><h2 id="runs">Runs</h2>${runList(page)}</section>
</div>
<div class="side">
<section aria-labelledby="books"><h2 id="books">Workspace</h2>${workspace(state)}</section>
<section aria-labelledby="balances"><h2 id="balances">Balances</h2>${balanceTable(page.balances)}</section>
<section aria-labelledby="agents"><h2 id="agents">Agents</h2>${agentList(page)}</section>
</div>
</main>`,
  });
}

/** A bad import can open thousands of cards; the oldest are shown first, the rest as they are decided. */
function cardList({ cards, waiting, others, entries, token, balances, proposals, state, times }: StatusPage): Html {
  const summaries = new Map(
    proposals.filter(({ state: is }) => ASKING.includes(is)).map((one) => [one.number, proposalSummary(one, state.timezone)]),
  );
  const context = { token, times, entries, summaries, others, accounts: balances.map(({ account }) => account) };
  const rest = waiting - cards.length;
  return html`<ol class="cards">${cards.map((card) => cardView(card, context))}</ol>${rest > 0 ? html`<p class="empty">${rest} more wait behind these. <code>cleared queue</code> lists them all.</p>` : nothing}`;
}

function notices(state: Fact<"state">): Html {
  const all = state.blocked === null ? state.notices : [`Commits are on hold: ${state.blocked}`, ...state.notices];
  if (all.length === 0) return nothing;
  return html`<section class="notices" aria-label="Notices">${all.map((notice) => html`<p>${plain(notice, 600)}</p>`)}</section>`;
}

function workspace(state: Fact<"state">): Html {
  const books =
    state.books === null
      ? html`<p class="faint">The books have not been checked yet.</p>`
      : state.books.ok
        ? html`<p>${badge({ word: "verified", tone: "good" })} ${state.books.entries} ${state.books.entries === 1 ? "entry" : "entries"}, all balanced, in their month, and in agreement with every stated balance.</p>`
        : html`<p>${badge({ word: "books have errors", tone: "bad" })}</p><ul>${state.books.findings.slice(0, 10).map((finding) => html`<li class="words">${plain(finding, 400)}</li>`)}</ul>`;
  return html`${books}<p class="faint">Branch <code>${plain(state.branch, 100)}</code> at <code>${plain(state.head.slice(0, 9))}</code></p>`;
}

function runList({ runs, steps, times, now }: StatusPage): Html {
  if (runs.length === 0)
    return html`<p class="empty">No run yet. Put a statement into <code>import/</code>, or use <code>cleared run AGENT</code>.</p>`;
  return html`<ol class="runs">${byUrgency(runs).map((run) => {
    const shown = steps.get(run.id);
    const time = took(run, now);
    return html`<li><details><summary>${badge(statusOf(run))} ${runName(run)} <span class="when">${times.at(run.createdAt)}${time === "" ? nothing : ` · ${time}`}</span></summary>
<div class="inside">${run.error ? errorView(run.error) : nothing}${run.waitsFor ? html`<p class="attention-text">Waits for: ${plain(run.waitsFor, 400)}</p>` : nothing}
<p class="faint">Started by ${cause(run)}.</p>
${(shown?.[0]?.seq ?? 0) > 0 ? html`<p class="faint">The last ${shown?.length} steps:</p>` : nothing}
${shown === undefined ? nothing : stepList(shown, [], times)}
<p><a href="/runs/${encodeURIComponent(run.id)}">Full history of <code>${plain(run.id, 60)}</code></a></p></div></details></li>`;
  })}</ol>`;
}

function agentList({ agents, times }: StatusPage): Html {
  if (agents.length === 0) return html`<p class="empty">There is no committed agent in <code>agents/</code>.</p>`;
  return html`<ul class="agents">${agents.map(
    (agent) => html`<li><h3>${plain(agent.title, 100)} <code>${plain(agent.name, 100)}</code></h3>
${agent.description === "" ? nothing : html`<p>${plain(agent.description, 400)}</p>`}
${agent.problem ? errorView(agent.problem) : nothing}
${agent.unchecked ? html`<p class="attention-text">${plain(agent.unchecked, 300)}</p>` : nothing}
<dl class="facts"><div><dt>Starts</dt><dd>${agent.triggers.map((each) => html`<div>${plain(each, 100)}</div>`)}</dd></div>
<div><dt>Last run</dt><dd>${agent.last === null ? html`<span class="faint">never</span>` : html`${badge(statusOf(agent.last))} <a href="/runs/${encodeURIComponent(agent.last.run)}">${times.at(agent.last.at)}</a>`}</dd></div>
<div><dt>Next run</dt><dd>${agent.paused ? plain(agent.paused, 400) : agent.next === null ? html`<span class="faint">when it is triggered</span>` : times.at(agent.next)}</dd></div></dl></li>`,
  )}</ul>`;
}

function balanceTable(balances: Fact<"balances">): Html {
  if (balances.some(({ balances: by }) => by === null))
    return html`<p class="attention-text">Not shown, because an entry in the books cannot be read and would be missing from every sum. Workspace says where it is.</p>`;
  const used = balances.flatMap((one) =>
    one.balances === null || Object.keys(one.balances).length === 0 ? [] : [{ ...one, balances: one.balances }],
  );
  if (used.length === 0) return html`<p class="empty">Nothing is booked yet.</p>`;
  return html`<table><thead><tr><th scope="col">Account</th><th scope="col" class="money">Balance</th></tr></thead><tbody>${used.map(
    ({
      account,
      balances: by,
      seal,
    }) => html`<tr><th scope="row"><span class="number">${account.id}</span> ${accountName(account.name)}${seal === null ? nothing : html`<span class="seal">tied to the bank's balance through ${plain(seal.through, 10)}</span>`}</th>
<td class="money">${Object.entries(by).map(([currency, value]) => html`<div>${amount(value, currency)} <span class="currency">${plain(currency, 12)}</span></div>`)}</td></tr>`,
  )}</tbody></table>`;
}
