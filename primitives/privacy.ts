/** Secrets and personal data in a text: findings, and the text without them. The rules are in runtime/rules/privacy/. */
import { z } from "zod";
import { groupsOf, judge } from "../runtime/rules/privacy/judge.ts";
import { HIDDEN, redact } from "../runtime/rules/privacy/scan.ts";
import { GROUPS } from "../runtime/rules/privacy/patterns.ts";
import { definePrimitive } from "../runtime/kernel/primitive.ts";

export const privacy_scan = definePrimitive({
  name: "privacy_scan",
  effect: "pure",
  summary: "Secrets, card and identity numbers, bank, health and pay data in a text, and whether it may enter or leave.",
  params: z.object({
    text: z.string().describe("may be long"),
    direction: z.enum(["inbound", "outbound"]).default("outbound").describe("incoming data may be needed, outgoing text must not carry it"),
    data_class: z
      .string()
      .max(100)
      .optional()
      .describe("the declared class of the text; a class such as sensitive_personal_data is refused"),
  }),
  returns: z.object({
    verdict: z.enum(["allow", "redact", "refuse"]),
    trigger: z.string().nullable().describe("the decisive finding, such as ssn_literal"),
    message: z.string().nullable(),
    redacted: z.string().describe("the text with marks such as [SSN:6789] in place of secrets, card and identity numbers"),
    findings: z.array(
      z.object({
        kind: z.string(),
        group: z.enum(GROUPS),
        span: z.array(z.number()).describe("first character, and the one after the last"),
        last4: z.string().nullable(),
        hash: z.string().nullable().describe("for keys only: shorter data could be guessed from a hash"),
      }),
    ),
  }),
  example: `privacy_scan("Paid with card 4111 1111 1111 1111")`,
  run: (p) => ({
    ...judge(p.text, { direction: p.direction, dataClass: p.data_class }),
    redacted: redact(p.text, new Set([...HIDDEN, ...groupsOf(["redact", "refuse"], p.direction)])),
  }),
});
