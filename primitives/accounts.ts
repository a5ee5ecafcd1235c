/** The chart of accounts, read only: people edit it in main.journal. */
import { z } from "zod";
import { didYouMean } from "../runtime/kernel/errors.ts";
import type { Account } from "../runtime/kernel/ports.ts";
import { definePrimitive, type StepContext } from "../runtime/kernel/primitive.ts";
import { OF_TREE, account, accountNumber, accountOut } from "./_shapes.ts";

const TYPES = ["asset", "liability", "equity", "income", "expense"] as const satisfies readonly Account["type"][];

const shape = { id: accountOut, name: z.string().describe("full name, Expenses:Software"), type: z.enum(TYPES) };

const toShape = (one: Account) => ({ id: accountNumber(one.id), name: one.name, type: one.type });

async function find(wanted: string | number, ctx: StepContext): Promise<Account | undefined> {
  const text = String(wanted);
  return (await ctx.ports.books.accounts()).find((one) => one.id === text || one.name === text);
}

export const accounts_list = definePrimitive({
  name: "accounts_list",
  ...OF_TREE,
  summary: "All accounts.",
  params: z.object({}),
  returns: z.array(z.object(shape)),
  example: "accounts_list()",
  run: async (_, ctx) => (await ctx.ports.books.accounts()).map(toShape),
});

export const accounts_get = definePrimitive({
  name: "accounts_get",
  ...OF_TREE,
  summary: "One account; found is false when there is none.",
  params: z.object({ account_id: account.describe("number or name") }),
  returns: z.discriminatedUnion("found", [
    z.object({ found: z.literal(true), ...shape }),
    z.object({ found: z.literal(false), message: z.string().describe("names the nearest account") }),
  ]),
  example: "accounts_get(5020)",
  run: async (p, ctx) => {
    const one = await find(p.account_id, ctx);
    if (one !== undefined) return { found: true as const, ...toShape(one) };
    const words = (await ctx.ports.books.accounts()).flatMap((known) => [known.id, known.name]);
    return { found: false as const, message: `There is no account ${p.account_id}.${didYouMean(String(p.account_id), words)}` };
  },
});

export const accounts_exists = definePrimitive({
  name: "accounts_exists",
  ...OF_TREE,
  summary: "Whether an account exists.",
  params: z.object({ account_id: account.describe("number or name") }),
  returns: z.boolean(),
  example: "accounts_exists(5020)",
  run: async (p, ctx) => (await find(p.account_id, ctx)) !== undefined,
});

export const accounts_by_type = definePrimitive({
  name: "accounts_by_type",
  ...OF_TREE,
  summary: "The accounts of one type.",
  params: z.object({ account_type: z.enum(TYPES) }),
  returns: z.array(z.object(shape)),
  example: `accounts_by_type("expense")`,
  run: async (p, ctx) => (await ctx.ports.books.accounts()).filter((one) => one.type === p.account_type).map(toShape),
});
