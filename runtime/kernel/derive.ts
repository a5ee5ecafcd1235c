/**
 * Derives from declarations the ambient typings of agent scripts (tools/docs-pages.ts derives the documentation pages).
 * Walks zod's schemas itself, because typings need names, money and both sides (what may be passed, what is returned),
 * which a JSON schema has lost.
 */
import { z } from "zod";
import type { Primitive } from "./primitive.ts";

/** `in`: what a script may pass; `out`: what it gets. */
type Side = "in" | "out";

interface Meta {
  description?: string;
  /** TypeScript type as text; `Money` becomes the wider `MoneyInput` on the way in. */
  ts?: string;
  /** Name of the shape in the typings; its declaration is the returned form, unless `side` is "in". */
  name?: string;
  side?: Side;
  /** A choice between object shapes (primitives/_shapes.ts). */
  either?: z.ZodType[];
}

/** The parts of a zod definition that the walk reads. */
interface Def {
  type: string;
  shape?: Record<string, z.ZodType>;
  element?: z.ZodType;
  innerType?: z.ZodType;
  options?: z.ZodType[];
  entries?: Record<string, string | number>;
  values?: unknown[];
  valueType?: z.ZodType;
  in?: z.ZodType;
  out?: z.ZodType;
}

const metaOf = (schema: z.ZodType): Meta => (schema.meta() ?? {}) as Meta;
const defOf = (schema: z.ZodType): Def => schema.def as unknown as Def;
const oneLine = (text: string): string => text.replace(/\s+/g, " ").replaceAll("*/", "* /");

/** Text of the TypeScript type of a schema. names: collects the named types that are used. */
export function tsType(schema: z.ZodType, side: Side, names: Map<string, z.ZodType>): string {
  const meta = metaOf(schema);
  if (meta.name !== undefined) {
    names.set(meta.name, schema);
    return meta.name;
  }
  return unnamed(schema, side, names);
}

function unnamed(schema: z.ZodType, side: Side, names: Map<string, z.ZodType>): string {
  const meta = metaOf(schema);
  if (meta.ts !== undefined) return meta.ts === "Money" && side === "in" ? "MoneyInput" : meta.ts;
  if (meta.either !== undefined) return meta.either.map((one) => tsType(one, side, names)).join(" | ");
  const def = defOf(schema);
  const inner = (): string => tsType(def.innerType ?? z.unknown(), side, names);
  switch (def.type) {
    case "object":
      return objectType(def.shape ?? {}, side, names);
    case "array": {
      const element = tsType(def.element ?? z.unknown(), side, names);
      return /^[\w.]+$/.test(element) ? `${element}[]` : `Array<${element}>`;
    }
    case "union":
      return (def.options ?? []).map((one) => tsType(one, side, names)).join(" | ");
    case "enum":
      return Object.values(def.entries ?? {})
        .map((value) => JSON.stringify(value))
        .join(" | ");
    case "literal":
      return (def.values ?? []).map((value) => JSON.stringify(value) ?? "undefined").join(" | ");
    case "record":
      return `Record<string, ${tsType(def.valueType ?? z.unknown(), side, names)}>`;
    case "nullable":
      return `${inner()} | null`;
    case "optional":
    case "default":
    case "prefault":
    case "readonly":
    case "catch":
    case "nonoptional":
      return inner();
    case "pipe":
      return tsType((side === "in" ? def.in : def.out) ?? z.unknown(), side, names);
    case "int":
      return "number";
    default:
      return ["string", "number", "boolean", "null"].includes(def.type) ? def.type : "any";
  }
}

function objectType(shape: Record<string, z.ZodType>, side: Side, names: Map<string, z.ZodType>): string {
  const fields = Object.entries(shape).map(([key, schema]) => {
    const text = describe(schema);
    return `${text === "" ? "" : `/** ${text} */ `}${/^[A-Za-z_$][\w$]*$/.test(key) ? key : JSON.stringify(key)}${mayBeAbsent(schema, side) ? "?" : ""}: ${tsType(schema, side, names)}`;
  });
  return fields.length === 0 ? "{}" : `{ ${fields.join("; ")} }`;
}

/** Description of a schema, or of the one it wraps, with the default. */
export function describe(schema: z.ZodType): string {
  const own = metaOf(schema).description ?? "";
  const def = defOf(schema);
  const text = own !== "" ? own : def.innerType === undefined ? "" : describe(def.innerType);
  if (def.type !== "default") return oneLine(text);
  const value = JSON.stringify((schema.def as unknown as { defaultValue: unknown }).defaultValue);
  return oneLine(text === "" ? `default: ${value}` : `${text} (default: ${value})`);
}

/** True when the key may be left out. */
export function mayBeAbsent(schema: z.ZodType, side: Side): boolean {
  const { type, innerType } = defOf(schema);
  if (type === "optional") return true;
  if (type === "default" || type === "prefault") return side === "in";
  if (type === "readonly" || type === "nullable") return innerType !== undefined && mayBeAbsent(innerType, side);
  return false;
}

