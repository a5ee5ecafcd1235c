/** The state machine of a process agent: the script enters states, the host decides what each allows (runtime/kernel/states.ts). */
import { z } from "zod";
import { ClearedError } from "../runtime/kernel/errors.ts";
import type { State } from "../runtime/kernel/ports.ts";
import { End, definePrimitive } from "../runtime/kernel/primitive.ts";
import { STATES, move } from "../runtime/kernel/states.ts";
import { text } from "./_shapes.ts";

export const fsm_enter = definePrimitive({
  name: "fsm_enter",
  effect: "control",
  access: "context",
  summary:
    "Enter the next state of the agent's `states:`. A blocked verdict ends the run here; a verdict that escalates waits here for a person and continues at APPROVAL_GATE, where approval_wait returns their decision; FAILED after a rejection ends it as rejected.",
  params: z.object({
    state: z.enum(STATES).describe("one of the header's states, or ESCALATE, FAILED"),
    reason: text.optional().describe("why, for the person who reads it; with ESCALATE and FAILED"),
  }),
  returns: z.object({ state: z.string(), line: z.string().describe("what the header says happens in it") }),
  errors: ["FSM_EDGE", "FSM_GATE"],
  example: `fsm_enter("ASSESS")`,
  run: async (p, ctx) => {
    const { process } = ctx;
    if (process === null)
      throw new ClearedError(
        "FSM_EDGE",
        "This agent has no states. Add them to its header: states: [ASSESS, COMPUTE, POLICY_CHECK, APPROVAL_GATE, MUTATE].",
      );
    const answer = move(process, p.state);
    if (answer instanceof ClearedError) throw answer;
    if (typeof answer === "object") throw new End(answer.end, answer.why, answer);
    const why = p.reason === undefined ? {} : { why: p.reason };
    const enter = (state: State) => ctx.changed({ op: "entered", state, machine: process.machine.hash, ...why });
    if (answer === "enter") {
      enter(p.state);
      return { state: p.state, line: process.machine.states.find((one) => one.state === p.state)?.line ?? "" };
    }
    const rejection = await ctx.escalate(p.reason);
    // At its gate the script may still report the rejection; elsewhere it would continue as if approved.
    if (rejection !== null && p.state !== "APPROVAL_GATE") throw rejection;
    if (process.current !== "ESCALATE") enter("ESCALATE");
    enter("APPROVAL_GATE");
    return { state: "APPROVAL_GATE", line: "" };
  },
});
