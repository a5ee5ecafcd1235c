/** External agents, over A2A. An answer is somebody's statement: data, redacted, and not a source of amounts. */
import { z } from "zod";
import { ClearedError } from "../runtime/kernel/errors.ts";
import type { Json, RemoteCall } from "../runtime/kernel/ports.ts";
import { type StepContext, Suspend, definePrimitive } from "../runtime/kernel/primitive.ts";
import { oneLine } from "../runtime/kernel/text.ts";
import { redactJson } from "../runtime/rules/privacy/scan.ts";
import { isObject } from "../runtime/rules/tools/shape.ts";
import { json, record, text } from "./_shapes.ts";

const params = z.object({
  agent: text.describe("a name under a2a: in trust.yaml"),
  text: text.optional().describe("the task in words; pass this, data, or both"),
  data: json.optional(),
  skill: text.optional().describe("which of its skills; default: it decides"),
  timeout: z
    .int()
    .min(1)
    .max(604_800)
    .optional()
    .describe("seconds of work, without waiting for people; default: timeout_ms of trust.yaml"),
  fallback: z
    .strictObject({ agent: text, input: record.default({}) })
    .optional()
    .describe("an agent of this workspace that does it when the other is down or too late; needs `agent:NAME` in `uses:`"),
});
type Asked = z.output<typeof params>;

const SIMULATED = { agent: "simulated", task: null, state: "completed", text: "", data: null };
const FIELD_TYPES = ["string", "number", "integer", "boolean", "money", "date"];

export const a2a_call = definePrimitive({
  name: "a2a_call",
  effect: "external",
  idempotent: "asks",
  stated: true,
  summary:
    "Give a task to an external agent and wait for its end. A person here answers its questions; its own approvals are waited for. With the class read in trust.yaml the call counts as a read.",
  params,
  returns: z.object({
    agent: z.string(),
    task: z.string().nullable().describe("its id there"),
    state: z.string().describe("completed, failed, rejected or canceled"),
    text: z.string(),
    data: json,
  }),
  errors: ["REMOTE_UNKNOWN", "REMOTE_DOWN", "REMOTE_TIMEOUT", "REMOTE_REFUSED", "PARAMS_INVALID", "AGENT_UNKNOWN"],
  example: `a2a_call({ agent: "treasury", text: "How much of the credit line is open?", timeout: 60 })`,
  needs: (p) => (p.fallback === undefined ? [] : [`agent:${p.fallback.agent}`]),
  classify: async (p, ctx) => {
    const reads = (await ctx.ports.agents.classOf(p.agent, p.skill)) === "read";
    const looks = p.fallback === undefined || (await ctx.ports.children.readOnly(p.fallback.agent, ctx.key));
    return reads && looks ? { effect: "read", access: "read" } : { effect: "external", access: "external" };
  },
  run: (p, ctx) => (ctx.run.mode === "live" ? called(p, ctx) : { ...SIMULATED, agent: p.agent }),
  dryRun: (p) => ({ ...SIMULATED, agent: p.agent }),
});

async function called(p: Asked, ctx: StepContext) {
  const { agent, text, data, skill, timeout } = p;
  if (text === undefined && data === undefined) throw new ClearedError("PARAMS_INVALID", "a2a_call: give text, data or both.");
  const call: RemoteCall = { agent, text, data, skill, timeoutMs: timeout === undefined ? undefined : timeout * 1000 };
  let { inDoubt } = ctx;
  try {
    for (;;) {
      const step = await ctx.ports.agents.follow(call, { key: ctx.key, inDoubt, abort: ctx.abort, leaving: ctx.leaving });
      if (step.is === "ended") {
        const { task, state, text, data } = redactJson(step as unknown as Json) as unknown as typeof step;
        return { agent, task: task === "" ? null : task, state, text, data };
      }
      if (step.is === "given_up") return await instead(p, ctx);
      if (step.is === "waits") throw new Suspend(step.parked ? "remote_gate" : "remote", step.title);
      if (step.is === "asks") await answer(call, step, ctx);
      else if ((await happened(p, step.sent, ctx)) === "no") inDoubt = false;
    }
  } catch (error) {
    const late = error instanceof ClearedError && ["REMOTE_DOWN", "REMOTE_TIMEOUT"].includes(error.code) && error.data?.["open"] !== true;
    if (!late || p.fallback === undefined) throw error;
    ctx.ports.log(`${error.message} ${p.fallback.agent} takes over.`);
    await ctx.ports.agents.giveUp(agent, ctx.key);
    return instead(p, ctx);
  }
}

