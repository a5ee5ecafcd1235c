/**
 * The shapes primitives share. Each carries its type in agent scripts as meta `ts` (rendered by runtime/kernel/derive.ts) and, if a wrong
 * value has its own code, that code as `params.code`, which runtime/kernel/primitive.ts raises instead of PARAMS_INVALID.
 * Shapes used in lists of thousands are single checks, not chains: they run once per row.
 */
import { z } from "zod";
import { isDay } from "../runtime/kernel/day.ts";
import { type Code, didYouMean } from "../runtime/kernel/errors.ts";
import { AMOUNT_PATTERN, CURRENCY_PATTERN } from "../runtime/kernel/money.ts";
import { ENTRY_STATUSES, type Json } from "../runtime/kernel/ports.ts";

/** What a read depends on: the files of the run's commit and the run's writes, or the run's own clock and mode. */
export const OF_TREE = { effect: "read", from: "tree" } as const;
export const OF_RUN = { effect: "read", from: "run", access: "context" } as const;
/** Asks a person, on a card. */
export const ASKS = { effect: "control", access: "ask" } as const;

/** A value shown in a message: short, on one line. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

export interface Check {
  /** The message for a refused value; `undefined` (a missing key) has one message for all. */
  says: (value: unknown) => string;
  code?: Code;
  /** Type on the input side of agent scripts. */
  ts: string;
}

/** A shape that is a single check, with its message and its type in scripts. */
export function checked<T>(accepts: (value: unknown) => boolean, check: Check): z.ZodCustom<T, T> {
  return z
    .custom<T>(accepts, {
      error: (issue) => (issue.input === undefined ? "is missing" : check.says(issue.input)),
      ...(check.code === undefined ? {} : { params: { code: check.code } }),
    })
    .meta({ ts: check.ts });
}

function amountSays(value: unknown): string {
  if (typeof value === "number")
    return `${value} is a number; pass amounts as text such as "42.99" or as a Decimal, because a number cannot hold cents exactly`;
  return `${shown(value)} is not an amount; write digits with at most one point, such as "42.99", without currency signs or thousands separators`;
}

const isAmount = (value: unknown): value is string => typeof value === "string" && AMOUNT_PATTERN.test(value);
const isPositive = (value: unknown): boolean => isAmount(value) && !value.startsWith("-") && /[1-9]/.test(value);

/** Signed decimal text. */
export const money = checked<string>(isAmount, { says: amountSays, code: "JOURNAL_AMOUNT", ts: "Money" });

/** Decimal text above zero. */
export const positiveMoney = checked<string>(isPositive, {
  says: (value) =>
    isAmount(value) ? `${shown(value)} is not positive; swap the accounts, or pass new Decimal(amount).abs()` : amountSays(value),
  code: "JOURNAL_AMOUNT",
  ts: "Money",
});

/** Decimal text, zero or more. */
export const nonNegativeMoney = checked<string>((value) => isAmount(value) && !value.startsWith("-"), {
  says: (value) => (isAmount(value) ? `${shown(value)} is negative` : amountSays(value)),
  code: "JOURNAL_AMOUNT",
  ts: "Money",
});

/** A day of the calendar, YYYY-MM-DD. */
export const day = checked<string>((value) => typeof value === "string" && isDay(value), {
  says: (value) => `${shown(value)} is not a calendar day; write it as YYYY-MM-DD`,
  code: "JOURNAL_DATE",
  ts: "string",
});

/** An account by number (5020, "5020") or name. Primitives convert it to text. */
export const account = checked<string | number>(
  (value) => (typeof value === "string" ? value !== "" && value.length <= 200 : Number.isSafeInteger(value) && (value as number) >= 0),
  { says: (value) => `${shown(value)} is not an account; pass its number (5020) or its name ("Expenses:Software")`, ts: "string | number" },
);

/** An account as scripts see it: its number as a JS number if it is one, as in the seeds. */
export const accountNumber = (id: string): string | number => (/^(0|[1-9]\d{0,14})$/.test(id) ? Number(id) : id);

