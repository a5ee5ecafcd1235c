/**
 * Files below data/, which agents own (paths are relative to data/; nothing outside can be named), and lists of records: grouped,
 * summed exactly, deduplicated. Lists that may be incomplete are refused: a total of half the records looks like any other.
 */
import { z } from "zod";
import { ClearedError, didYouMean } from "../runtime/kernel/errors.ts";
import { plainDecimal } from "../runtime/kernel/money.ts";
import type { Json } from "../runtime/kernel/ports.ts";
import { definePrimitive } from "../runtime/kernel/primitive.ts";
import { isAmountKey } from "../runtime/rules/tools/trace.ts";
import { DATA } from "../runtime/workspace/layout.ts";
import { OF_TREE, checked, json, record, shown, text } from "./_shapes.ts";
import { exact, plain, sum } from "../runtime/kernel/exact.ts";

const path = text.describe("relative to data/");

/** A leading data/ is dropped: both spellings name the same file. */
const below = (name: string): string => name.replace(/^data\//, "");

export const data_read = definePrimitive({
  name: "data_read",
  ...OF_TREE,
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
  summary: "Write a file below data/; it is part of the run's commit.",
  params: z.object({ path, text: z.string().describe("the whole file") }),
  returns: z.object({ path: z.string(), bytes: z.number() }),
  errors: ["FILE_INVALID", "FILE_TOO_LARGE", "WORKSPACE_CONFLICT"],
  example: `data_write({ path: "vendors.json", text: "{}" })`,
  run: async (p, ctx) => {
    await ctx.ports.files.write(DATA + below(p.path), p.text);
    return { path: below(p.path), bytes: new TextEncoder().encode(p.text).length };
  },
});

type Fields = Record<string, Json>;
type Given = Fields[] | { records: Fields[]; complete: boolean };

const isRecord = (value: unknown): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value);
const isList = (value: unknown): value is Fields[] => Array.isArray(value) && value.every(isRecord);

/** A list of records, or the whole answer of mcp_fetch_all. */
const records = checked<Given>((value) => isList(value) || (isRecord(value) && isList(value["records"]) && value["complete"] === true), {
  says: (value) =>
    isRecord(value) && value["complete"] === false
      ? `is incomplete (${shown(value["reason"] ?? "no reason given")}); narrow the fetch, or pass its .records to work on a part on purpose`
      : Array.isArray(value)
        ? `item ${value.findIndex((one) => !isRecord(one))} is not a record; pass a list of objects`
        : `${shown(value)} is not a list of records`,
  ts: "Record<string, unknown>[] | { records: unknown[]; complete: boolean }",
});
const listOf = (given: Given): Fields[] => (Array.isArray(given) ? given : given.records);

const own = (one: Fields, field: string): Json => (Object.hasOwn(one, field) ? (one[field] ?? null) : null);

export const data_group_by = definePrimitive({
  name: "data_group_by",
  effect: "pure",
  summary: "Records by the value of a field, in order of first appearance; null and missing values are grouped as unknown.",
  params: z.object({ records, by: text.describe("the field") }),
  returns: z.array(z.object({ key: z.string(), count: z.number(), records: z.array(record) })),
  errors: ["PARAMS_INVALID"],
  example: `data_group_by({ records: [{ vendor: "ACME" }, { vendor: "ACME" }], by: "vendor" })`,
  run: (p) => {
    const groups = Map.groupBy(listOf(p.records), (one) => {
      const value = own(one, p.by);
      return value === null ? "unknown" : typeof value === "string" ? value : JSON.stringify(value);
    });
    return [...groups].map(([key, list]) => ({ key, count: list.length, records: list }));
  },
});

