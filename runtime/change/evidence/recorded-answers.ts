/**
 * A primitive as a trial calls it. The declaration is the same, so rights, states and parameters are checked as ever; only where the
 * answer comes from differs: computed, from the recording, simulated, or missing.
 */
import { shortJson } from "../../kernel/text.ts";
import { fromWire } from "../../kernel/errors.ts";
import type { Change, Json, Step } from "../../kernel/ports.ts";
import type { Primitive, StepContext } from "../../kernel/primitive.ts";
import { missing } from "./trial-environment.ts";
import type { Recorded } from "./recorded.ts";

interface Around {
  recorded: Recorded;
  /** Applies what a recorded step changed to the trial's view. */
  restore(step: Step): void;
  /** What had to be supposed, in words. */
  supposed: string[];
  /** True when statements are read again, because the change says otherwise how they are read. */
  rereads: boolean;
}

/** The primitive with the world replaced. Pure ones and the run's own moves are as they are. */
export function withRecordedAnswers(primitive: Primitive, around: Around): Primitive {
  const { recorded } = around;
  const keyed = (ctx: StepContext): StepContext => ({ ...ctx, key: recorded.key(ctx.run.id, Number(ctx.key.split("/").at(-1))) });
  const { effect, dryRun, ...rest } = primitive;
  const acts = effect === "external" || effect === "notify";
  if (effect === "pure") return primitive;
  if (!acts && effect !== "read") return { ...primitive, run: (params, ctx) => primitive.run(params, keyed(ctx)) };

  // What the world outside says depends on what was done to it before.
  const isOutside = acts || primitive.remote === true || primitive.plugin !== null;
  const recall = (params: unknown, follows: boolean) => {
    if (!follows)
      around.supposed.push(
        `${primitive.name}(${shortJson(params, 200)}) answers as recorded, though other things were done outside before it`,
      );
  };

  const look: Primitive["run"] = async (params, ctx) => {
    const { from } = primitive;
    const computes = from === "tree" || (from === "statement" && around.rereads) || (from === "run" && recorded.twin === null);
    // As live: what the script is told must not depend on its being tried.
    if (computes) return primitive.run(params, { ...keyed(ctx), run: { ...ctx.run, mode: "live" } });
    if (recorded.twin !== null) {
      if (isOutside) recall(params, recorded.follows(false));
      return answerOf(recorded.twin, ctx, around);
    }
    // What the workspace answers changes with what the run writes; the world outside stays until something is done to it.
    const again = isOutside ? recorded.again() : null;
    if (again === null)
      throw missing(
        `it asks ${askedIn(params) ?? primitive.name} something it never asked before: ${primitive.name}(${shortJson(params, 200)})`,
      );
    around.supposed.push(
      `${primitive.name}(${shortJson(params, 200)}) answers what it did before, though the recorded run did not ask it so often`,
    );
    return answerOf(again, ctx, around);
  };
  if (!acts) return { ...rest, effect, run: look };
  return {
    ...rest,
    effect,
    run: look,
    dryRun: async (params, ctx) => {
      const follows = recorded.follows(effect === "external");
      if (recorded.twin !== null) {
        recall(params, follows);
        return answerOf(recorded.twin, ctx, around);
      }
      const answer = (await dryRun?.(params, keyed(ctx))) as Json;
      around.supposed.push(`${primitive.name}(${shortJson(params, 200)}) answers ${shortJson(answer, 200)}`);
      return answer;
    },
  };
}

/** The tool that is asked, where a tool is. */
const askedIn = (params: unknown): string | null =>
  typeof params === "object" && params !== null && "tool" in params ? String(params.tool) : null;

/** Decisions and moves are the trial's own. */
const OWN: ReadonlySet<Change["op"]> = new Set(["committed", "decided", "answered", "entered", "verdict"]);

async function answerOf(twin: Step, ctx: StepContext, { restore }: Around): Promise<Json> {
  if (twin.changes.some((change) => change.op === "committed")) await ctx.commit("before the call");
  const changes = twin.changes.filter((change) => !OWN.has(change.op));
  restore({ ...twin, changes });
  for (const change of changes) ctx.changed(change);
  if (twin.error !== null) throw fromWire(twin.error);
  return JSON.parse(twin.result ?? "null") as Json;
}
