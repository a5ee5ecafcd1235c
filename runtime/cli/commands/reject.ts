/** `cleared reject N`: say no to a card, as the person whose key this shell holds. */
import type { Invocation } from "../commands.ts";
import { decideAll } from "../deciding.ts";

export function run(at: Invocation, [cards]: (string | string[] | undefined)[], options: Record<string, unknown>): Promise<number> {
  return decideAll(at, cards as string[], () => ({ decision: "rejected" }), options);
}
