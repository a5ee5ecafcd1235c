/**
 * Proof that this user's own processes started a run, by this code with this input, and wrote its whole history: a keyed hash over both, stored
 * when it starts and with each step. For any other run somebody else may have chosen the policy or what it judged, so it decides nothing there
 * without a person (`notJudged` in engine/access.ts). The key lies outside the workspace (workspace/settings/confirmation.ts).
 */
import { hash } from "node:crypto";
import type { Sealer, Step } from "../../kernel/ports.ts";
import type { Database } from "./database.ts";
import { dropFact, dropFacts, getFact, setFact } from "./facts.ts";
import type { RunRow } from "./rows.ts";

const textOf = ({ seq, name, effect, params, state, result, error, changes, at, attempts }: Step): string =>
  JSON.stringify([seq, name, effect, params, state, result, error, changes, at, attempts]);

const originOf = (run: RunRow): string =>
  JSON.stringify([
    ...[run.agent, run.cause_kind, run.cause_key, run.cause_detail, run.mode, run.pin_commit, run.pin_blob, run.pin_api],
    ...[run.input, run.parent, run.given, run.started_by, run.created_at, run.not_before],
  ]);

const endOf = ({ ended_at, status, outcome, result, error }: RunRow): string =>
  ended_at === null ? "" : JSON.stringify([status, outcome, result, error]);

export type Seal = ReturnType<typeof createSeal>;

/** The seal of a history that grows: a step that has its outcome is hashed once. */
export function createSeal(database: Database, run: RunRow, seal: Sealer) {
  const isCalled = run.parent !== null && run.cause_kind === "agent";
  const name = `history of ${isCalled ? `${run.parent}/` : ""}${run.id}`;
  const begun = `history of ${run.id}/here`;
  const isOn = (steps: readonly Step[]): boolean => getFact(database, name) === of(steps);
  let [count, digest] = [0, hash("sha256", originOf(run))];
  const of = (steps: readonly Step[], end = endOf(run)): string => {
    let next = steps[count];
    for (; next !== undefined && next.state !== "intent"; next = steps[++count]) digest = hash("sha256", `${digest}${textOf(next)}`);
    return seal("history", run.id, count, digest, next === undefined ? "" : textOf(next), end);
  };
  return {
    isOn,
    /** Whether this user's processes started it in this folder, whoever changed its rows since: then what was sent is known beside the store. */
    isHere: (steps: readonly Step[]): boolean => getFact(database, begun) === seal("begun", run.id) || isOn(steps),
    begin: (): void => setFact(database, begun, seal("begun", run.id)),
    put: (steps: readonly Step[]): void => setFact(database, name, of(steps)),
    /** The proof of a run that has ended, for its caller or to resume it. `ours`: whether it had one. */
    end(steps: readonly Step[], ended: RunRow, ours: boolean): void {
      const isOver = ended.status === "done" || ended.status === "canceled";
      if (ours && (isCalled || !isOver)) setFact(database, name, of(steps, endOf(ended)));
      else dropFact(database, name);
      if (isOver) dropFacts(database, `history of ${run.id}/`, () => true);
    },
  };
}
