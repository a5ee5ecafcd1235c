/** The verdict of the rules about the facts of a run: names as scripts see them, and how strict each word is. */
import { z } from "zod";

/** From mild to strict; the strictest triggered rule decides. */
export const STRICTNESS = ["pass", "inform", "require_approval", "escalate", "block"] as const;
const word = z.enum(STRICTNESS);

export const verdictShape = z.object({
  verdict: word,
  passed: z.boolean().describe("pass or inform"),
  blocked: z.boolean(),
  requires_approval: z.boolean(),
  escalation_required: z.boolean(),
  // A rank or a functional role of the ladder; null when none is named.
  level: z.string().nullable().describe("who may approve, in one word"),
  // The highest rank, and each role, because no rank includes a role (rules/policy/levels.ts `meetsLevel`).
  levels: z.array(z.string()).describe("every demand that must be met"),
  // 0 when passed.
  approvals: z.number().describe("distinct people who must approve"),
  // True when a triggered rule bars the person who started the run from approving.
  distinct_from_requester: z.boolean(),
  requesters: z.array(z.string()).optional().describe("ids of whoever requested the case, who may not approve it"),
  // `because`: the comparisons that held, with their values.
  triggered: z.array(
    z.object({
      ...{ rule: z.string(), action: word, level: z.string().nullable() },
      ...{ description: z.string(), because: z.string(), source: z.string() },
    }),
  ),
  // Undecided rules demand approval.
  indeterminate: z.array(z.object({ rule: z.string(), missing: z.array(z.string()) })).describe("rules that could not be decided"),
  // One line for people.
  summary: z.string(),
  inputs_hash: z.string(),
  policy_hash: z.string(),
});
