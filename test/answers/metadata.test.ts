/** How a run that is over is told in a line: what the policy said, who approved it, who said no and why. */
import { expect, it } from "vitest";
import { footer, runMetadata } from "../../runtime/rules/answers/mutations.ts";
import type { Verdict, VerifiedWrite } from "../../runtime/kernel/ports.ts";

const AT = Date.UTC(2026, 0, 5);
const VERDICT: Verdict = {
  verdict: "require_approval",
  passed: false,
  blocked: false,
  requires_approval: true,
  escalation_required: false,
  level: "manager",
  levels: ["manager"],
  approvals: 1,
  distinct_from_requester: false,
  triggered: [
    {
      rule: "VARIANCE_GT_2PCT",
      action: "require_approval",
      level: "manager",
      description: "Variance above 2 %",
      because: "",
      source: "policies/x.yaml",
    },
  ],
  indeterminate: [{ rule: "VENDOR_NEW", missing: ["vendor.since"] }],
  summary: "1 rule triggered: VARIANCE_GT_2PCT",
  inputs_hash: "",
  policy_hash: "",
};
const WRITE = { tool: "erp/pay", params: {}, read: null, expected: {}, before: null, after: null, diff: {}, answer: "ok" };
const WRITES: VerifiedWrite[] = [
  { ...WRITE, status: "VERIFIED" },
  { ...WRITE, status: "UNVERIFIABLE" },
];

it("the metadata shows how the policy ended: an approval does not remove a block, and two people count as two", () => {
  const word = (verdict: Verdict | null, ...people: string[]): string =>
    runMetadata({
      process: "p",
      verdict,
      writes: WRITES,
      duration_ms: 812,
      approvals: people.map((by) => ({ by, at: AT })),
      rejected: null,
    }).policy;
  expect(word(null)).toBe("NOT EVALUATED");
  expect(word(null, "ann")).toBe("APPROVED");
  expect(word({ ...VERDICT, passed: true })).toBe("PASSED");
  expect(word(VERDICT)).toBe("FAILED");
  expect(word(VERDICT, "ann")).toBe("APPROVED");
  expect(word({ ...VERDICT, approvals: 2 }, "ann", "ann")).toBe("FAILED");
  expect(word({ ...VERDICT, approvals: 2 }, "ann", "bob")).toBe("APPROVED");
  expect(word({ ...VERDICT, verdict: "block", blocked: true }, "ann")).toBe("FAILED");
  const approvals = [{ by: "ann", at: AT, level: "manager", self: true }];
  const run = runMetadata({ process: "p", verdict: VERDICT, writes: WRITES, duration_ms: 812, approvals, rejected: null });
  expect(run).toEqual({
    process: "p",
    policy: "APPROVED",
    writes: { n: 2, verified: 1, stands: [expect.stringMatching(/^VERIFIED erp/)], not_verified: [expect.stringMatching(/^UNVERIFIABLE/)] },
    duration_ms: 812,
    approvals: [{ by: "ann", at: AT, level: "manager", self: true }],
  });
  expect(footer(run)).toBe("[Process: p | Policy: APPROVED by ann | Writes: 2, verified: 1 | 812 ms]");
  const no = runMetadata({
    process: "p",
    verdict: VERDICT,
    writes: [],
    duration_ms: 1,
    approvals: [],
    rejected: "bob said no: too dear",
  });
  expect(no).toMatchObject({ policy: "REJECTED", rejected: "bob said no: too dear" });
  expect(footer(no)).toBe("[Process: p | Policy: REJECTED: bob said no: too dear | Writes: 0, verified: 0 | 1 ms]");
});
