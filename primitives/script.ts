/** Shared sub-scripts. The sandbox runs the file with the caller's rights; this step only marks the call in the history. */
import { z } from "zod";
import { definePrimitive } from "../runtime/kernel/primitive.ts";
import { json, text } from "./_shapes.ts";

export const script_run = definePrimitive({
  name: "script_run",
  effect: "control",
  access: "context",
  summary: "Run scripts/NAME.ts with the caller's rights; returns the value of its last expression.",
  params: z.object({
    name: text.describe("name of the file without .ts, as a literal"),
    params: json.optional().describe("the global `input` of the sub-script, as its header's `input:` requires"),
  }),
  returns: json,
  errors: ["SCRIPT_MISSING"],
  example: `script_run("vendor_of", { description: "GITHUB *PRO" })`,
  also: ["(name: string, params?: unknown): any"],
  run: () => null,
});
