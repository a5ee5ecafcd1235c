/**
 * How a compute primitive is declared, refuses, and converts its answers to text: an amount is rounded half-up once, to its
 * currency; an exact answer is text; an answer computed in doubles is a finite number.
 */
import type { z } from "zod";
import { ClearedError, type Code } from "../../runtime/kernel/errors.ts";
import { currencyPlaces } from "../../runtime/kernel/money.ts";
import { type Declaration, definePrimitive, type Primitive } from "../../runtime/kernel/primitive.ts";
import { abs, exact, fixed, plain, round, share, sum } from "../../runtime/kernel/exact.ts";

/** Declares one primitive of this domain: pure, allowed in every state, and its run sees only its parameters. */
export function defineCompute<P extends z.ZodObject, R extends z.ZodType, const O extends z.input<R>>(
  declaration: Omit<Declaration<P, R>, "effect" | "access" | "errors" | "run"> & {
    alsoRefuses?: readonly Code[];
    run(params: z.output<P>): O;
  },
): Primitive<P, R> {
  const { alsoRefuses = [], ...rest } = declaration;
  const errors: Code[] = ["COMPUTE_RANGE", ...(takesMoney(rest.params) ? (["JOURNAL_AMOUNT"] as const) : []), ...alsoRefuses];
  return definePrimitive<P, R, Declaration<P, R>>({ ...rest, errors, effect: "pure" });
}

/** Whether a parameter at any depth is an amount: then JOURNAL_AMOUNT is among the errors. */
function takesMoney(schema: z.ZodType): boolean {
  const { shape, element, innerType } = schema.def as { shape?: Record<string, z.ZodType>; element?: z.ZodType; innerType?: z.ZodType };
  const inside = [...Object.values(shape ?? {}), element, innerType].filter((one) => one !== undefined);
  return schema.meta()?.["ts"] === "Money" || inside.some(takesMoney);
}

/** Ends the call. reason: one word for each cause, the same in every version, for scripts' callers and tests. */
export function refuse(reason: string, message: string, code: Code = "COMPUTE_RANGE", data: Record<string, unknown> = {}): never {
  throw new ClearedError(code, message, { data: { reason, ...data } });
}

/** Decimals of the amounts that a call returns. */
export const placesOf = (params: { currency?: string | undefined }): number =>
  params.currency === undefined ? 2 : currencyPlaces(params.currency);

/** The limit of an amount (runtime/kernel/money.ts): 30 digits before the point. */
const TOO_LARGE = exact("1e30");

/** An amount as text in the call's currency, rounded half-up once. */
export function amount(value: bigint, params: { currency?: string | undefined }): string {
  if (abs(value) >= TOO_LARGE) refuse("overflow", "The amount has more than 30 digits; check the parameters' units.");
  return fixed(value, placesOf(params));
}

/** A given amount rounded to its currency: the total of its parts. */
export const settled = (text: string, params: { currency?: string | undefined }): bigint => round(exact(text), placesOf(params));

/** Splits a settled total by weights, rounding cumulatively, r(total W_k / W) - r(total W_(k-1) / W), so that the parts always add up to it. */
export function spread(total: bigint, weights: readonly bigint[], params: { currency?: string | undefined }): bigint[] {
  const all = sum(weights);
  let [weight, given] = [0n, 0n];
  return weights.map((one) => {
    weight += one;
    const before = given;
    given = round(share(total, weight, all), placesOf(params));
    return given - before;
  });
}

/** Several amounts at once, each rounded once. */
export function amounts<K extends string>(params: { currency?: string | undefined }, values: Record<K, bigint>): Record<K, string> {
  return Object.fromEntries(Object.entries<bigint>(values).map(([key, value]) => [key, amount(value, params)])) as Record<K, string>;
}

/** A percentage with up to six decimals, half-up. */
export const pctText = (value: bigint): string => plain(value, 6);

/** A finite double, or a refusal: an overflow is not an answer. */
export function finite(value: number): number {
  return Number.isFinite(value) ? value + 0 : refuse("overflow", "The result is too large for a number; check the parameters' units.");
}
