/** `cleared queue`: the open cards; `queue show N`: one card with all its details. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ClearedError } from "../../kernel/errors.ts";
import type { Card } from "../../kernel/ports.ts";
import { withStore } from "../../app/look.ts";
import { socketPath } from "../../app/socket.ts";
import { tryGit } from "../../workspace/git/git-process.ts";
import { JOURNAL, STORE } from "../../workspace/layout.ts";
import type { Command, Invocation } from "../invocation.ts";
import { cardLines, cardNumber, factLines, toCount } from "../text.ts";

export const run: Command = async (at, [verb, number], options) => {
  if (verb === "show") return show(at, number);
  const { output, dir } = at;
  const last = options["all"] === true ? toCount(options["limit"] ?? "200", "--limit") : null;
  const listed = () => withStore(dir, async (look) => ({ cards: await look.queue(last), followed: look.followed }));
  const pending = await tryGit(dir, ["grep", "-h", "^ *; status: pending-review$", "HEAD", "--", JOURNAL]);
  const unaskedIn = (cards: readonly Card[]) =>
    pending.stdout.toString().split("\n").length - 1 - cards.filter(({ kind, decision }) => kind === "entry" && decision === null).length;
  let { cards, followed } = await listed();
  // What plain git moved is asked about once the cards follow the books.
  const { stdout: head } = await tryGit(dir, ["rev-parse", "HEAD"]);
  const isBehind = followed !== head.toString().trim() || unaskedIn(cards) !== 0;
  if (last === null && isBehind && existsSync(join(dir, STORE)) && !existsSync(socketPath(dir))) {
    const { withLook } = await import("../../app/connect.ts");
    await withLook(dir, async (_, host) => (await import("../../app/reconcile.ts")).reconcileCards(host));
    ({ cards } = await listed());
  }
  output.result(cards);
  for (const card of cards) output.lines([...cardLines(output, card), ...(card.decision === null ? factLines(output, card, false) : [])]);
  const unasked = unaskedIn(cards);
  if (last === null && unasked > 0)
    output.line(`Pending entries of the books without a card here: ${unasked}. \`cleared start\` asks about them.`);
  else if (cards.length === 0) output.line("Nothing waits for a person.");
};

async function show(at: Invocation, number: string | undefined): Promise<number | undefined> {
  if (number === undefined) throw new ClearedError("USAGE", "Name a card by its number: `cleared queue show N`.");
  const id = cardNumber(number);
  const { output, dir } = at;
  const card = await withStore(dir, (look) => look.card(id));
  if (card === null) throw new ClearedError("CARD_UNKNOWN", `There is no card ${id}. \`cleared queue\` lists the open ones.`);
  // A proposal's card is made from git, including its effects.
  if (card.kind === "proposal") return (await import("./proposals.ts")).run(at, ["show", String(id)], {});
  output.result(card);
  output.lines([...cardLines(output, card), ...factLines(output, card, true)]);
  return 0;
}
