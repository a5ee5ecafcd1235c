/** Applies the rules of policies/ to the facts of a run. The verdict is stored with the run; the gate and the state machine follow it. */
import { z } from "zod";
import type { Json } from "../runtime/kernel/ports.ts";
import { definePrimitive } from "../runtime/kernel/primitive.ts";
import { verdictShape } from "../runtime/kernel/verdict.ts";
import { record, text } from "./_shapes.ts";

export const policy_evaluate = definePrimitive({
  name: "policy_evaluate",
  effect: "control",
  from: "tree",
  access: "decide",
  summary: "The verdict of the rules about facts: pass, inform, require_approval, escalate or block. A missing fact never passes.",
  params: z.object({
    facts: record.describe("values of the facts the policy declares; money as text or Decimal"),
    policy: text
      .optional()
      .describe("name of a file in policies/ that judges in addition to the agent's own, which is named by `process:` or the agent"),
    about: record.optional().describe("what the answer says about the case if the run ends here or at its gate: amount, vendor, person"),
  }),
  returns: verdictShape,
  errors: ["POLICY_INVALID", "POLICY_UNKNOWN"],
  example: `policy_evaluate({ policy: "order_management", facts: { total: "12000.00", credit_hold: false, needs_allocation: false } })`,
  run: (p, { run, ports, changed }) => {
    if (p.about !== undefined) changed({ op: "about", about: p.about as Record<string, Json> });
    const own = { name: run.process ?? run.agent, required: run.process !== undefined };
    return ports.policies.evaluate(p.policy ?? own.name, p.facts, own);
  },
});
