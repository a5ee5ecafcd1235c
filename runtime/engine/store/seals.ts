/**
 * Proof that this user's own processes wrote a run's history, and that it is whole: a keyed hash over its steps, stored with each of them. A
 * policy may have judged what somebody put into any other history, so it decides nothing there without a person (`notJudged` in
 * engine/access.ts). The key lies outside the workspace (workspace/settings/confirmation.ts).
 */
import { hash } from "node:crypto";
import type { Sealer, Step } from "../../kernel/ports.ts";
import type { Database } from "./database.ts";
import { dropFact, getFact, setFact } from "./facts.ts";

const textOf = ({ seq, name, effect, params, state, result, error, changes, at, attempts }: Step): string =>
  JSON.stringify([seq, name, effect, params, state, result, error, changes, at, attempts]);

/** The seal of a history that grows: a step that has its outcome is hashed once. */
export function createSeal(database: Database, run: string, seal: Sealer) {
  const name = `history of ${run}`;
  let [count, digest] = [0, ""];
  const of = (steps: readonly Step[]): string => {
    let next = steps[count];
    for (; next !== undefined && next.state !== "intent"; next = steps[++count]) digest = hash("sha256", `${digest}${textOf(next)}`);
    return seal("history", run, count, digest, next === undefined ? "" : textOf(next));
  };
  return {
    /** True of an empty history, which claims nothing. */
    isOn: (steps: readonly Step[]): boolean => steps.length === 0 || getFact(database, name) === of(steps),
    put: (steps: readonly Step[]): void => setFact(database, name, of(steps)),
    drop: (): void => dropFact(database, name),
  };
}
