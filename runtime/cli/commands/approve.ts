/** `cleared approve N`: say yes to a card, as the person whose key this shell holds; with --set to calls that are changed first. */
import type { Invocation } from "../commands.ts";
import { agreed } from "../../app/decide.ts";
import { decideAll, pairsOf } from "../deciding.ts";

export function run(at: Invocation, [cards]: (string | string[] | undefined)[], options: Record<string, unknown>): Promise<number> {
  const sets = pairsOf((options["set"] ?? []) as string[]);
  return decideAll(at, cards as string[], (card) => agreed(card, sets), options);
}
