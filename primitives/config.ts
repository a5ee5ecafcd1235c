/** Values of config.yaml at the run's commit. */
import { z } from "zod";
import { ClearedError, didYouMean } from "../runtime/kernel/errors.ts";
import { definePrimitive } from "../runtime/kernel/primitive.ts";
import { OF_TREE, json, text } from "./_shapes.ts";

export const config_get = definePrimitive({
  name: "config_get",
  ...OF_TREE,
  access: "context",
  summary: "Value of a dotted key of config.yaml.",
  params: z.object({ key: text.describe("thresholds.auto_confirm") }),
  returns: json,
  errors: ["CONFIG_MISSING"],
  example: `config_get("thresholds.auto_confirm")`,
  run: async (p, ctx) => {
    const value = await ctx.ports.config(p.key);
    if (value !== undefined) return value;
    throw new ClearedError("CONFIG_MISSING", `config.yaml has no key "${p.key}".${didYouMean(p.key, await ctx.ports.configKeys())}`, {
      data: { key: p.key },
    });
  },
});
