/** A backtest on a page: its sentence, the money by account and month, the entries that come out differently, and where runs part first. */
import type { BacktestReport, EntryEffect, RunDifference } from "../change/evidence/types.ts";
import { backtestLines, partingLine } from "../change/evidence/words.ts";
import type { Call } from "../kernel/ports.ts";
import { accountName, amount, facts, type Html, html, nothing, plain } from "./html.ts";
import { badge } from "./run-view.ts";

const RUNS = 30;
const ENTRIES = 50;
const MONEY = 200;
const TONES = { same: "good", changed: "attention", worse: "bad", failed: "bad", not_replayable: "quiet" } as const;

/** @param name what the agent is called */
export function backtestView(report: BacktestReport, name: string): Html {
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
  return html`<details class="brief"><summary>${badge({ word: kind.replace("_", " "), tone: TONES[kind] ?? "quiet" })} <code>${plain(run, 60)}</code> <span class="faint">${plain(why[0] ?? "", 200)}</span></summary><div class="inside">
<p><a href="/runs/${encodeURIComponent(run)}">The run</a></p>
${why.length > 1 ? html`<ul>${why.slice(1, 20).map((line) => html`<li>${plain(line, 400)}</li>`)}</ul>` : nothing}
${parts === null ? nothing : html`<p>First difference: ${plain(partingLine(parts), 400)}</p><div class="calls">${callView("recorded", parts.recorded)}${callView("now", parts.now)}</div>`}
${(entries as RunDifference["entries"]).slice(0, ENTRIES).map(({ was, now }) => html`<div class="calls"><p class="faint">${was === null ? "new" : now === null ? "gone" : "changed"}</p>${entryView("was", was)}${entryView("now", now)}</div>`)}
${(supposed ?? []).slice(0, 10).map((line) => html`<p class="faint">Supposed: ${plain(line, 400)}</p>`)}</div></details>`;
}

function callView(word: string, call: Call | null): Html {
  return html`<div class="call"><span class="faint">${word}</span> ${call === null ? html`<span class="faint">nothing</span>` : html`<code>${plain(call.tool, 120)}</code>${facts(call.params)}`}</div>`;
}

function entryView(word: string, entry: EntryEffect | null): Html {
  if (entry === null) return nothing;
  const legs = entry.legs.map(
    (leg) =>
      html`<div><dt><bdi>${plain(leg.account, 120)}</bdi></dt><dd>${amount(leg.amount, leg.currency)} <span class="currency">${plain(leg.currency, 12)}</span></dd></div>`,
  );
  return html`<div><p><span class="faint">${word}</span> ${plain(entry.date, 10)} <bdi>${plain(entry.description, 200)}</bdi> <span class="faint">${plain(entry.status, 30)}</span></p><dl class="facts legs">${legs}</dl></div>`;
}
