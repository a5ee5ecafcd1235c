/**
 * The journal: add, find, void and confirm entries. Writes go to the run's overlay and are stored with its commit.
 * An entry is identified by the key of its statement row (through `reference`) or by `key`: adding it again writes nothing.
 */
import { z } from "zod";
import { ClearedError } from "../runtime/kernel/errors.ts";
import { type Account, ENTRY_STATUSES, type Entry, type EntryDraft } from "../runtime/kernel/ports.ts";
import { definePrimitive, type StepContext } from "../runtime/kernel/primitive.ts";
import {
  OF_TREE,
  account,
  accountNumber,
  accountOut,
  confidence,
  confidenceText,
  currency,
  day,
  either,
  entryId,
  money,
  positiveMoney,
  status,
  text,
} from "./_shapes.ts";

const heading = { date: day.describe("day of the entry"), description: text.describe("the bank's or a person's words") };

const about = {
  counterparty: text.optional().describe("who was paid or who paid"),
  reference: text.optional().describe("the `reference` of a row parsed in this run, or any text of yours (then pass `key` too)"),
  key: text.optional().describe("import key of an entry that is not from a statement: the same on every repeat"),
  confidence: confidence.optional().describe("how sure the classification is, 0 to 1"),
  status: status.default("pending-review").describe("pending-review asks a person"),
  evidence: text.optional().describe("why these accounts: the rule or source"),
  note: text.optional().describe("stored as a tag of the entry"),
};

const double = z
  .strictObject({
    ...heading,
    debit_account: account.describe("account that receives: number or name"),
    credit_account: account.describe("account that gives: number or name"),
    amount: positiveMoney.describe("positive"),
    currency: currency.optional().describe("default: the business's currency"),
    ...about,
  })
  .meta({ name: "NewEntry", side: "in" });

const leg = z
  .strictObject({
    account: account.describe("number or name"),
    debit: positiveMoney.optional().describe("positive; give debit or credit"),
    credit: positiveMoney.optional().describe("positive; give debit or credit"),
    currency: currency.optional().describe("default: the business's currency"),
    cost: z.strictObject({ amount: positiveMoney, currency }).optional().describe("total price of this leg in another currency"),
  })
  .refine((one) => (one.debit === undefined) !== (one.credit === undefined), {
    error: "needs exactly one of debit and credit",
    params: { code: "JOURNAL_LEG" },
  })
  .meta({ name: "NewLeg", side: "in" });

const legged = z
  .strictObject({ ...heading, legs: z.array(leg).min(2).describe("they add up to zero in each currency"), ...about })
  .meta({ name: "NewLegsEntry", side: "in" });

const added = z.object({ entry_id: entryId, known: z.boolean().describe("true: it was in the books already and nothing was written") });

const ADD_ERRORS = [
  ...["JOURNAL_UNBALANCED", "JOURNAL_LEG", "JOURNAL_AMOUNT", "JOURNAL_DATE", "JOURNAL_KEY", "JOURNAL_CLOSED", "JOURNAL_FORM"],
  "ACCOUNT_UNKNOWN",
];

function toDraft(entry: z.output<typeof double> | z.output<typeof legged>): EntryDraft {
  const tags: Record<string, string> = {};
  if (entry.confidence !== undefined) tags["conf"] = confidenceText(entry.confidence);
  if (entry.evidence) tags["ev"] = entry.evidence;
  if (entry.note) tags["note"] = entry.note;
  const legs: EntryDraft["legs"] =
    "legs" in entry
      ? entry.legs.map((one) => ({ ...one, account: String(one.account) }))
      : [
          { account: String(entry.debit_account), debit: entry.amount, currency: entry.currency },
          { account: String(entry.credit_account), credit: entry.amount, currency: entry.currency },
        ];
  return {
    date: entry.date,
    description: entry.description,
    // The seeds pass "" for "unknown".
    counterparty: entry.counterparty || undefined,
    reference: entry.reference || undefined,
    key: entry.key || undefined,
    status: entry.status,
    tags,
    legs,
  };
}

