/** Files below data/, which agents own. Paths are relative to data/; nothing outside can be named. */
import { z } from "zod";
import { definePrimitive } from "../runtime/primitive.ts";
import { DATA } from "../runtime/workspace/layout.ts";
import { text } from "./_shapes.ts";

const path = text.describe("relative to data/");

/** A leading data/ is the folder itself: both spellings name the same file. */
const below = (name: string): string => name.replace(/^data\//, "");

export const data_read = definePrimitive({
  name: "data_read",
  effect: "read",
  access: "read",
  summary: "Text of a file below data/; found is false when there is none.",
  params: z.object({ path }),
  returns: z.discriminatedUnion("found", [z.object({ found: z.literal(true), text: z.string() }), z.object({ found: z.literal(false) })]),
  errors: ["FILE_INVALID"],
  example: `data_read("vendors.json")`,
  run: async (p, ctx) => {
    const found = await ctx.ports.files.read(DATA + below(p.path));
    return found === null ? { found: false as const } : { found: true as const, text: found };
  },
});

export const data_write = definePrimitive({
  name: "data_write",
  effect: "write",
  access: "write",
  summary: "Write a file below data/; it lands with the run's commit.",
  params: z.object({ path, text: z.string().describe("the whole file") }),
  returns: z.object({ path: z.string(), bytes: z.number() }),
  errors: ["FILE_INVALID", "FILE_TOO_LARGE", "WORKSPACE_CONFLICT"],
  example: `data_write({ path: "vendors.json", text: "{}" })`,
  run: async (p, ctx) => {
    await ctx.ports.files.write(DATA + below(p.path), p.text);
    return { path: below(p.path), bytes: new TextEncoder().encode(p.text).length };
  },
});
