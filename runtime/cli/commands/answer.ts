/** `cleared answer N name=value …`: fill in a form, as the person whose key this shell holds. */
import { readForm } from "../../engine/edits.ts";
import { ClearedError } from "../../errors.ts";
import type { Invocation } from "../main.ts";
import { decideAll, pairsOf } from "../deciding.ts";

export function run(at: Invocation, [card, values]: (string | string[] | undefined)[], options: Record<string, unknown>): Promise<number> {
  const given = pairsOf((values ?? []) as string[]);
  return decideAll(
    at,
    [String(card)],
    ({ id, kind, fields }) => {
      if (kind !== "form") throw new ClearedError("USAGE", `Card ${id} asks for a decision, not for values: approve or reject it.`);
      return { decision: "approved", result: readForm(fields ?? {}, given) };
    },
    options,
  );
}
