/** The card of a proposal on the start page: the lines of proposals/card.ts, shortened, and the way to its own page. */
import { cardOf } from "../proposals/card.ts";
import type { Proposal } from "../proposals/types.ts";
import { type Html, html, plain } from "./html.ts";

const LINES = 14;
const LONGEST = 300;

/** What stands on the start page's card of a proposal: its lines without the checks that passed. */
export function proposalSummary(proposal: Proposal, timezone: string): Html {
  const { lines } = cardOf(proposal, { timezone });
  const shown = lines.filter((line) => !/^(?:checks: |it is ready$)/.test(line));
  return html`<div class="calls">${shown.slice(0, LINES).map(told)}</div><p><a href="/proposals/${proposal.number}">Everything about it</a></p>`;
}

/** A line of the card; what widens is marked. */
function told(line: string): Html {
  const below = /^ +/.test(line);
  const tone = /^ {2}! /.test(line) ? "attention-text" : below ? "faint" : "";
  return html`<p class="${below ? `below ${tone}` : tone}">${plain(line.trim().replace(/^! /, ""), LONGEST)}</p>`;
}