/** Its question is data from outside; a person of this business answers it, like any form. */
async function answer(
  call: RemoteCall,
  { id, text: asked, data }: { id: string; text: string; data: Json },
  ctx: StepContext,
): Promise<void> {
  const fields = fieldsIn(data);
  const title = oneLine(`${call.agent} asks: ${asked}`, 300);
  const card = { kind: "form" as const, title, body: { question: asked, id }, calls: [], fields, level: null, expires: null };
  const { decision, by, result } = await ctx.gate({ reason: "input", card });
  if (decision === "rejected") throw new ClearedError("REMOTE_REFUSED", `${by} gave no answer to what ${call.agent} asks.`);
  const values = isObject(result) ? result : {};
  await ctx.ports.agents.answer(call, { key: ctx.key, question: id, values, abort: ctx.abort });
}

/** The fields that it names, as in a header's input:, else one for free text. */
function fieldsIn(data: Json): Json {
  const named = isObject(data) && isObject(data["fields"]) ? Object.entries(data["fields"]) : [];
  const known = named.flatMap(([name, one]) => {
    const type = isObject(one) ? one["type"] : null;
    if (!/^[A-Za-z_][A-Za-z0-9_]{0,59}$/.test(name) || typeof type !== "string" || !FIELD_TYPES.includes(type)) return [];
    return [[name, { type, required: isObject(one) && one["required"] === true }] as const];
  });
  return known.length === 0 || known.length > 20 ? { answer: { type: "string", required: true } } : Object.fromEntries(known);
}

/** Only a person can tell whether the external agent was given the task. */
async function happened(p: Asked, sent: number, ctx: StepContext): Promise<"no"> {
  const { decision, result } = await ctx.gate({
    reason: "in_doubt",
    card: {
      kind: "in_doubt",
      title: `Did ${p.agent} get this task?`,
      body: {
        question: `Nobody knows whether it was taken. Look there: approve if it was, reject if it was not (then it is sent now).`,
        key: ctx.key,
        ...(sent > 1 ? { sent } : {}),
      },
      calls: [{ tool: "a2a_call", params: p as unknown as Json }],
      level: null,
      expires: null,
    },
  });
  if (decision === "rejected") return "no";
  const comment = typeof result === "string" ? ` ${result}` : "";
  throw new ClearedError("REMOTE_REFUSED", `A person says that ${p.agent} has this task; its result is not reported here.${comment}`);
}

/** A run of this workspace, with its own rights and gates. */
async function instead(p: Asked, ctx: StepContext) {
  const { fallback } = p;
  if (fallback === undefined) throw new ClearedError("REMOTE_TIMEOUT", `${p.agent} was given up before; start the run again.`);
  await ctx.commit(`agent: ${ctx.run.agent}, before ${fallback.agent}`);
  const child = await ctx.ports.children.run({ agent: fallback.agent, input: fallback.input, key: ctx.key });
  if (child.ended === null) throw new Suspend("child", `${fallback.agent} (${child.run})`, { child: child.run });
  const { status, outcome, result, error } = child.ended;
  const state = status !== "done" ? "failed" : outcome === "completed" ? "completed" : "rejected";
  const summary = isObject(result) && typeof result["summary"] === "string" ? result["summary"] : (error?.message ?? "");
  return { agent: fallback.agent, task: child.run, state, text: summary, data: result };
}
