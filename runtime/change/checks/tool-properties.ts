/**
 * The properties of a synthesized tool, tried on its cases' inputs and on inputs made from its declaration. The same tool is tried on
 * the same inputs every time. A refusal is no answer and says nothing; a property that nothing could be tried on has not held.
 */
import { abs, exact, plain, sum, times } from "../../kernel/exact.ts";
import { uniforms } from "../../../primitives/compute/roots.ts";
import type { Json } from "../../kernel/ports.ts";
import { shortJson } from "../../kernel/text.ts";
import { type Property, type ToolField, type ToolHeader, figureOf } from "../../scripts/tool-header.ts";

type Values = Record<string, Json>;
/** What the tool answers, or null when it refuses the parameters. */
export type Ask = (params: Values) => Promise<Values | null>;

/** As many inputs as a tool is tried on beside its cases. */
export const INPUTS = 100;

/** Inputs that the declaration allows, with its edges among them. */
export function inputsFor({ tool, params }: ToolHeader): Values[] {
  // FNV-1a of the name: another tool is tried on other inputs.
  const random = uniforms([...tool].reduce((hash, letter) => Math.imul(hash ^ letter.charCodeAt(0), 16777619), 2166136261));
  return Array.from({ length: INPUTS }, () => made(params, random));
}

/** within: how many lists this stands in. */
function made(fields: Record<string, ToolField>, random: () => number, within = 0): Values {
  const given = Object.entries(fields).filter(([, one]) => one.required === true || random() < 0.75);
  return Object.fromEntries(given.map(([name, one]) => [name, figureOrText(one, random, within)]));
}

const TEXTS = ["", "a", "Acme GmbH & Co.", "Ünïcode 数", "x".repeat(60), "0", "-1"];

function figureOrText(one: ToolField, random: () => number, within: number): Json {
  const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T;
  switch (one.type) {
    case "string":
      return pick(one.enum ?? TEXTS);
    case "boolean":
      return random() < 0.5;
    case "date":
      return new Date(Date.UTC(2020, 0, 1 + Math.floor(random() * 3650))).toISOString().slice(0, 10);
    case "object":
      return made(one.fields ?? {}, random, within);
    case "list": {
      const least = Number(one.min ?? 0);
      // Fewer in lists of lists, whose members multiply.
      const most = least + (7 >> within);
      const length = least + Math.floor(random() * (Math.min(Number(one.max ?? most), most) - least + 1));
      return Array.from({ length }, () => figureOrText(one.of as ToolField, random, within + 1));
    }
    default:
      return figureFor(one, random);
  }
}

/** Some at the edges, most between them; without a bound within a thousand of zero, both signs. */
function figureFor({ type, min, max }: ToolField, random: () => number): Json {
  const low = Number(min ?? Math.min(-1000, Number(max ?? 0) - 1000));
  const high = Number(max ?? Math.max(1000, low + 1000));
  const edge = random();
  const places = type === "integer" ? 0 : type === "decimal" ? Math.floor(random() * 5) : 2;
  const between = Math.min(high, Math.max(low, low + random() * (high - low)));
  const value = edge < 0.08 ? low : edge < 0.16 ? high : edge < 0.24 && low <= 0 && high >= 0 ? 0 : between;
  const text = plain(exact(value.toFixed(places)), places);
  return type === "integer" || type === "number" ? Number(text) : text;
}

/** What is wrong with a property at one input, in words; true when it holds, null when it could not be tried. */
export async function tryProperty(
  property: Property,
  params: Values,
  answer: Values,
  header: ToolHeader,
  ask: Ask,
): Promise<string | true | null> {
  const { scales, monotone, zero, sums, nonnegative } = property;
  const at = `with ${shown(params)}`;
  if (nonnegative !== undefined) {
    const below = figures(answer[nonnegative]).find((one) => one < 0n);
    return below === undefined || `${at} ${nonnegative} is ${plain(below, 18)}`;
  }
  if (sums !== undefined) {
    const parts = sum(sums.of.flatMap((name) => figures(answer[name])));
    const total = sum(figures(answer[sums.to]));
    return parts === total || `${at} ${sums.of.join(" + ")} is ${plain(parts, 18)}, and ${sums.to} is ${plain(total, 18)}`;
  }
  const { param, result } = (scales ?? monotone ?? zero) as { param: string; result: string };
  const factor = exact(String(scales?.by ?? 2));
  const change = scales !== undefined ? (x: bigint) => times(x, factor) : zero !== undefined ? () => 0n : (x: bigint) => x + step(x);
  const value = params[param];
  if (value === undefined) return null;
  const other = { ...params, [param]: changed(value, header.params[param] as ToolField, change) };
  const answered = await ask(other);
  if (answered === null) return null;
  const [was, now] = [figures(answer[result]), figures(answered[result])];
  const told = `${at} ${result} is ${shown(answer[result] ?? null)}, and with ${param} ${shown(other[param] ?? null)} it is ${shown(answered[result] ?? null)}`;
  if (zero !== undefined)
    return now.every((one) => one === 0n) || `with ${shown(other)} ${result} is ${shown(answered[result] ?? null)}, not zero`;
  if (was.length !== now.length) return told;
  if (monotone !== undefined)
    return (
      was.every((one, i) => (monotone.falling ? (now[i] ?? 0n) <= one : (now[i] ?? 0n) >= one)) ||
      `${told}: it ${monotone.falling ? "rises" : "falls"}`
    );
  const inexact = figureOf(header.returns[result])?.type === "number";
  return (
    was.every((one, i) => {
      const expected = times(one, factor);
      // Each rounded part is off by half its last digit at most, on both sides. Doubles keep nine digits of what is computed.
      const room = inexact
        ? times(abs(expected), exact("1e-9"))
        : times(lastDigit(answer[result]) * BigInt(scales?.parts ?? 1), abs(factor) + exact("1")) / 2n;
      return abs((now[i] ?? 0n) - expected) <= room;
    }) || `${told}, not ${plain(factor, 18)} times as much`
  );
}

/** More by a tenth, and by one. */
const step = (x: bigint): bigint => times(abs(x), exact("0.1")) + exact("1");

/** One unit of the last decimal a figure shows. */
function lastDigit(value: Json | undefined): bigint {
  const text = String(Array.isArray(value) ? (value[0] ?? "0") : value);
  const places = text.split(".")[1]?.length ?? 0;
  return exact(places === 0 ? "1" : `0.${"0".repeat(places - 1)}1`);
}

/** The figures of a value as exact numbers: itself, or the members of a list. */
function figures(value: Json | undefined): bigint[] {
  const list = Array.isArray(value) ? value : [value ?? "0"];
  return list.map((one) => exact(one as string | number));
}

function changed(value: Json, field: ToolField, change: (x: bigint) => bigint): Json {
  if (Array.isArray(value)) return value.map((one) => changed(one, field.of as ToolField, change));
  const text = plain(change(exact(value as string | number)), field.type === "integer" ? 0 : 18);
  return field.type === "integer" || field.type === "number" ? Number(text) : text;
}

export const shown = (value: Json): string => shortJson(value, 160);
