/**
 * Cards of proposals: each proposal that is seen in this workspace gets one, whose id is its number, and the card follows its state.
 * Invariant: a proposal has one card here, and that card is open exactly as long as the proposal is on its way.
 */
import { canonicalJson } from "../../kernel/canonical.ts";
import { NOTHING_ASKED } from "../../engine/cards.ts";
import type { Database } from "../../engine/database.ts";
import type { Card, Cards, Clock, Json } from "../../kernel/ports.ts";
import type { Kept } from "./document.ts";

export function createProposalCards({ cards, clock, database }: { cards: Cards; clock: Clock; database: Database }) {
  const bodyOf = ({ id, commit, report, state, by, files }: Kept): Json => {
    return { proposal: id, commit, since: report?.since ?? report?.at ?? null, state, by, files: files.map(({ path }) => path) };
  };
  const mine = (): Map<string, Card> => {
    const found = new Map<string, Card>();
    for (const card of cards.list({ kind: "proposal" })) {
      const { proposal } = card.body as { proposal?: string };
      if (proposal !== undefined && !found.has(proposal)) found.set(proposal, card);
    }
    return found;
  };

  return {
    /** Brings cards in line with the proposals; answers the number of each. */
    follow(proposals: readonly Kept[]): Map<string, number> {
      let known = mine();
      // In the order they were made, so that numbers tell which came first.
      const fresh = proposals.filter(({ id }) => !known.has(id)).sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1));
      const open = (one: Kept) => {
        const draft = { ...NOTHING_ASKED, kind: "proposal" as const, title: one.title, body: bodyOf(one), run: null };
        cards.open(`proposal/${one.id}`, draft, one.at);
      };
      if (fresh.length > 0) database.write(() => fresh.forEach(open));
      if (fresh.length > 0) known = mine();
      const numbers = new Map<string, number>();
      for (const one of proposals) {
        const card = known.get(one.id);
        if (card === undefined) continue;
        numbers.set(one.id, card.id);
        const body = bodyOf(one);
        if (canonicalJson(card.body) !== canonicalJson(body)) cards.restate(card.id, { title: one.title, body });
        if (card.decision === null && ended(one)) cards.decide(card.id, endOf(one, card.id, clock.now()));
      }
      return numbers;
    },
    /** A card that was opened for a draft becomes the card of this proposal. */
    adopt: (card: number, proposal: Kept): void => cards.restate(card, { title: proposal.title, body: bodyOf(proposal) }),
  };
}

const ended = ({ state }: Kept): boolean => state === "applied" || state === "rejected" || state === "superseded" || state === "reverted";

/** What closes the card: the last decision, wherever it was made, else what happened without one. */
function endOf(one: Kept, card: number, now: number) {
  const said = one.state === "rejected" ? "rejected" : one.state === "superseded" ? "expired" : "approved";
  const decided = one.decisions.findLast(({ decision }) => (decision === "rejected") === (said === "rejected"));
  if (decided !== undefined && said !== "expired") return { ...decided, card };
  return { card, decision: said, by: "runtime", at: now, ...(one.why === null ? {} : { reason: one.why }) } as const;
}