/** Which side the declaration of a named shape describes. */
export const sideOf = (schema: z.ZodType): Side => metaOf(schema).side ?? "out";

/** Types every script sees. The methods are those of decimal.js, except valueOf: without it no operator type-checks by accident. */
const PRELUDE = `/** Decimal text such as "42.99". Compare and compute with new Decimal(money). */
type Money = { readonly __money: "decimal text"; slice(start?: number, end?: number): Money; substring(start: number, end?: number): Money; replace(from: string | RegExp, to: string): Money; trim(): Money; toString(): Money } & string;
/** What a parameter for money takes: never a number, which cannot hold cents exactly. */
type MoneyInput = Money | Decimal | \`\${number}\`;
type DecimalInput = string | number | Decimal;
interface Decimal {
  readonly __decimal: "exact decimal";
  abs(): Decimal; neg(): Decimal; plus(other: DecimalInput): Decimal; add(other: DecimalInput): Decimal; minus(other: DecimalInput): Decimal; sub(other: DecimalInput): Decimal;
  times(other: DecimalInput): Decimal; mul(other: DecimalInput): Decimal; div(other: DecimalInput): Decimal; mod(other: DecimalInput): Decimal; pow(other: DecimalInput): Decimal; sqrt(): Decimal;
  cbrt(): Decimal; exp(): Decimal; ln(): Decimal; log(base?: DecimalInput): Decimal;
  eq(other: DecimalInput): boolean; equals(other: DecimalInput): boolean; lt(other: DecimalInput): boolean; lte(other: DecimalInput): boolean; gt(other: DecimalInput): boolean; gte(other: DecimalInput): boolean;
  cmp(other: DecimalInput): number; isZero(): boolean; isNegative(): boolean; isPositive(): boolean; isInteger(): boolean; isFinite(): boolean; isNaN(): boolean;
  round(): Decimal; ceil(): Decimal; floor(): Decimal; trunc(): Decimal; toDecimalPlaces(places?: number, rounding?: number): Decimal; toDP(places?: number, rounding?: number): Decimal; decimalPlaces(): number; dp(): number;
  toFixed(places?: number, rounding?: number): Money; toString(): Money; toNumber(): number;
}
interface DecimalConstructor {
  new (value: DecimalInput): Decimal;
  (value: DecimalInput): Decimal;
  max(...values: DecimalInput[]): Decimal; min(...values: DecimalInput[]): Decimal; sum(...values: DecimalInput[]): Decimal; abs(value: DecimalInput): Decimal;
  readonly ROUND_UP: 0; readonly ROUND_DOWN: 1; readonly ROUND_CEIL: 2; readonly ROUND_FLOOR: 3; readonly ROUND_HALF_UP: 4; readonly ROUND_HALF_DOWN: 5; readonly ROUND_HALF_EVEN: 6;
}
/** Decimal arithmetic: exact up to 60 digits, rounded half up beyond them; pow of a fraction, exp, ln and log may be one off in the last. */
declare const Decimal: DecimalConstructor;
/** The input of the run: the fields of the header's \`input:\`, or the parameters of script_run. */
declare const input: any;
/** Same as ctx_log. */
declare const console: { log(...values: unknown[]): void };
`;

/** Text of .cleared/types/primitives.d.ts. */
export function primitiveTypes(primitives: readonly Primitive[]): string {
  const names = new Map<string, z.ZodType>();
  const functions = primitives.map((one) => functionType(one, names)).join("\n");
  let types = "";
  // A named type may use another one: the map grows while it is walked.
  for (const [name, schema] of names) types += `type ${name} = ${unnamed(schema, sideOf(schema), names)};\n`;
  return `// Generated from the primitives' declarations by \`cleared types\`. Changes are overwritten.\n${PRELUDE}${types}\n${functions}`;
}

function functionType(primitive: Primitive, names: Map<string, z.ZodType>): string {
  const { name, params, returns, bare } = primitive;
  const answer = tsType(returns, "out", names);
  const optional = Object.values(params.shape).every((schema) => mayBeAbsent(schema as z.ZodType, "in"));
  const shape = tsType(params, "in", names);
  // An object argument is always the parameters object, so a parameter whose own type is an object cannot be passed bare.
  const bareType = bare === null ? null : tsType(params.shape[bare] as z.ZodType, "in", names);
  // The object form comes last: type checkers report errors against the last overload.
  const forms = [
    ...(primitive.also ?? []),
    ...(bareType === null || /^(?:\{|Record<)/.test(bareType) ? [] : [`(${bare}: ${bareType}): ${answer}`]),
    `(params${optional ? "?" : ""}: ${shape === "{}" ? "Record<string, never>" : shape}): ${answer}`,
  ];
  const notes = [
    `${oneLine(primitive.summary)} (${primitive.effect})`,
    ...(primitive.errors.length === 0 ? [] : [`Errors: ${primitive.errors.join(", ")}`]),
    `@example ${oneLine(primitive.example)}`,
  ];
  return `/**\n${notes.map((line) => ` * ${line}\n`).join("")} */\n${forms.map((form) => `declare function ${name}${form};\n`).join("")}`;
}
