/** What the rules of policies/ say about the facts of a run. The verdict is kept with the run; the gate and the state machine follow it. */
import { z } from "zod";
import type { Json } from "../runtime/kernel/ports.ts";
import { definePrimitive } from "../runtime/kernel/primitive.ts";
import { STRICTNESS } from "../runtime/kernel/states.ts";
import { record, text } from "./_shapes.ts";

const word = z.enum(STRICTNESS);

export const policy_evaluate = definePrimitive({
  name: "policy_evaluate",
  effect: "control",
  from: "tree",
  access: "decide",
  summary: "What the rules say about facts: pass, inform, require_approval, escalate or block. A missing fact never passes.",
  params: z.object({
    facts: record.describe("values of the facts the policy declares; money as text or Decimal"),
    policy: text
      .optional()
      .describe("name of a file in policies/ that judges in addition to the agent's own, which is named by `process:` or the agent"),
    about: record.optional().describe("what the answer says of the case where the run ends here or at its gate: amount, vendor, who"),
  }),
  returns: z.object({
    verdict: word,
    passed: z.boolean().describe("pass or inform"),
    blocked: z.boolean(),
    requires_approval: z.boolean(),
    escalation_required: z.boolean(),
    level: z.string().nullable().describe("who may approve, in one word"),
    levels: z.array(z.string()).describe("every demand that must be met"),
    approvals: z.number().describe("distinct people who must approve"),
    distinct_from_requester: z.boolean(),
    triggered: z.array(
      z.object({
        rule: z.string(),
        action: word,
        level: z.string().nullable(),
        description: z.string(),
        because: z.string(),
        source: z.string(),
      }),
    ),
    indeterminate: z.array(z.object({ rule: z.string(), missing: z.array(z.string()) })).describe("rules that could not be decided"),
    summary: z.string(),
    inputs_hash: z.string(),
    policy_hash: z.string(),
  }),
  errors: ["POLICY_INVALID", "POLICY_UNKNOWN"],
  example: `policy_evaluate({ policy: "order_management", facts: { total: "12000.00", credit_hold: false, needs_allocation: false } })`,
  run: (p, { run, ports, changed }) => {
    if (p.about !== undefined) changed({ op: "about", about: p.about as Record<string, Json> });
    const own = { name: run.process ?? run.agent, required: run.process !== undefined };
    return ports.policies.evaluate(p.policy ?? own.name, p.facts, own);
  },
});
