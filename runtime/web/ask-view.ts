/**
 * Pages for requests to the meta-agent: the list with costs and results, one request with its events, and its question as a card.
 * A model's words are quoted and escaped like any outside text; facts are computed by the runtime.
 */
import { NOBODY } from "../kernel/text.ts";
import type { Ask, AskEnd, AskRow, WatchedAsk } from "../app/asks.ts";
import { askedAfter } from "../meta/requests.ts";
import type { Typed } from "./card-view.ts";
import { type Html, frame, html, nothing, plain, type Times } from "./html.ts";
import { badge } from "./run-view.ts";

type Ended<K extends AskEnd["kind"]> = Extract<AskEnd, { kind: K }>;

function stateOf({ end }: Pick<Ask, "end">): Html {
  if (end === null) return badge({ word: "working", tone: "busy" });
  if (end.kind === "card") return badge({ word: `proposal ${end.number}`, tone: "good" });
  if (end.kind === "question") return badge({ word: "asks you", tone: "attention" });
  return end.kind === "answer" ? badge({ word: "answer", tone: "good" }) : badge({ word: "declined", tone: "quiet" });
}

const hidden = (token: string): Html => html`<input type="hidden" name="token" value="${token}">`;

/** `text`: as it was typed before. */
export const requestForm = (token: string, text = ""): Html =>
  html`<form method="post" action="/asks" aria-label="New request">${hidden(token)}<p class="field"><label for="ask-text">What do you want?</label><input id="ask-text" name="text" value="${text}" maxlength="10000" required autocomplete="off"></p><p class="buttons"><button class="yes">Ask</button></p></form>`;

/** `/asks`: newest first, and a form for a new one. */
export function asksPage(asks: readonly (Ask & { cost: string | null })[], { token, times }: { token: string; times: Times }): Html {
  const sub = "A change in your words becomes a proposal, a question an answer that is computed.";
  return frame(
    "Requests",
    html`${sub}`,
    html`${requestForm(token)}
${
  asks.length === 0
    ? html`<p class="empty">No requests yet.</p>`
    : html`<ol class="runs">${asks.map(
        (one) =>
          html`<li><a class="row" href="/asks/${one.id}"><span class="number">${one.id}</span> ${stateOf(one)} <span class="name"><bdi>${plain(one.text, 200)}</bdi></span> <span class="when">${one.cost === null ? nothing : html`${one.cost} · `}${times.at(one.at)}</span></a></li>`,
      )}</ol>`
}`,
  );
}

/** `/asks/NUMBER`: the request, its events, its result and its cost. */
export function askPage({ ask, rows, cost }: WatchedAsk, { token, times }: { token: string; times: Times }): Html {
  const notes = rows.flatMap((row) => linesOf(row).map((line) => html`<li><bdi>${plain(line, 500)}</bdi></li>`));
  return frame(
    `Request ${ask.id}`,
    html`${stateOf(ask)} ${plain(ask.by ?? NOBODY, 60)} · ${times.at(ask.at)}${cost === null ? nothing : html` · ${cost}`} · <a href="/asks">All requests</a>`,
    html`<section><p class="words"><bdi>${plain(ask.text, 10_000)}</bdi></p></section>
<section aria-labelledby="end"><h2 id="end">${ask.end?.kind === "question" ? "Your answer" : "How it ended"}</h2>${endView(ask, token)}</section>
<section aria-labelledby="steps"><h2 id="steps">What happened</h2>${notes.length === 0 ? html`<p class="empty">Nothing yet.</p>` : html`<ul class="list">${notes}</ul>`}</section>`,
  );
}

function linesOf({ note, message }: AskRow): string[] {
  const parts = message?.role === "assistant" && typeof message.content !== "string" ? message.content : [];
  const said = parts.flatMap((part) => (part.type === "text" && part.text.trim() !== "" ? [`the model says: “${part.text.trim()}”`] : []));
  return [...(note === undefined ? [] : [note]), ...said];
}

function endView(ask: Ask, token: string): Html {
  const { end, id } = ask;
  if (end === null) return html`<p>It is being worked on. <a href="/asks/${id}">Refresh</a></p>`;
  if (end.kind === "card")
    return html`<p><a href="/proposals/${end.number}">Proposal ${end.number}</a>: <bdi>${plain(end.title, 200)}</bdi></p>`;
  if (end.kind === "question") return questionCard({ ...ask, text: "" }, end, token);
  if (end.kind === "answer") return answerView(end);
  return html`<p><bdi>${plain(end.reason, 1000)}</bdi></p>${end.findings.length === 0 ? nothing : html`<ul class="list">${end.findings.map((one) => html`<li class="attention-text"><bdi>${plain(one, 500)}</bdi></li>`)}</ul>`}${
    end.open
      ? html`<form method="post" action="/asks/${id}">${hidden(token)}<p class="buttons"><button class="yes">Go on</button></p></form>`
      : nothing
  }`;
}

function answerView({ text, figures }: Ended<"answer">): Html {
  return html`<p class="headline words"><bdi>${plain(text, 2000)}</bdi></p>${figures.map(
    ({ label, value, source, entries, proof }) =>
      html`<article class="card"><h3><bdi>${plain(label, 120)}: ${plain(value, 60)}</bdi></h3><p class="faint">${plain(proof ?? `computed by ${source}`, 200)}</p>${
        entries.length === 0
          ? nothing
          : html`<ul class="list">${entries.map((one) => html`<li>${one.date} <bdi>${plain(one.description, 200)}</bdi> ${plain(one.amount, 40)} <code>${one.id}</code></li>`)}</ul>`
      }</article>`,
  )}`;
}

/** A question of a request, on its page and among the open cards. */
export function questionCard(
  { id, text }: Ask,
  { question, options, outside = [] }: Ended<"question">,
  token: string,
  typed: Typed = {},
): Html {
  return html`<article class="card" aria-labelledby="ask-${id}"><p class="eyebrow">Question to request <a href="/asks/${id}">${id}</a></p><h3 id="ask-${id}"><bdi>${plain(question, 500)}</bdi></h3>${text === "" ? nothing : html`<p class="faint"><bdi>${plain(text, 200)}</bdi></p>`}${outside.length === 0 ? nothing : html`<p class="attention-text">${plain(askedAfter(outside), 600)}</p>`}
<form method="post" action="/asks/${id}" aria-label="Question ${id}">${hidden(token)}${
    options.length === 0
      ? nothing
      : html`<p class="field"><label for="ask-${id}-option">Answer</label><select id="ask-${id}-option" name="option"><option value=""></option>${options.map((one) => html`<option ${one === typed["option"] ? "selected" : ""}>${plain(one, 100)}</option>`)}</select></p>`
  }<p class="field"><label for="ask-${id}-answer">${options.length === 0 ? "Answer" : "Or in your words"}</label><input id="ask-${id}-answer" name="answer" value="${typed["answer"] ?? ""}" maxlength="2000" autocomplete="off"></p><p class="buttons"><button class="yes">Answer</button></p></form></article>`;
}
