/** The audit record: what a process did and why, for later questions. Part of the run's commit, below audit/. */
import { z } from "zod";
import { definePrimitive } from "../runtime/kernel/primitive.ts";
import { text } from "./_shapes.ts";

export const audit_add = definePrimitive({
  name: "audit_add",
  effect: "write",
  access: "notify",
  summary: "Add a line to the audit record; it is part of the run's commit.",
  params: z.object({
    subject: text.describe("what it is about, one line"),
    text: text.describe("what was done, and why"),
    refs: z.array(text).max(100).default([]).describe("ids of its subjects: entries, invoices, cards"),
  }),
  returns: z.object({ id: z.string(), file: z.string() }),
  example: `audit_add({ subject: "INV-7", text: "Paid after approval of the manager.", refs: ["INV-7"] })`,
  run: (p, ctx) =>
    ctx.ports.audit({ date: ctx.today, at: new Date(ctx.now).toISOString(), agent: ctx.run.agent, run: ctx.run.id, ...p }, ctx.key),
});
