/** Requests of a busy day, one of each end, with text from outside in every place that shows some. */
import type { Ask, AskEnd, AskRow } from "../../runtime/app/asks.ts";

const HOSTILE = `<script>alert(1)</script>"'&\u202e900`;
const ENDS: [text: string, end: AskEnd | null, cost: string | null][] = [
  ["Batch my notifications into one mail in the morning", null, null],
  [
    "AWS is Software, and so is everything from Hetzner",
    { kind: "card", proposal: "prop_1", number: 11, title: `Two rules ${HOSTILE}` },
    "0.14 USD",
  ],
  [
    "How much did I spend on software this quarter?",
    {
      kind: "answer",
      text: "You spent 131.50 USD on software.",
      figures: [
        {
          ...{ label: "Software, October", value: "131.50", source: "try_1", proof: "the sum of 2 entries on Expenses:Software in USD" },
          entries: [
            { id: "261002-aaaaaaaaaa", date: "2026-10-02", description: "AWS *SERVICES", amount: "127.50 USD" },
            { id: "261009-bbbbbbbbbb", date: "2026-10-09", description: HOSTILE, amount: "4.00 USD" },
          ],
        },
      ],
    },
    "0.03 USD",
  ],
  [
    `Everything from ${HOSTILE} is equipment`,
    {
      kind: "question",
      question: `Which account is equipment? ${HOSTILE}`,
      options: ["Office Supplies", "Software"],
      outside: ["bank rows"],
    },
    "0.02 USD",
  ],
  [
    "Take the gate out of the payments",
    {
      kind: "decline",
      reason: "It was stopped.",
      findings: ["claims: agents/pay.ts CLAIM_MISSING: asks a person nowhere now"],
      files: [],
      open: true,
    },
    "0.31 USD",
  ],
];

export const asksAt = (at: number): (Ask & { cost: string | null })[] =>
  ENDS.map(([text, end, cost], i) => ({
    ...{ id: i + 1, at: at - i * 60_000, text, by: "Ada", base: "3f2c1aa90d4c1b7e6a5f4e3d2c1b0a9f8e7d6c5b", prompt: "1", end, cost },
    endedAt: end === null ? null : at,
  })).reverse();

export const rowsAt = (at: number): AskRow[] => [
  { n: 1, at, message: { role: "user", content: "The request" } },
  {
    n: 2,
    at,
    model: "anthropic/claude-opus-5-5",
    cost: "0.01",
    message: { role: "assistant", content: [{ type: "text", text: `I look. ${HOSTILE}` }] },
  },
  { n: 3, at, note: "reads agents/ingest.ts" },
  { n: 4, at, note: "checks ok" },
];
