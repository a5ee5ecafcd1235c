/**
 * Every built-in primitive through the same battery, from its declaration alone. What needs an engine (replay, crash) is in
 * test/engine; what a declaration promises by itself is here.
 */
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { primitives } from "../primitives/index.ts";
import { typecheck } from "../runtime/change/checks/typecheck.ts";
import { primitiveTypes } from "../runtime/kernel/derive.ts";
import { CODES } from "../runtime/kernel/errors.ts";
import type { Json } from "../runtime/kernel/ports.ts";
import { callPrimitive, EFFECTS, type Primitive, parseParams } from "../runtime/kernel/primitive.ts";
import { memory } from "./primitives/memory-ports.ts";

/** The parameters of an example's outermost call, which is evaluated last. */
function exampleParams(primitive: Primitive): Json {
  let params: Json = null;
  const globals = primitives.map((one) => (first?: Json, second?: Json) => {
    const isObject = typeof first === "object" && first !== null && !Array.isArray(first);
    params =
      first === undefined ? {} : isObject ? first : { [one.bare ?? "?"]: first, ...(second === undefined ? {} : { params: second }) };
    return [];
  });
  new Function(...primitives.map((one) => one.name), `return ${primitive.example}`)(...globals);
  return params;
}

describe.each(primitives.map((one) => [one.name, one] as const))("%s", (_, primitive) => {
  it("declares what the documentation and the host need", () => {
    expect(EFFECTS).toContain(primitive.effect);
    expect(primitive.summary).toMatch(/^[A-Z].*\.$/);
    expect(primitive.example).toContain(`${primitive.name}(`);
    for (const code of primitive.errors) expect(Object.keys(CODES)).toContain(code);
  });

  it("accepts its example and refuses unknown keys and everything other than an object", () => {
    const params = exampleParams(primitive);
    expect(() => parseParams(primitive, params)).not.toThrow();
    expect(() => parseParams(primitive, { ...(params as object), surprise: 1 })).toThrow(/unknown key "surprise"/);
    for (const raw of [null, 1, "x", [], true] as Json[]) expect(() => parseParams(primitive, raw)).toThrow(primitive.name);
  });

  it("refuses hostile keys and values in its parameters", () => {
    const keys = Object.keys(primitive.params.shape);
    for (const value of [
      null,
      -1,
      Number.MAX_VALUE,
      "\u0000\u202e",
      ["x".repeat(10)],
      JSON.parse('{ "__proto__": null, "then": 1 }'),
    ] as Json[]) {
      const raw = Object.fromEntries(keys.map((key) => [key, value])) as Json;
      try {
        parseParams(primitive, raw);
      } catch (error) {
        expect((error as Error).name).toBe("ClearedError");
      }
    }
    expect(() => parseParams(primitive, JSON.parse('{"__proto__": 1}') as Json)).toThrow();
  });

  it("runs its example, and a dry run returns the same shape", async () => {
    const params = exampleParams(primitive);
    const live = await callPrimitive(primitive, params, memory().ctx);
    const dry = await callPrimitive(primitive, params, memory({ mode: "dry" }).ctx);
    expect(primitive.returns.safeParse(live).success).toBe(true);
    expect(shapeOf(dry)).toEqual(shapeOf(live));
    expect(JSON.parse(JSON.stringify(live))).toEqual(live);
  });
});

function shapeOf(value: Json): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(shapeOf);
  if (typeof value === "object" && value !== null) return Object.keys(value).sort();
  return typeof value;
}

it("every example type-checks against the generated typings", async () => {
  const files = primitives.map((one) => ({ file: `${one.name}.ts`, source: `${one.example};` }));
  expect(await typecheck(files, primitiveTypes(primitives))).toEqual([]);
});

it("names are unique and the list is complete", async () => {
  const names = primitives.map((one) => one.name);
  expect(new Set(names).size).toBe(names.length);
  for (const domain of new Set(primitives.map((one) => one.domain))) {
    // A domain with many primitives is a folder, a file for each part of it.
    const folder = join(import.meta.dirname, "../primitives", domain);
    const files = existsSync(folder) ? (await readdir(folder)).map((name) => `${domain}/${name.slice(0, -3)}`) : [domain];
    const modules = (await Promise.all(files.map((file) => import(/* @vite-ignore */ `../primitives/${file}.ts`)))) as object[];
    const exported = modules.flatMap((module) => Object.keys(module)).filter((name) => files.length === 1 || name.startsWith(`${domain}_`));
    expect(exported.sort()).toEqual(names.filter((name) => name.startsWith(`${domain}_`)).sort());
  }
});
