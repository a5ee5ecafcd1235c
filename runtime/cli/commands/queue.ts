/** `cleared queue`: the cards that wait for a person. */
import { findWorkspace } from "../find.ts";
import { withStore } from "../look.ts";
import type { Invocation } from "../commands.ts";
import { cardLines, toCount } from "../text.ts";

export async function run(at: Invocation, _: (string | string[] | undefined)[], options: Record<string, unknown>): Promise<number> {
  const { output } = at;
  const last = options["all"] === true ? toCount(options["limit"] ?? "200", "--limit") : null;
  const cards = await withStore(findWorkspace(at.dir), (look) => look.queue(last));
  output.result(cards);
  for (const card of cards) for (const line of cardLines(output, card)) output.line(line);
  if (cards.length === 0) output.line("Nothing waits for a person.");
  return 0;
}
