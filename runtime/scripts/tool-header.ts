/**
 * The header of a synthesized tool (scripts/tools/NAME.ts): its parameters and results, with units, and its proof: cases and
 * properties. A file whose header breaks a rule declares nothing; each problem has its place. Written by people and models: untrusted.
 */
import { z } from "zod";
import { didYouMean } from "../kernel/errors.ts";
import { TOOLS } from "../workspace/layout.ts";
import type { DiskCache } from "./disk-cache.ts";
import { cut } from "./header.ts";
import { type YamlSource, checkYaml, readYaml } from "./yaml-text.ts";

const TYPES = ["string", "boolean", "integer", "number", "decimal", "money", "date", "list", "object"] as const;

/** Types that are figures: they have a unit and may have bounds. */
export const FIGURES: readonly string[] = ["integer", "number", "decimal", "money"];

export interface ToolField {
  /** decimal: exact text; number: a double; money: an amount as text. */
  type: (typeof TYPES)[number];
  /** For a list: its elements. */
  of?: ToolField | undefined;
  /** For an object: its keys. */
  fields?: Record<string, ToolField> | undefined;
  /** For a figure: USD, h, %, USD/h; "1" for one without. */
  unit?: string | undefined;
  required?: boolean | undefined;
  default?: unknown;
  /** Bounds of a figure, or of the length of a list. */
  min?: string | number | undefined;
  max?: string | number | undefined;
  enum?: string[] | undefined;
  describe?: string | undefined;
}

const bound = z.union([z.number(), z.string().regex(/^-?\d{1,30}(\.\d{1,18})?$/)], { error: "write a number, such as 0 or 24" }).optional();
const key = z.string().regex(/^[a-z][a-z0-9_]{0,40}$/, "write names in snake_case, with small letters, digits and _");

const field: z.ZodType<ToolField> = z
  .strictObject({
    type: z.enum(TYPES, { error: `write one of ${TYPES.join(", ")}` }),
    get of() {
      return field.optional();
    },
    get fields() {
      return z.record(key, field).optional();
    },
    unit: z.string().trim().min(1).max(30).optional(),
    required: z.boolean({ error: "write true or false" }).optional(),
    default: z.json().optional(),
    min: bound,
    max: bound,
    enum: z.array(z.string()).min(1).max(50).optional(),
    describe: z.string().trim().max(300).optional(),
  })
  .check((context) => {
    const one = context.value;
    const figure = FIGURES.includes(one.type);
    const wrong = (path: string, message: string) => context.issues.push({ code: "custom", input: one, path: [path], message });
    if (figure && one.unit === undefined) wrong("unit", 'is missing: a figure needs its unit, such as USD, h or %; "1" for a plain number');
    if (!figure && one.unit !== undefined) wrong("unit", `belongs to a figure (${FIGURES.join(", ")}), not to a ${one.type}`);
    if ((one.type === "list") !== (one.of !== undefined)) wrong("of", "describes the elements of a list, and only a list has it");
    if ((one.type === "object") !== (one.fields !== undefined)) wrong("fields", "are the keys of an object, and only an object has them");
    if (one.enum !== undefined && one.type !== "string") wrong("enum", "belongs to a string");
    if (!figure && one.type !== "list" && (one.min ?? one.max) !== undefined)
      wrong("min", "and max bound a figure, or the length of a list");
    if (leastOf(one) > MOST_VALUES) wrong("min", `requires more than ${MOST_VALUES} values in total; a tool is not tested with more`);
    if (one.required === true && one.default !== undefined)
      wrong("default", "is never used where the field is required; drop one of the two");
  });

// Each test input of a tool has at least the minimum length of its lists, and lists can be nested.
const MOST_VALUES = 1000;

function leastOf({ min, of, fields }: ToolField): number {
  if (of !== undefined) return Math.max(1, Number(min ?? 0)) * leastOf(of);
  return fields === undefined ? 1 : Object.values(fields).reduce((sum, one) => sum + leastOf(one), 1);
}

