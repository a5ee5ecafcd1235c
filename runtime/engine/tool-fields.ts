/**
 * The fields of a tool's header as the shapes of a primitive: they are checked at every call, in and out, and shown in the typings with
 * their units. Figures in parameters may be written the way people write them; results are exact text.
 */
import { z } from "zod";
import { checked, day, money, shown, text } from "../../primitives/_shapes.ts";
import { exact } from "../kernel/exact.ts";
import { count, figure, list, real } from "../../primitives/compute/shapes.ts";
import type { ToolField } from "../scripts/tool-header.ts";

type Side = "in" | "out";

/** All of `params:` or `returns:`. A result has every field. */
export function objectOf(fields: Record<string, ToolField>, side: Side): z.ZodObject {
  return z.strictObject(
    Object.fromEntries(
      Object.entries(fields).map(([name, one]) => {
        const shape = described(shapeOf(one, side), one);
        if (side === "out" || one.required === true) return [name, shape];
        return [name, one.default === undefined ? shape.optional() : shape.default(structuredClone(one.default))];
      }),
    ),
  );
}

function described(shape: z.ZodType, { describe, unit }: ToolField): z.ZodType {
  const said = [describe ?? "", unit === undefined || unit === "1" ? "" : `in ${unit}`].filter((part) => part !== "").join(", ");
  return said === "" ? shape : shape.describe(said);
}

// 10,000 members use up a tool's CPU limit.
const LONGEST_LIST = 10_000;

function shapeOf(one: ToolField, side: Side): z.ZodType {
  const { min, max } = one;
  const range = { ...(min === undefined ? {} : { from: String(min) }), ...(max === undefined ? {} : { to: String(max) }) };
  switch (one.type) {
    case "string":
      return one.enum === undefined ? text : z.enum(one.enum as [string, ...string[]]);
    case "boolean":
      return z.boolean();
    case "date":
      return day;
    case "integer":
      return count(Number(min ?? Number.MIN_SAFE_INTEGER), Number(max ?? Number.MAX_SAFE_INTEGER));
    case "number":
      return side === "in" ? real(Number(min ?? -1e15), Number(max ?? 1e15)) : z.number();
    case "decimal":
      return side === "in" ? figure(range) : exactText(range);
    case "money":
      return exactText(range, "money");
    case "list":
      return list(shapeOf(one.of as ToolField, side), Number(min ?? 0), Number(max ?? LONGEST_LIST));
    case "object":
      return objectOf(one.fields ?? {}, side);
  }
}

/** Exact text within bounds; an amount has at most 18 decimals (runtime/kernel/money.ts). */
function exactText({ from, to }: { from?: string; to?: string }, kind: "money" | "decimal" = "decimal"): z.ZodType<string> {
  const isText = (value: unknown): value is string =>
    kind === "money" ? money.safeParse(value).success : typeof value === "string" && figure().safeParse(value).success;
  const inside = (value: string) => (from === undefined || exact(value) >= exact(from)) && (to === undefined || exact(value) <= exact(to));
  const bounds = [...(from === undefined ? [] : [`at least ${from}`]), ...(to === undefined ? [] : [`at most ${to}`])].join(" and ");
  return checked<string>((value) => isText(value) && inside(value), {
    says: (value) =>
      isText(value)
        ? `${value} must be ${bounds}`
        : `${shown(value)} is not ${kind === "money" ? "an amount" : "a decimal"} as text, such as "42.99"; write .toFixed(2), not a number`,
    code: "COMPUTE_RANGE",
    ts: "Money",
  });
}
