/** Changes that an agent requests: a person decides, on a card, and an approval is one commit. Nothing changes before it. */
import { z } from "zod";
import { definePrimitive } from "../runtime/kernel/primitive.ts";
import { ASKS, json } from "./_shapes.ts";

export const propose_change = definePrimitive({
  name: "propose_change",
  ...ASKS,
  summary: "Propose a change of agents, scripts, policies, importers, knowledge, cases or config.yaml to a person.",
  params: z.object({
    title: z.string().trim().min(1).max(200).describe("what changes, in one line"),
    reason: z.string().trim().min(1).max(10_000).describe("why, for the person who decides"),
    files: z
      .array(
        z.strictObject({
          path: z.string().describe("such as agents/ingest.ts"),
          text: z.string().nullable().describe("the whole new text, or null to remove the file"),
        }),
      )
      .min(1)
      .max(200)
      .describe("each file with its new content"),
    evidence: json.optional().describe("facts that justify it, stored with it"),
  }),
  returns: z.object({
    accepted: z.boolean(),
    proposal: z.string().nullable().describe("its id; null when it was not accepted, and in a dry run"),
    reason: z.string().describe("why it was not accepted, or that it already is a proposal"),
  }),
  example: `propose_change({ title: "AWS is Software", reason: "It was corrected three times.", files: [{ path: "knowledge/vendors.md", text: "AWS: 5020\\n" }] })`,
  run: async ({ title, reason, files, evidence }, ctx) => {
    const byPath = Object.fromEntries(files.map((file) => [file.path, file.text]));
    if (Object.keys(byPath).length < files.length) return { accepted: false, proposal: null, reason: "A path is named twice in files." };
    return ctx.ports.propose({ title, reason, files: byPath, evidence: evidence ?? null });
  },
});

export const propose_rules = definePrimitive({
  name: "propose_rules",
  ...ASKS,
  summary: "Offer a person a rule for each payee whose entries people have moved to another account: one card each.",
  params: z.object({}),
  returns: z.object({
    offered: z.array(z.number()).describe("numbers of the new cards; 0 in a dry run"),
    unclear: z.array(z.string()).describe("corrected entries that no words distinguish from others: `cleared rule ENTRY` asks a model"),
  }),
  example: "propose_rules()",
  run: (_, ctx) => ctx.ports.wishes.rules(),
});

export const propose_process = definePrimitive({
  name: "propose_process",
  effect: "control",
  access: "model_task",
  summary:
    "Ask for a process for a task that no agent carries out: a model writes it, once for each kind of task, and a person approves it.",
  params: z.object({ task: z.string().trim().min(1).max(10_000).describe("the task in words, unchanged") }),
  returns: z.object({
    agent: z.string().nullable().describe("an agent that already carries out such tasks"),
    request: z.number().nullable().describe("the request for one; null: none, and `says` gives the reason"),
    says: z.string(),
  }),
  example: `propose_process("a travel request: 900.00 for Berlin, the director decides")`,
  run: ({ task }, ctx) => ctx.ports.wishes.process(task),
});
