/** Building blocks for the schemas of settings; each error says what to write. */
import { z } from "zod";

/** A whole number within limits. */
export const size = (what: string, min: number, max: number) =>
  z
    .int({ error: `write ${what} as a whole number` })
    .min(min, `at least ${min}`)
    .max(max, `at most ${max}`);

export const text = (what: string, most = 200) =>
  z
    .string({ error: `write ${what}` })
    .trim()
    .min(1, `write ${what}`)
    .max(most);

// An account may be written 1010, "1010" or by name; it becomes text.
export const account = z.union([z.int().positive().transform(String), z.string().trim().min(1).max(200)], {
  error: "write an account's number or name",
});
export const digits = (form: string) => z.union([z.int().transform(String), text(form)]);

export const flag = () => z.boolean({ error: "write true or false" });

export const secret = () =>
  z
    .string({ error: "write secret:NAME" })
    .regex(/^secret:[A-Za-z][A-Za-z0-9_-]{0,63}$/, "write secret:NAME; `cleared secrets set NAME` stores the value");

type Parts = { innerType?: z.ZodType; options?: z.ZodType[]; shape?: Record<string, z.ZodType> };
function layersOf(one: z.ZodType): z.ZodType[] {
  const { innerType, options = [] } = one.def as Parts;
  return [one, ...[innerType ?? [], options].flat().flatMap(layersOf)];
}
/** What a schema says of a dotted key; "" where it says nothing. */
export function wordsAt(schema: z.ZodType, key: string): string {
  const inside = (all: z.ZodType[], name: string) => all.flatMap(layersOf).flatMap((one) => (one.def as Parts).shape?.[name] ?? []);
  const found = key.split(".").reduce(inside, [schema]).flatMap(layersOf);
  return found.find(({ description }) => description !== undefined)?.description ?? "";
}
