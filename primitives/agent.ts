/** Another agent as a step of this one: the child is a separate run, with the rights of its own header, its own gates and its own commits. */
import { z } from "zod";
import type { Json } from "../runtime/kernel/ports.ts";
import { type StepContext, Suspend, definePrimitive } from "../runtime/kernel/primitive.ts";
import { json, record, shown, text } from "./_shapes.ts";

const name = text
  .refine((value) => /^[a-z][a-z0-9_-]{0,79}$/.test(value), { error: (issue) => `${shown(issue.input)} is not an agent's name` })
  .meta({ ts: "string" });

export const agent_call = definePrimitive({
  name: "agent_call",
  effect: "external",
  idempotent: "key",
  summary:
    "Run another agent and wait until it ends; needs `agent:NAME` in `uses:`. This run's writes are committed first. An agent with `mutates: false` counts as a read.",
  params: z.object({ agent: name.describe("name of a file in agents/"), input: record.optional().describe("the child's input") }),
  returns: z.object({
    run: z.string(),
    status: z.string().describe("done, failed, diverged or canceled"),
    outcome: z.string().nullable(),
    result: json,
    error: z.object({ code: z.string(), message: z.string() }).nullable(),
  }),
  errors: ["AGENT_UNKNOWN", "AGENT_DEPTH", "RUN_INPUT"],
  example: `agent_call({ agent: "look" })`,
  capability: (p) => `agent:${p.agent}`,
  classify: async (p, ctx) =>
    (await ctx.ports.children.readOnly(p.agent, ctx.key)) ? { effect: "read", access: "read" } : { effect: "external", access: "external" },
  run: called,
  // In a backtest the child's answer is looked up in the recording, never made up.
  dryRun: (p, ctx) =>
    ctx.run.mode === "backtest"
      ? called(p, ctx)
      : { run: "run_simulated", status: "done", outcome: "completed", result: null, error: null },
});

/** Starts the child, or finds it again, and waits for its end. @throws Suspend */
async function called({ agent, input = {} }: { agent: string; input?: Record<string, Json> | undefined }, ctx: StepContext) {
  await ctx.commit(`agent: ${ctx.run.agent}, before ${agent}`);
  const { run, ended } = await ctx.ports.children.run({ agent, input, key: ctx.key });
  if (ended === null) throw new Suspend("child", `${agent} (${run})`, { child: run });
  return { run, ...ended };
}
