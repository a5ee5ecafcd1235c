/**
 * How the reference vectors reach our primitives: their JSON numbers become text where a parameter is money, and a few variants
 * (`function#variant`) are projections of the whole answer.
 */
import type { z } from "zod";
import { computePrimitives } from "../../primitives/compute/index.ts";
import { exact, fixed, sum } from "../../runtime/kernel/exact.ts";
import type { Json } from "../../runtime/kernel/ports.ts";
import { callPrimitive, type Primitive } from "../../runtime/kernel/primitive.ts";
import { memory } from "../primitives/memory-ports.ts";
import { exceptions, type Vector } from "../vectors/load.ts";

/** What scripts call a function of the vectors: a leading `apply_` or `compute_` of its name is dropped once. */
export const scriptName = (functionName: string): string => `compute_${functionName.replace(/#.*$|^(?:apply|compute)_/g, "")}`;

export function primitiveFor(functionName: string): Primitive {
  const script = scriptName(functionName);
  const found = computePrimitives.find((one) => one.name === script);
  if (found === undefined) throw new Error(`no primitive for ${functionName}`);
  return found;
}

export const call = (primitive: Primitive, params: Json): Promise<Json> => callPrimitive(primitive, params, memory().ctx);
export const compute = (name: string, params: Json): Promise<Json> => {
  const found = computePrimitives.find((one) => one.name === name);
  if (found === undefined) throw new Error(`no ${name}`);
  return call(found, params);
};

/** What our primitive answers to a vector's arguments, projected like its expected value. */
export async function answer({ function: name, args }: Pick<Vector, "function" | "args">): Promise<Json> {
  const [base, variant] = name.split("#");
  const primitive = primitiveFor(name);
  const { total_hours: _, ...known } = args;
  const rule = base === "hr_overtime" && variant !== undefined ? { rule: variant === "california" ? "california" : "flsa" } : {};
  const result = await call(primitive, { ...(asMoney(known, primitive.params) as object), ...rule });
  const words = exceptions.find((one) => one.words !== undefined && one.function === base)?.words;
  if (words !== undefined) return reworded(result, words);
  if (base === "amortize_loan" && variant === "summary") return summary(result as unknown as Row[]);
  if (base === "finance_loan_amortization") {
    const { schedule, ...rest } = result as { schedule: Json[] };
    return { ...rest, first_rows: schedule } as Json;
  }
  return result;
}

/** ours with the words of the vectors, under the key `action` alone. */
function reworded(value: Json, words: Record<string, string>): Json {
  return JSON.parse(
    JSON.stringify(value, (key, one: unknown) => (key === "action" && typeof one === "string" ? (words[one] ?? one) : one)),
  ) as Json;
}

type Row = Record<"payment" | "principal" | "interest" | "balance", string>;

function summary(rows: Row[]): Json {
  const total = (key: "payment" | "interest"): string => fixed(sum(rows.map((row) => exact(row[key]))), 2);
  return {
    rows: rows.length,
    first: rows[0] ?? null,
    last: rows.at(-1) ?? null,
    total_paid: total("payment"),
    total_interest: total("interest"),
  };
}

/** Numbers where the schema wants money or a decimal become text, as the vectors' README asks. */
export function asMoney(value: Json, schema: z.ZodType): Json {
  const { def } = schema as unknown as {
    def: { innerType?: z.ZodType; element?: z.ZodType; shape?: Record<string, z.ZodType> };
  };
  if (def.innerType !== undefined) return asMoney(value, def.innerType);
  if (Array.isArray(value)) return def.element === undefined ? value : value.map((one) => asMoney(one, def.element as z.ZodType));
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([key, one]) => [key, def.shape?.[key] === undefined ? one : asMoney(one, def.shape[key])]),
    );
  }
  const ts = schema.meta()?.["ts"];
  return typeof value === "number" && (ts === "Money" || ts === "DecimalInput") ? String(value) : value;
}

/** Paths at which ours differs from the expected value; keys that only we have do not count. */
export function differences(ours: Json | undefined, expected: Json, tolerance: number | undefined, path = ""): string[] {
  if (Array.isArray(expected)) {
    if (!Array.isArray(ours)) return [`${path}: no list`];
    // first_rows shows the first of a longer schedule.
    const length = path === ".first_rows" ? expected.length : Math.max(ours.length, expected.length);
    return Array.from({ length }, (_, i) => differences(ours[i], expected[i] ?? null, tolerance, `${path}[${i}]`)).flat();
  }
  if (typeof expected === "object" && expected !== null) {
    if (typeof ours !== "object" || ours === null) return [`${path}: no object`];
    const fields = ours as Record<string, Json>;
    return Object.entries(expected).flatMap(([key, one]) => {
      const about = /^(.+)_close_to$/.exec(key)?.[1];
      return about === undefined
        ? differences(fields[key], one, tolerance, `${path}.${key}`)
        : farFrom(fields, about, one, tolerance ?? 0).map((says) => `${path}.${about}: ${says}`);
    });
  }
  return same(ours, expected, tolerance) ? [] : [`${path}: ${JSON.stringify(ours)} instead of ${JSON.stringify(expected)}`];
}

/**
 * `mean_close_to: 105.13`: a simulated figure lies within the tolerance, or within four standard errors where that is more. Also as
 * [value, tolerance] or {value, tolerance}; as [low, high] when the first is the smaller.
 */
function farFrom(fields: Record<string, Json>, name: string, wanted: Json, tolerance: number): string[] {
  const pair = Array.isArray(wanted) ? wanted.map(Number) : null;
  const given = typeof wanted === "object" && wanted !== null && !Array.isArray(wanted) ? wanted : null;
  const [a = Number.NaN, b = Number.NaN] = pair ?? [Number(given?.["value"] ?? wanted), Number(given?.["tolerance"] ?? Number.NaN)];
  const paths = Number((fields["paths_summary"] as Record<string, Json> | undefined)?.["n_paths"] ?? Number.POSITIVE_INFINITY);
  const errors = name === "mean" || name === "result" ? (4 * Number(fields["std"] ?? 0)) / Math.sqrt(paths) : 0;
  const within = Number.isNaN(b) ? Math.max(tolerance * Math.max(1, Math.abs(a)), errors) : b;
  const found = Number(fields[name]);
  const holds = pair !== null && a < b ? found >= a && found <= b : Math.abs(found - a) <= within;
  return holds ? [] : [`${found} is not close to ${JSON.stringify(wanted)}`];
}

function same(ours: Json | undefined, expected: Json, tolerance: number | undefined): boolean {
  if (typeof expected !== "number") return ours === expected;
  if (typeof ours !== "string" && typeof ours !== "number") return false;
  // Text with cents is money: equal means equal, whatever tolerance the file allows for doubles.
  if (tolerance === undefined || (typeof ours === "string" && tolerance === 0.005 && /\.\d\d$/.test(ours)))
    return exact(ours) === exact(expected);
  return Math.abs(Number(ours) - expected) <= tolerance * Math.max(1, Math.abs(expected));
}