const toolCase = z
  .strictObject({ params: z.record(z.string(), z.json()), result: z.record(z.string(), z.json()).optional(), error: z.string().optional() })
  .refine((one) => (one.result === undefined) !== (one.error === undefined), "needs either result or error");

const property = z
  .strictObject({
    scales: z.strictObject({ param: key, by: bound, result: key, parts: z.int().min(1).max(20).default(1) }).optional(),
    monotone: z.strictObject({ param: key, result: key, falling: z.boolean().default(false) }).optional(),
    zero: z.strictObject({ param: key, result: key }).optional(),
    sums: z.strictObject({ of: z.array(key).min(1).max(20), to: key }).optional(),
    nonnegative: key.optional(),
  })
  .refine((one) => Object.keys(one).length === 1, "write one property an entry: scales, monotone, zero, sums or nonnegative");
export type Property = z.output<typeof property>;

const schema = z.strictObject({
  tool: z
    .string()
    .regex(/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/, "write the name in snake_case")
    .max(40),
  description: z.string({ error: "write one sentence about what it computes" }).trim().min(10, "write a whole sentence").max(300),
  params: z.record(key, field),
  returns: z.record(key, field).refine((all) => Object.keys(all).length > 0, "names what the tool returns"),
  cases: z.array(toolCase, { error: "write a list of cases" }).min(3, "needs at least three").max(200),
  properties: z.array(property, { error: "write a list of properties" }).min(1, "needs at least one").max(20),
  source: z.string({ error: "write where the rule comes from" }).trim().min(3, "write where the rule comes from").max(500),
});

export interface ToolHeader extends z.output<typeof schema> {
  file: string;
  /** Line of each case and property, for findings. */
  lines: { cases: number[]; properties: number[] };
}

// Includes the cases.
const LONGEST = 65_536;
const BEGINS = "A tool begins with /* tool: ..., description: ..., params: ..., returns: ..., cases: ..., properties: ..., source: ... */.";

/** @throws COMPUTE_TOOL at the place of the first problem; `data.findings` has all of them */
export function parseTool(source: string, file: string, cache?: DiskCache): ToolHeader {
  const { text, place } = cut(source, file, "COMPUTE_TOOL", BEGINS);
  const from: YamlSource = { file, code: "COMPUTE_TOOL", maxLength: LONGEST, place, cache };
  const yaml = readYaml(text, from);
  const name = file.slice(TOOLS.length).replace(/\.ts$/, "");
  const read = checkYaml(
    yaml,
    schema.check(({ value, issues }) => {
      const wrong = (path: PropertyKey[], message: string) => issues.push({ code: "custom", input: value, path, message });
      if (value.tool !== name) wrong(["tool"], `"${value.tool}" is not the name of its file, "${name}"; make them equal`);
      value.properties.forEach((one, i) => {
        const { scales, monotone, zero, sums, nonnegative } = one;
        const about = scales ?? monotone ?? zero;
        const results = sums === undefined ? [about?.result ?? nonnegative ?? ""] : [...sums.of, sums.to];
        for (const [word, known] of [
          ...results.map((one) => [one, value.returns] as const),
          ...(about === undefined ? [] : [[about.param, value.params] as const]),
        ]) {
          const figure = Object.hasOwn(known, word) ? figureOf(known[word]) : null;
          if (figure === null)
            wrong(
              ["properties", i],
              `"${word}" is not a figure it ${known === value.params ? "takes" : "returns"}.${didYouMean(word, Object.keys(known))}`,
            );
        }
      });
    }),
    from,
  );
  const lines = (what: "cases" | "properties") => read[what].map((_, i) => yaml.at([what, i]).line ?? 1);
  return { ...read, file, lines: { cases: lines("cases"), properties: lines("properties") } };
}

/** The field that has the figures: itself, or the elements of a list; null for anything else. */
export function figureOf(one: ToolField | undefined): ToolField | null {
  const inner = one?.type === "list" ? one.of : one;
  return inner !== undefined && FIGURES.includes(inner.type) ? inner : null;
}