export const accountOut = z.union([z.number(), z.string()]).describe("account number");

/** Confidence of a classification: 0 to 1, as a number or as decimal text (a Decimal). */
export const confidence = checked<string | number>(
  (value) =>
    typeof value === "number"
      ? value >= 0 && value <= 1
      : typeof value === "string" && /^(?:0(?:\.\d{1,18})?|1(?:\.0{1,18})?)$/.test(value),
  { says: (value) => `${shown(value)} is not between 0 and 1`, ts: "DecimalInput" },
);

/** Confidence as a tag: at most four decimals, no exponent, no trailing zeros. */
export const confidenceText = (value: string | number): string => String(Number(Number(value).toFixed(4)));

const GIVEN = ENTRY_STATUSES.filter((word) => word !== "voided");

/**
 * A status that an agent may set; `voided` comes only from journal_void. Its type accepts any text, because TypeScript widens the literals
 * in a list that a script builds; the words still complete in an editor, and the value is checked at the call.
 */
export const status = z.enum(GIVEN).meta({ ts: `${GIVEN.map((word) => JSON.stringify(word)).join(" | ")} | (string & {})` });

/** One or more lines of text from a bank, a person or a model. 4,000 characters: longer text belongs in data/. */
export const text = checked<string>((value) => typeof value === "string" && value.length <= 4000, {
  says: (value) =>
    typeof value === "string" ? `is ${value.length} characters long; at most 4,000 are allowed` : `${shown(value)} is not text`,
  ts: "string",
});

export const currency = checked<string>((value) => typeof value === "string" && CURRENCY_PATTERN.test(value), {
  says: (value) => `${shown(value)} is not a currency; write its code, such as "USD"`,
  ts: "string",
});

/** `YYMMDD-` and ten letters of base32. */
export const entryId = checked<string>((value) => typeof value === "string" && /^\d{6}-[0-9a-z]{10}$/.test(value), {
  says: (value) => `${shown(value)} is not an entry's id; journal_add_double and journal_query return them`,
  ts: "string",
});

/** The name of a statement file in import/, as importer_scan gives it. */
export const fileName = checked<string>(
  (value) => typeof value === "string" && value.length <= 255 && /^[^/\\\0]+$/.test(value) && !value.startsWith("."),
  { says: (value) => `${shown(value)} is not a file in import/; importer_scan() lists them`, code: "FILE_INVALID", ts: "string" },
);

/** Any JSON value. */
export const json = z.custom<Json>((value) => value !== undefined).meta({ ts: "any" });

/** An object of JSON values. */
export const record = checked<Record<string, Json>>((value) => typeof value === "object" && value !== null && !Array.isArray(value), {
  says: (value) => `${shown(value)} is not an object`,
  ts: "Record<string, unknown>",
});

/** One of two shapes, chosen by a key, so that a message names a wrong key, not "matches neither". Typings show the union of both. */
export function either<A extends z.ZodObject, B extends z.ZodObject>(key: string, withKey: A, without: B) {
  return z
    .unknown()
    .transform((value, ctx): z.output<A> | z.output<B> => {
      if (typeof value !== "object" || value === null || Array.isArray(value)) {
        ctx.issues.push({ code: "custom", message: `${shown(value)} is not an object`, input: value });
        return z.NEVER;
      }
      const shape = key in value ? withKey : without;
      const parsed = shape.safeParse(value);
      if (parsed.success) return parsed.data as z.output<A> | z.output<B>;
      for (const issue of parsed.error.issues)
        ctx.issues.push({
          ...issue,
          message: issue.code === "unrecognized_keys" ? unknownKeys(issue.keys, shape) : issue.message,
          code: "custom",
          input: value,
        });
      return z.NEVER;
    })
    .meta({ either: [withKey, without] });
}

function unknownKeys(keys: readonly string[], shape: z.ZodObject): string {
  return keys.map((key) => `unknown key "${key}".${didYouMean(key, Object.keys(shape.shape))}`).join(" ");
}
