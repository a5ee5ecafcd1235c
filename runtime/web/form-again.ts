/** Forms that are shown on a page of their own: one that could not be carried out, as it was filled in, and the one that pairs a browser. */
import type { Facts } from "../app/facts.ts";
import { seenOf } from "../app/card-facts.ts";
import { questionCard, requestForm } from "./ask-view.ts";
import { cardView, entryOf, type Typed } from "./card-view.ts";
import { createTimes, frame, type Html, html, nothing } from "./html.ts";
import { proposalSummary } from "./proposal-view.ts";

interface Look {
  facts: Facts;
  token: string;
  now: number;
}

/** The form of this path with what was typed; null for a path whose form has no fields, or takes no answer any more. */
export async function formAgain(path: string, typed: Typed, look: Look): Promise<Html | null> {
  const [, of, id] = /^\/(cards|asks|pair)(?:\/(\d{1,9}))?$/.exec(path) ?? [];
  if (of === "cards") return cardAgain(Number(id), typed, look);
  if (of === "pair") return pairForm(look.token, typed["code"] ?? "");
  if (of === undefined) return null;
  if (id === undefined) return requestForm(look.token, typed["text"]);
  const found = await look.facts.ask(Number(id));
  return found?.ask.end?.kind === "question" ? questionCard(found.ask, found.ask.end, look.token, typed) : null;
}

async function cardAgain(id: number, typed: Typed, { facts, token, now }: Look): Promise<Html | null> {
  const card = await facts.card(id);
  if (card === null || card.decision !== null) return null;
  const entry = entryOf(card);
  const [{ timezone }, balances, entries, found] = await Promise.all([
    facts.state(),
    facts.balances(),
    facts.entries(entry === null ? [] : [entry]),
    card.kind === "proposal" ? facts.proposal(id) : null,
  ]);
  const summaries = new Map(found === null ? [] : [[id, proposalSummary(found.proposal, timezone)] as const]);
  // Values typed for another state of the card would change it back.
  const kept = typed["seen"] === seenOf(card) ? typed : { reason: typed["reason"] ?? "" };
  const accounts = balances.map(({ account }) => account);
  const times = createTimes(timezone, now);
  return html`<ol class="cards">${cardView(card, { token, accounts, entries, summaries, typed: kept, times })}</ol>`;
}

/** `code`: from the link that `cleared start` printed. Loading the page does not use it up: only the button does. */
export function pairPage(token: string, code: string): Html {
  return frame(
    "Pair this browser",
    nothing,
    html`<p>Only a paired browser shows the books and decides. Open the link that <code>cleared start</code> printed, or run <code>cleared pair</code> and enter its code.</p>${pairForm(token, code)}`,
  );
}

const pairForm = (token: string, code: string): Html =>
  html`<form method="post" action="/pair"><input type="hidden" name="token" value="${token}"><p class="field"><label for="code">Code</label><input id="code" name="code" value="${code}" required autocomplete="off" maxlength="40"></p><p class="buttons"><button class="yes">Pair</button></p></form>`;