async function addOne(entry: z.output<typeof double> | z.output<typeof legged>, ctx: StepContext) {
  const [answer] = await ctx.ports.books.add([toDraft(entry)]);
  if (answer === undefined) throw new ClearedError("INTERNAL", "The books answered nothing for an added entry.");
  return answer;
}

export const journal_add_double = definePrimitive({
  name: "journal_add_double",
  effect: "write",
  summary: "Add an entry of two legs, balanced by construction.",
  params: double,
  returns: added,
  errors: ADD_ERRORS,
  example: `journal_add_double({ date: "2026-11-06", description: "GITHUB *PRO", debit_account: 5020, credit_account: 1010, amount: "4.00", counterparty: "GitHub", key: "github:2026-11", confidence: 0.98, status: "auto-confirmed" })`,
  run: addOne,
});

export const journal_add = definePrimitive({
  name: "journal_add",
  effect: "write",
  summary: "Add an entry of two or more legs, each with one positive debit or credit.",
  params: legged,
  returns: added,
  errors: ADD_ERRORS,
  example: `journal_add({ date: "2026-11-06", description: "Split purchase", key: "split:1", legs: [{ account: 5020, debit: "30.00" }, { account: 5030, debit: "12.50" }, { account: 1010, credit: "42.50" }] })`,
  run: addOne,
});

export const journal_add_many = definePrimitive({
  name: "journal_add_many",
  effect: "write",
  summary: "Add many entries in one call; each has the shape of journal_add_double or of journal_add.",
  params: z.object({
    entries: z
      .array(either("legs", legged, double))
      .max(50_000)
      .describe("in the order they are added"),
  }),
  returns: z.object({ entries: z.array(added).describe("one per entry, in order"), added: z.number(), known: z.number() }),
  errors: ADD_ERRORS,
  example: `journal_add_many({ entries: [{ date: "2026-11-06", description: "AWS", debit_account: 5020, credit_account: 1010, amount: "12.00", key: "aws:2026-11" }] })`,
  run: async (p, ctx) => {
    const entries = p.entries.length === 0 ? [] : await ctx.ports.books.add(p.entries.map(toDraft));
    const known = entries.filter((one) => one.known).length;
    return { entries, added: entries.length - known, known };
  },
});

const found = z
  .object({
    entry_id: entryId,
    date: z.string(),
    description: z.string(),
    counterparty: z.string(),
    status: z.enum(ENTRY_STATUSES),
    confidence: z.number().optional(),
    evidence: z.string().optional(),
    reference: z.string().optional(),
    amount: money.optional().describe("positive; entries of two legs only"),
    currency: z.string().optional(),
    debit_account: accountOut.optional().describe("entries of two legs only"),
    credit_account: accountOut.optional().describe("entries of two legs only"),
    legs: z.array(
      z.object({
        account: accountOut,
        name: z.string(),
        debit: money.optional(),
        credit: money.optional(),
        currency: z.string(),
        cost: z.object({ amount: money, currency: z.string() }).optional(),
      }),
    ),
    tags: z.record(z.string(), z.string()),
  })
  .meta({ name: "Entry" });

/** An entry as scripts see it, with account numbers, or the name of an account without one. */
function toFound(entry: Entry, numbers: Map<string, string | number>): z.input<typeof found> {
  const legs = entry.postings.map((posting) => ({
    account: numbers.get(posting.account) ?? posting.account,
    name: posting.account,
    ...(posting.amount.startsWith("-") ? { credit: posting.amount.slice(1) } : { debit: posting.amount }),
    currency: posting.currency,
    ...(posting.cost === undefined ? {} : { cost: posting.cost }),
  }));
  const { conf, ev, ref } = entry.tags;
  return {
    entry_id: entry.id,
    date: entry.date,
    description: entry.description,
    counterparty: entry.counterparty,
    status: entry.status,
    ...(conf === undefined || Number.isNaN(Number(conf)) ? {} : { confidence: Number(conf) }),
    ...(ev === undefined ? {} : { evidence: ev }),
    ...(ref === undefined ? {} : { reference: ref }),
    ...twoLegs(legs),
    legs,
    tags: entry.tags,
  };
}

