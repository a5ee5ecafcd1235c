/**
 * Inputs nobody has given yet, made from an agent's header: its examples, then what is usual, then what is allowed and rare. Values that the
 * scripts compare with are among them, so that a branch behind one is tried. Always the same for the same scripts.
 */
import { canonicalJson } from "../../kernel/canonical.ts";
import { toWire } from "../../kernel/errors.ts";
import type { Json } from "../../kernel/ports.ts";
import type { Header } from "../../scripts/header.ts";
import { type InputField, validateInput } from "../../scripts/fields.ts";

export interface SyntheticInput {
  input: Json;
  /** What a person might give; the others are only allowed. */
  usual: boolean;
}

/** More would take longer than a person waits for a check. */
export const MOST_INPUTS = 12;

/** Inputs that the header lets through, at most twelve. sources: of the agent and its sub-scripts. */
export function inputsOf(header: Header, sources: readonly string[]): SyntheticInput[] {
  const fields = Object.entries(header.input);
  if (fields.length === 0)
    return [...header.examples.map((input) => ({ input, usual: true })), { input: {}, usual: true }].slice(0, MOST_INPUTS);
  const example = header.examples.find((one) => typeof one === "object" && one !== null && !Array.isArray(one)) as
    | Record<string, Json>
    | undefined;
  const literals = literalsOf(sources);
  const whole = Object.fromEntries(fields.map(([name, field]) => [name, example?.[name] ?? usual(name, field)]));
  const required = Object.fromEntries(fields.filter(([, field]) => field.required === true).map(([name]) => [name, whole[name] ?? null]));
  const rare = fields.map(([name, field]) => rareOf(field, literals).map((value) => ({ ...whole, [name]: value })));
  // A turn for each field, so that the first ones do not take all the places.
  const turns = Array.from({ length: Math.max(...rare.map((one) => one.length)) }, (_, i) => rare.flatMap((one) => one[i] ?? []));
  const seen = new Set<string>();
  const made = [
    ...[...header.examples, required, whole].map((input) => ({ input: input as Json, usual: true })),
    ...turns.flat().map((input) => ({ input: input as Json, usual: false })),
  ];
  return made
    .flatMap(({ input, usual }) => {
      try {
        const checked = validateInput(header, input);
        const key = canonicalJson(checked);
        return seen.has(key) || !seen.add(key) ? [] : [{ input: checked, usual }];
      } catch (error) {
        // An example the header refuses is the header check's to tell.
        if (toWire(error).code === "RUN_INPUT") return [];
        throw error;
      }
    })
    .slice(0, MOST_INPUTS);
}

function usual(name: string, field: InputField): Json {
  if (field.default !== undefined) return field.default as Json;
  if (field.enum !== undefined) return field.enum[0] ?? null;
  const values: Record<InputField["type"], Json> = {
    string: /(?:^|_)id$/.test(name) ? "ID-1" : "sample",
    number: 12.5,
    integer: 3,
    boolean: true,
    money: "84.00",
    date: "2026-06-30",
    list: ["sample"],
    object: {},
  };
  return values[field.type];
}

const RARE: Record<InputField["type"], readonly Json[]> = {
  string: ["", "x".repeat(2000)],
  number: [0, -1, 1e12],
  integer: [0, -1, 1_000_000_000],
  boolean: [false],
  money: ["0", "-0.01", "999999999999.99"],
  date: ["1970-01-01", "2099-12-31", "2028-02-29"],
  list: [[]],
  object: [],
};

interface Literals {
  texts: string[];
  numbers: number[];
}

/** Allowed values that are not usual: the ends, every choice, and what the scripts compare with. */
function rareOf({ type, enum: choices }: InputField, { texts, numbers }: Literals): Json[] {
  if (choices !== undefined) return choices.slice(1);
  const own: Record<string, Json[]> = {
    string: texts,
    date: texts,
    money: [...numbers.map(String), ...texts],
    number: numbers,
    integer: numbers,
  };
  return [...(own[type] ?? []), ...RARE[type]];
}

/** Texts and numbers that the scripts write out behind a comparison, in their order. */
function literalsOf(sources: readonly string[]): Literals {
  const after =
    /(?:[!=]==?|[<>]=?|\bcase|\b(?:startsWith|includes|endsWith|eq|gte?|lte?)\()\s*(?:"([^"\n]{1,80})"|'([^'\n]{1,80})'|(\d{1,12}(?:\.\d{1,6})?))/g;
  const found = sources.flatMap((source) => [...source.matchAll(after)]);
  return {
    texts: [...new Set(found.flatMap(([, double, single]) => double ?? single ?? []))].slice(0, MOST_INPUTS),
    numbers: [...new Set(found.flatMap(([, , , number]) => (number === undefined ? [] : Number(number))))].slice(0, MOST_INPUTS),
  };
}