export const data_first = definePrimitive({
  name: "data_first",
  effect: "pure",
  summary: "The first record whose fields equal these. If there is none, the run ends with an input error that names the nearest.",
  params: z.object({ records, where: record, missing: text.optional().describe("the message then: what is missing") }),
  returns: json,
  errors: ["PARAMS_INVALID", "RECORD_UNKNOWN"],
  example: `data_first({ records: [{ plan: "PRO", price: "499.00" }], where: { plan: "PRO" } })`,
  run: (p) => {
    const list = listOf(p.records);
    const found = list.find((one) => Object.entries(p.where).every(([field, value]) => own(one, field) === value));
    if (found !== undefined) return found;
    const near = Object.entries(p.where).map(([field, value]) =>
      didYouMean(
        String(value),
        list.map((one) => String(own(one, field))),
      ),
    );
    const what =
      p.missing ??
      `none of ${list.length} records has ${Object.entries(p.where)
        .map(([field, value]) => `${field} ${String(value)}`)
        .join(" and ")}`;
    throw new ClearedError(
      "RECORD_UNKNOWN",
      `data_first: ${what}.${p.missing === undefined ? near.join("") : ""} Correct the input, or add what is missing to the records.`,
    );
  },
});

export const data_sum = definePrimitive({
  name: "data_sum",
  effect: "pure",
  summary:
    "Exact sum of a field of records. Null and missing values are skipped; a value that is not a decimal is an error that names its rows.",
  params: z.object({ records, field: text }),
  returns: z.object({ sum: z.string().describe("decimal text"), count: z.number().describe("records that have the field") }),
  errors: ["PARAMS_INVALID"],
  example: `data_sum({ records: [{ amount: "10.10" }, { amount: "0.20" }], field: "amount" })`,
  run: (p) => {
    const values = listOf(p.records).map((one) => own(one, p.field));
    const currencies = [...new Set(listOf(p.records).flatMap((one) => own(one, "currency") ?? []))];
    if (currencies.length > 1 && isAmountKey(p.field) === true)
      throw new ClearedError(
        "PARAMS_INVALID",
        `data_sum: ${p.field} is in ${currencies.map(shown).join(", ")}. Group by currency with data_group_by, or convert each at a rate that was read, and drop the field.`,
      );
    const wrong = [...values.entries()].filter(([, value]) => value !== null && plainDecimal(value) === null);
    if (wrong.length > 0) {
      const rows = wrong.slice(0, 10).map(([row, value]) => `records[${row}] ${shown(value)}`);
      const more = wrong.length > rows.length ? ` and ${wrong.length - rows.length} more` : "";
      throw new ClearedError(
        "PARAMS_INVALID",
        `data_sum: ${p.field} is not a decimal in ${rows.join(", ")}${more}. Write amounts as "1205.00".`,
      );
    }
    const texts = values.flatMap((value) => plainDecimal(value) ?? []);
    // As many decimals as written, at least two: 10.10 + 0.20 is 10.30.
    const written = (value: Json): number => (typeof value === "string" ? (value.split(".")[1]?.length ?? 0) : 0);
    const places = values.reduce((most: number, value) => Math.max(most, written(value)), 2);
    const total = plain(sum(texts.map(exact)), 60);
    const [whole = "0", fraction = ""] = total.split(".");
    return { sum: `${whole}.${fraction.padEnd(places, "0")}`, count: texts.length };
  },
});

export const data_dedupe = definePrimitive({
  name: "data_dedupe",
  effect: "pure",
  summary: "The first record of each key, and separately the duplicates. All records without the key remain.",
  params: z.object({ records, key: text.describe("the field") }),
  returns: z.object({ records: z.array(record), duplicates: z.array(record) }),
  errors: ["PARAMS_INVALID"],
  example: `data_dedupe({ records: [{ id: 1 }, { id: 1 }], key: "id" })`,
  run: (p) => {
    const seen = new Set<string>();
    const [kept, duplicates]: [Fields[], Fields[]] = [[], []];
    for (const one of listOf(p.records)) {
      const value = own(one, p.key);
      const known = value !== null && seen.has(JSON.stringify(value));
      if (value !== null) seen.add(JSON.stringify(value));
      (known ? duplicates : kept).push(one);
    }
    return { records: kept, duplicates };
  },
});
