/** `cleared answer N name=value …`: fill in a form, as the person whose key this shell holds. */
import { ClearedError } from "../../kernel/errors.ts";
import type { Invocation } from "../commands.ts";
import { agreed } from "../../app/decide.ts";
import { decideAll, pairsOf } from "../deciding.ts";

export function run(at: Invocation, [card, values]: (string | string[] | undefined)[], options: Record<string, unknown>): Promise<number> {
  const given = pairsOf((values ?? []) as string[]);
  return decideAll(
    at,
    [String(card)],
    (card) => {
      if (card.kind !== "form")
        throw new ClearedError("USAGE", `Card ${card.id} asks for a decision, not for values: approve or reject it.`);
      return agreed(card, given);
    },
    options,
  );
}
