/**
 * The rights a recorded step still gives a run that is executed again. A row of the store proves nothing: an approval is counted again by the
 * signatures stored with it, and a verdict is judged again from the facts the script is served. Done before anything acts.
 */
import type { Change, Json, RunLog, Step, WorkspaceView } from "../kernel/ports.ts";
import { type Gate, type StepContext, callPrimitive } from "../kernel/primitive.ts";
import type { RunState } from "./access.ts";
import { recount } from "./approval.ts";
import { canonicalJson } from "../kernel/canonical.ts";
import { mayStandIn, whoMay } from "./process.ts";
import { detachedLog, quietContext } from "./replay.ts";
import type { World } from "./world.ts";
import type { Header } from "../scripts/header.ts";
import type { Callable } from "./script.ts";

type Proving = Pick<World, "authority" | "standing" | "people" | "view">;

/** The step, its decisions and verdicts replaced by what proves true today, or dropped. `state`: of the run before this step. */
export async function provenStep(
  step: Step,
  log: RunLog,
  state: RunState,
  world: Proving,
  callable: Callable,
  header: Header,
): Promise<Step> {
  const givesRights = step.changes.some(({ op }) => op === "decided" || op === "verdict" || (op === "accepted" && !log.ours));
  if (log.run.mode !== "live" || !givesRights) return step;
  const changes: Change[] = [];
  for (const change of step.changes) {
    const proven =
      change.op === "decided"
        ? await decidedAgain(change, step.seq, log, state, world)
        : change.op === "verdict"
          ? await judgedAgain(step, log, world, callable, header)
          : change.op === "accepted" && !log.ours
            ? null
            : change;
    if (proven !== null) changes.push(proven);
    if (proven === null || canonicalJson(proven) !== canonicalJson(change))
      log.event("log", { level: "warn", message: `What step ${step.seq} records ${saidIn(change)} no longer counts as recorded.` });
  }
  return { ...step, changes };
}

async function decidedAgain(
  change: Extract<Change, { op: "decided" }>,
  seq: number,
  log: RunLog,
  state: RunState,
  { authority, standing, people }: Proving,
): Promise<Change | null> {
  const question = change.given?.question as unknown as Gate["card"] | undefined;
  if (question === undefined) return null;
  const asking = { log, seq, authority, standing: mayStandIn(question, state, log.run) ? standing : null };
  return recount(asking, change, whoMay(question, state, log.run, people));
}

async function judgedAgain(step: Step, { run }: RunLog, world: Proving, callable: Callable, header: Header): Promise<Change | null> {
  const view: WorkspaceView = await world.view(run, detachedLog(run), () => step.at);
  const ctx: StepContext = quietContext(run, step, view, header.process);
  try {
    await callPrimitive(await callable.primitive(step.name), JSON.parse(step.params) as Json, ctx);
  } catch {
    return null; // a call that fails gives no verdict
  }
  return view.takeChanges().find(({ op }) => op === "verdict") ?? null;
}

const saidIn = (change: Change): string =>
  change.op === "decided" ? `${change.by} decided` : change.op === "accepted" ? `that ${change.by} accepted` : "the policy said";

const COPIED = "The policy judged what another run had read: this run is a copy, and what it read may have changed since.";
const FOREIGN =
  "Nothing proves that this user wrote this run's history, and that neither it nor the answer of a run it called was changed since: what the policy judged may not be so.";

/** Why the policy decides nothing alone in this run, as a sentence, or null. */
export function doubtIn({ run, steps, ours }: Pick<RunLog, "run" | "steps" | "ours">): string | null {
  const { steps: copied = 0 } = (run.cause.kind === "fork" ? run.cause.detail : {}) as { steps?: number };
  if (steps.some(({ seq, effect, state }) => seq < copied && effect === "read" && state !== "intent")) return COPIED;
  return ours ? null : FOREIGN;
}