function twoLegs(legs: z.input<typeof found>["legs"]) {
  const debit = legs.find((leg) => leg.debit !== undefined);
  const credit = legs.find((leg) => leg.credit !== undefined);
  if (legs.length !== 2 || debit?.debit === undefined || credit === undefined) return {};
  return { amount: debit.debit, currency: debit.currency, debit_account: debit.account, credit_account: credit.account };
}

const numbersByName = (accounts: Account[]): Map<string, string | number> =>
  new Map(accounts.map((one) => [one.name, accountNumber(one.id)]));

export const journal_query = definePrimitive({
  name: "journal_query",
  ...OF_TREE,
  summary: "Entries of the books, with what this run has added; all filters must hold.",
  params: z.object({
    status: z.enum(ENTRY_STATUSES).optional(),
    year: z.int().min(1).max(9999).optional(),
    month: z.int().min(1).max(12).optional(),
    account: account.optional().describe("number or name; sub-accounts count"),
    id: entryId.optional(),
    text: text.optional().describe("part of description or counterparty"),
    limit: z.int().min(1).max(100_000).optional().describe("at most this many"),
  }),
  returns: z.array(found),
  errors: ["ACCOUNT_UNKNOWN", "JOURNAL_FORM"],
  example: `journal_query({ status: "pending-review", year: 2026, month: 11 })`,
  run: async (p, ctx) => {
    const [accounts, entries] = [
      await ctx.ports.books.accounts(),
      await ctx.ports.books.query({ ...p, account: p.account === undefined ? undefined : String(p.account) }),
    ];
    const numbers = numbersByName(accounts);
    return entries.map((entry) => toFound(entry, numbers));
  },
});

export const journal_void = definePrimitive({
  name: "journal_void",
  effect: "write",
  summary: "Cancel an entry by adding its mirror image; the entry itself is never edited.",
  params: z.object({ entry_id: entryId, reason: text.describe("stored with the reversal") }),
  returns: z.object({ void_entry_id: entryId }),
  errors: ["JOURNAL_ENTRY_MISSING", "JOURNAL_STATUS", "JOURNAL_CLOSED", "JOURNAL_FORM"],
  example: `journal_void({ entry_id: "261106-9sd0ee4k2m", reason: "duplicate import" })`,
  run: (p, ctx) => ctx.ports.books.void(p.entry_id, p.reason),
});

export const journal_update_status = definePrimitive({
  name: "journal_update_status",
  effect: "write",
  summary: "Give a pending entry another status.",
  params: z.object({ entry_id: entryId, status }),
  returns: z.object({ entry_id: entryId, status: z.enum(ENTRY_STATUSES) }),
  errors: ["JOURNAL_ENTRY_MISSING", "JOURNAL_STATUS", "JOURNAL_CLOSED", "JOURNAL_FORM"],
  example: `journal_update_status({ entry_id: "261106-9sd0ee4k2m", status: "auto-confirmed" })`,
  run: async (p, ctx) => {
    await ctx.ports.books.setStatus(p.entry_id, p.status);
    return p;
  },
});

export const journal_balance = definePrimitive({
  name: "journal_balance",
  ...OF_TREE,
  summary: "Balance of an account and its sub-accounts per currency; debit positive.",
  params: z.object({ account: account.describe("number or name"), through: day.optional().describe("last day that counts; default: all") }),
  returns: z.object({ balance: z.record(z.string(), money).describe('by currency: { USD: "12.50" }; always with the workspace currency') }),
  errors: ["ACCOUNT_UNKNOWN", "JOURNAL_FORM"],
  example: "journal_balance(1010)",
  run: async (p, ctx) => ({ balance: await ctx.ports.books.balance(String(p.account), p.through) }),
});
