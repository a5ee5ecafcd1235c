/**
 * What a workspace's plugin sees as `import { definePrimitive, z } from "cleared"` (runtime/kernel/registry.ts resolves that name to this file).
 * Plugins are trusted code that trust.yaml names; this surface is all they are promised.
 */
// biome-ignore-all lint/performance/noBarrelFile: plugins must not depend on where our files lie
export { account, currency, day, json, money, positiveMoney, record, text } from "../primitives/_shapes.ts";
export type { Json } from "./kernel/ports.ts";
export { definePrimitive, type StepContext } from "./kernel/primitive.ts";
export { z } from "zod";
