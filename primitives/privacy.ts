/** Secrets and personal data in a text: what is there, and the text without it. The rules are runtime/privacy/. */
import { z } from "zod";
import { groupsOf, judge } from "../runtime/rules/privacy/judge.ts";
import { HIDDEN, redact } from "../runtime/rules/privacy/scan.ts";
import { GROUPS } from "../runtime/rules/privacy/patterns.ts";
import { definePrimitive } from "../runtime/kernel/primitive.ts";

export const privacy_scan = definePrimitive({
  name: "privacy_scan",
  effect: "pure",
  summary: "Secrets, card and identity numbers, bank, health and pay data in a text, and whether it may come in or go out.",
  params: z.object({
    text: z.string().describe("may be long"),
    direction: z.enum(["inbound", "outbound"]).default("outbound").describe("what comes in may be needed, what goes out must not carry it"),
    data_class: z
      .string()
      .max(100)
      .optional()
      .describe("what the text was declared to hold, such as sensitive_personal_data: that is refused"),
  }),
  returns: z.object({
    verdict: z.enum(["allow", "redact", "refuse"]),
    trigger: z.string().nullable().describe("what decided, such as ssn_literal"),
    message: z.string().nullable(),
    redacted: z.string().describe("the text with marks such as [SSN:6789] in place of secrets, card and identity numbers"),
    findings: z.array(
      z.object({
        kind: z.string(),
        group: z.enum(GROUPS),
        span: z.array(z.number()).describe("first character, and the one behind the last"),
        last4: z.string().nullable(),
        hash: z.string().nullable().describe("of keys; never of what could be guessed from it"),
      }),
    ),
  }),
  example: `privacy_scan("Paid with card 4111 1111 1111 1111")`,
  run: (p) => ({
    ...judge(p.text, { direction: p.direction, dataClass: p.data_class }),
    redacted: redact(p.text, new Set([...HIDDEN, ...groupsOf(["redact", "refuse"], p.direction)])),
  }),
});
