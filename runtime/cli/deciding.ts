/** What approve and reject share: sign, send, say what came of it. */
import { ClearedError } from "../errors.ts";
import type { Decision, Json } from "../ports.ts";
import { withApi } from "./connect.ts";
import { findWorkspace } from "./find.ts";
import { signAs } from "./decide.ts";
import { readLocal } from "./local.ts";
import type { Invocation } from "./main.ts";
import { cardLines, parseJson, runLine } from "./text.ts";

export async function decideAll(
  at: Invocation,
  cards: string[],
  decision: "approved" | "rejected",
  options: Record<string, unknown>,
): Promise<number> {
  const { output } = at;
  const dir = findWorkspace(at.dir);
  const { trust } = readLocal(dir);
  const ids = cards.map((card) => {
    if (!/^\d{1,9}$/.test(card)) throw new ClearedError("USAGE", `"${card}" is not a card's number; \`cleared queue\` shows them.`);
    return Number(card);
  });
  const extra = {
    ...(options["reason"] === undefined ? {} : { reason: String(options["reason"]) }),
    ...(options["account"] === undefined ? {} : { account: String(options["account"]) }),
    ...(options["result"] === undefined ? {} : { result: parseJson(String(options["result"]), "--result") as Json }),
  };
  const decided = await withApi(dir, async (api) => {
    const all = [];
    for (const card of ids) {
      const signed: Decision = signAs(dir, trust, { card, decision, at: Date.now(), ...extra }, options["by"] as string | undefined);
      const one = await api.decide({ decision: signed });
      // The run goes on at once; a person wants to see where it got to.
      all.push({ ...one, run: one.run === null || one.card.gate === null ? one.run : await api.status({ run: one.run.id, wait: true }) });
    }
    return all;
  });
  output.result(decided);
  for (const one of decided) {
    for (const line of cardLines(output, one.card)) output.line(line);
    if (one.commit !== null) output.line(`      commit ${one.commit.slice(0, 7)}`);
    if (one.run !== null && one.card.gate !== null) output.line(`      ${runLine(output, one.run).join("  ").trimEnd()}`);
  }
  return 0;
}
