/**
 * Rules proposed from decisions on cards: if another change of the script has overtaken one, it is made again on top of that change, so that a
 * person who answered two questions about one script is not asked again. It is approved separately, like any other.
 */
import { ClearedError } from "../kernel/errors.ts";
import type { Card } from "../kernel/ports.ts";
import { conflictOf } from "../change/proposals/commit.ts";
import { type ProposalStore, OPEN, createProposals } from "../change/proposals/store.ts";
import { type Proposal, answeredCard } from "../change/proposal-types.ts";
import type { Host } from "./host.ts";
import { proposeRule } from "./learn.ts";

/** The number of the new proposal by the id of each overtaken one. @throws GIT_FAILED */
export async function proposeAgain(host: Host): Promise<Map<string, number>> {
  const store: ProposalStore = createProposals(host);
  const made = new Map<string, number>();
  for (const proposal of await store.list()) {
    const card = OPEN.includes(proposal.state) && proposal.state !== "approved" ? ruleCardOf(host, proposal) : null;
    if (card === null || (await conflictOf(host, proposal, host.git.tree(await host.git.head()))) === null) continue;
    try {
      const number = await proposeRule(host, card, proposal.by);
      if (typeof number === "number") made.set(proposal.id, number);
    } catch (error) {
      // What the decision referred to, such as an account, is gone as well: it stays blocked, with its reason.
      if (!(error instanceof ClearedError)) throw error;
    }
  }
  return made;
}

/** The card of the rule from which a proposal was made; null for other proposals. */
function ruleCardOf({ cards }: Host, proposal: Proposal): Card | null {
  const card = cards.get(answeredCard(proposal));
  return card?.kind === "rule" && card.decision?.decision === "approved" && card.decision.by === proposal.by ? card : null;
}
