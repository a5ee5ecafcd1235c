/** A verdict of one word, as policy_evaluate would leave it with the run. */
import type { Verdict, VerdictWord } from "../../runtime/kernel/ports.ts";

export function verdictOf(verdict: VerdictWord): Verdict {
  const passed = verdict === "pass" || verdict === "inform";
  return {
    verdict,
    passed,
    blocked: verdict === "block",
    requires_approval: verdict === "require_approval",
    escalation_required: verdict === "escalate",
    level: passed ? null : "manager",
    levels: passed ? [] : ["manager"],
    approvals: passed ? 0 : 1,
    distinct_from_requester: false,
    triggered: [],
    indeterminate: [],
    summary: `one rule says ${verdict}`,
    inputs_hash: "0",
    policy_hash: "0",
  };
}
