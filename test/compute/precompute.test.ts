/** Facts found in a task's text: the vectors, and that nothing is ever assumed (worker.md 9, R). */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { figuresIn } from "../../primitives/compute/figures.ts";
import { compute_facts_from_text } from "../../primitives/compute/precompute.ts";
import type { Json } from "../../runtime/kernel/ports.ts";
import { type Vector, vectors, wrongRows } from "../vectors/load.ts";
import { call, differences } from "./vectors.ts";

const FILE = "finance_precompute.json";

interface Found {
  fact: string;
  value: Record<string, Json> | null;
  readings: { reading: string; value: Record<string, Json> }[];
  inputs: { name: string; value: string; span: [number, number] | null; source: string }[];
  missing: string[];
  doubts: string[];
  recommendation: string | null;
}
const facts = async (process: string, text: string, given: Json = {}): Promise<Found[]> =>
  (await call(compute_facts_from_text, { text, process, facts: given })) as unknown as Found[];
const fact = async (process: string, text: string, given: Json = {}): Promise<Found> => {
  const [first] = await facts(process, text, given);
  if (first === undefined) throw new Error(`no fact in ${text}`);
  return first;
};
const from = (value: Json, source = "contract 7") => ({ value, source });

/** A function of the vectors as a process in which the fact is looked for; what its note takes for granted is given as a contract's word. */
const AS: Record<string, { process: string; fact: string; given: Json }> = {
  variance: { process: "invoice_reconciliation", fact: "variance", given: {} },
  sla: { process: "sla_breach", fact: "sla_credit", given: { period_days: from(30), credit_method: from("per_started_unit") } },
  proration: { process: "subscription_migration", fact: "proration", given: {} },
  dispute_credit: { process: "dispute_resolution", fact: "dispute_credit", given: {} },
};

async function ours({ function: name, args }: Pick<Vector, "function" | "args">): Promise<Json> {
  const { process, fact: wanted, given } = AS[name]!;
  return (await facts(process, String(args["task_text"]), given)).find((one) => one.fact === wanted)?.value ?? null;
}

describe(FILE, () => {
  it.each(vectors(FILE).map((one) => [one.function, String(one.args["task_text"]), one] as const))("%s: %s", async (_, __, vector) => {
    const found = await ours(vector);
    if (vector.expected === null) expect(found).toBeNull();
    else expect(differences(found, vector.expected, vector.tolerance)).toEqual([]);
  });

  it.each(
    wrongRows(FILE)
      .filter((one) => typeof one.recommended === "object")
      .map((one) => [String(one.args["task_text"]), one] as const),
  )("%s, where the original was wrong", async (_, row) => {
    // "per contract tiers": what is credited is not in the text.
    const { credit, ...recommended } = row.recommended as Record<string, Json>;
    const found = await ours(row);
    expect(differences(found, recommended, undefined)).toEqual([]);
    if (credit !== undefined) expect((found as Record<string, Json>)["credit"]).toBeNull();
  });

  it("without a threshold there is a variance and no judgement; two payments are not an invoice and an order", async () => {
    const found = await fact(
      "invoice_reconciliation",
      "Acme Corp submitted invoice INV-2024-447 for $52,340. The approved PO-8821 was $51,200. Approve or reject per policy.",
    );
    expect(found).toMatchObject({
      value: { pct_exact: "2.2265625", exceeds: null, threshold: null },
      missing: ["threshold_pct"],
      recommendation: null,
    });
    expect(await facts("invoice_reconciliation", "Two payments of $100 and $250 were made.")).toEqual([]);
  });
});

it.each<[string, string | null]>([
  ["Paid $300, 7 days used of 30 days", "230.00"],
  ["7 days used of 30 days, $300", "230.00"],
  ["Used 7 of 30 days of a $300 plan", "230.00"],
  ["7 of the 30 days used, charged $300", "230.00"],
  ["7 days of 30 days used. Charged $300", "230.00"],
  ["12 of 30 days remaining, paid $90", "36.00"],
  ["23 days left out of 30 days, $300 subscription", "230.00"],
  ["$300 for 30 days, 7 days used", "230.00"],
  ["$300 per 30 days; 7 days used, $20 tax", "230.00"],
  ["$300/30 days, 7 days elapsed", "230.00"],
  ["30 days at $300, 0 days used", "300.00"],
  ["$300 for 30 days, 30 days used", "0.00"],
  ["$90 for a 30-day cycle, 12 days elapsed", "54.00"],
  ["$1,200 for 12 months, cancelled after 5 months", "700.00"],
  ["3 of 12 months used, $1,200", "900.00"],
  ["$300 for 30 days, used 40 days", null],
  ["$300 refund, 7 days used of 30 days", null],
  ["$300 and $500, 7 days used of 30 days", null],
  ["7 days used of 30 days", null],
])("%s leaves %s", async (text, remaining) => {
  expect((await fact("subscription_migration", text)).value?.["remaining"] ?? null).toBe(remaining);
});

it("every input shows its place in the text, or who stated it", async () => {
  const text = "Invoice $900.00, purchase order $1,000";
  const found = await fact("procurement", text, { threshold_pct: from(2, "policies/procurement.yaml") });
  expect(found.inputs.map(({ name, span, source }) => [name, span === null ? source : text.slice(...span)])).toEqual([
    ["invoiced", "$900.00"],
    ["po_amount", "$1,000"],
    ["threshold_pct", "policies/procurement.yaml"],
  ]);
});

describe("a recommendation", () => {
  const all = { invoiced: from("900"), po_amount: from("1000.00"), threshold_pct: from("2", "policy") };

  it("is given if every figure comes from the facts", async () => {
    expect(await fact("procurement", "Check this.", all)).toMatchObject({
      recommendation: "The variance of 10 % exceeds the threshold of 2 %.",
    });
  });

  it.each([
    ["a figure is only in the text", "Invoice $900", { po_amount: from("1000"), threshold_pct: from(2) }],
    ["the text contradicts the facts", "Invoice $901, PO $1,000", all],
    ["the threshold is missing", "", { invoiced: from("900"), po_amount: from("1000") }],
    ["the threshold is only in the text", "tolerance 5%", { invoiced: from("900"), po_amount: from("1000") }],
  ])("is not given when %s", async (_, text, given) => {
    expect((await fact("procurement", text, given as Json)).recommendation).toBeNull();
  });

  it("reports a contradiction in the text", async () => {
    expect((await fact("procurement", "Invoice $901, PO $1,000", all)).doubts).toEqual([
      "invoiced: the text says 901, contract 7 says 900.",
    ]);
  });
});

describe("both readings", () => {
  it("where days may be used or remaining", async () => {
    const found = (await facts("dispute_resolution", "Customer paid $90, 30-day cycle, 12 days"))[1]!;
    expect(found.value).toBeNull();
    expect(found.readings.map((one) => [one.reading, one.value["credit"]])).toEqual([
      ["used 12", "54.00"],
      ["remaining 12", "36.00"],
    ]);
  });

  it("where an amount may be a thousand or one and a fraction, unless the text shows its style", async () => {
    const found = await fact("procurement", "Invoice €1.234, PO €1,50");
    expect(found.value).toMatchObject({ invoiced: "1234" });
    expect((await fact("procurement", "Invoice €1.234, PO €900")).readings.map((one) => one.value["invoiced"])).toEqual(["1234", "1.234"]);
  });

  it("where a credit may be due once or per started unit, until the contract says", async () => {
    const text = "SLA target 99.9%, 389 minutes of downtime in April, fee $10,000, 10% credit capped at 30%";
    expect((await fact("sla_breach", text)).readings.map((one) => one.value["credit"])).toEqual(["1000.00", "3000.00"]);
    expect(await fact("sla_breach", text, { credit_method: from("once") })).toMatchObject({ value: { credit: "1000.00" }, readings: [] });
  });

  it("where February has no year", async () => {
    const found = await fact("sla_breach", "SLA 99.9%, down 60 minutes in February");
    expect(found.readings.map((one) => one.value["allowed"])).toEqual(["40.32", "41.76"]);
  });
});

describe("what is not assumed", () => {
  it.each([
    ["the length of the month", "sla_breach", "SLA 99.9%, down 60 minutes", ["period_days"]],
    ["the target", "sla_breach", "uptime was 99.1%, down 60 minutes in April", ["target_pct"]],
    ["the credit and its cap", "sla_breach", "SLA 99.9%, down 60 minutes in April, fee $10", ["credit_pct", "cap_pct"]],
    ["the order", "procurement", "Invoice $900, $1,000 was in the plan", ["po_amount", "threshold_pct"]],
    ["a discount as threshold", "procurement", "Invoice $900, PO $1,000, 2% discount", ["threshold_pct"]],
    ["a deposit as an order", "procurement", "Invoice $900; the deposit was $70 in the report", ["po_amount"]],
    ["an amount in a range", "procurement", "Invoice $900-$950, PO $1,000", ["invoiced"]],
    ["a price", "subscription_migration", "30-day cycle, 10 days used", ["total"]],
  ])("%s", async (_, process, text, missing) => {
    const found = await fact(process, text);
    expect(found.missing).toEqual(expect.arrayContaining(missing.slice(0, 1)));
    expect(found.recommendation).toBeNull();
  });

  it("one currency for two amounts", async () => {
    const found = await fact("procurement", "Invoice EUR 900, PO USD 1,000");
    expect(found).toMatchObject({ value: null, readings: [], doubts: ["The amounts are in EUR and USD; convert them first."] });
  });

  it("a fact of another process; a task without a process may contain any", async () => {
    const text = "Invoice $900, purchase order $1,000, limit 5%";
    expect(await facts("payroll", text)).toEqual([]);
    expect((await facts("general", text)).map((one) => one.fact)).toEqual(["variance"]);
  });
});

it("a calendar month gives the days of its period", async () => {
  const of = async (month: string) => (await fact("ar_collections", `Customer paid $310 for ${month} and has used 10 days`)).value?.["of"];
  expect(await Promise.all(["March 2026", "2026-04", "February 2024", "February 2026"].map(of))).toEqual(["31", "30", "29", "28"]);
});

it.each([
  ["EUR 1.234,56", ["1234.56"], "EUR"],
  ["1.234.567,8 €", ["1234567.8"], "EUR"],
  ["USD 1,200", ["1200"], "USD"],
  ["$1.2M", ["1200000"], "USD"],
  ["3k EUR", ["3000"], "EUR"],
  ["£2.5 million", ["2500000"], "GBP"],
  ["CHF 1'234.50", ["1234.50"], "CHF"],
  ["1 234,56 €", ["1234.56"], "EUR"],
  ["1 234 €", [], "EUR"],
  ["$1,23,456", [], "USD"],
  ["KWD 1.250", ["1250", "1.250"], "KWD"],
  ["¥120,000", ["120000"], "JPY"],
  ["$100 CAD", ["100"], "CAD"],
  ["(-$5.00)", ["-5.00"], "USD"],
  ["12,50 dollars", ["12.50"], "USD"],
])("%s is read as %j", (text, readings, currency) => {
  expect(figuresIn(text)).toMatchObject([{ kind: "amount", readings, currency }]);
});

it.each([
  ["2 hours and 30 minutes", ["minutes", "150"]],
  ["1.5 h", ["minutes", "90"]],
  ["99,95 %", ["percent", "99.95"]],
  ["a 30-day term", ["days", "30"]],
])("%s is one figure", (text, [kind, value]) => {
  expect(figuresIn(text)).toMatchObject([{ kind, readings: [value] }]);
});

it("numbers without a currency or unit are not figures", () => {
  expect(figuresIn("INV-2024-447, PO-8821 of 2024-05-01, room 12, INV-10 days, 24/7 hours, 1,200 ABC")).toEqual([]);
});

it("any text is answered: inputs are in the text, and no recommendation is made from them", async () => {
  const piece = fc.constantFrom(
    ..."invoice PO $1,000 €1.234 USD 5% 99.9% SLA down 2 hours 30 days 12 months used remaining cycle paid fee credit cap threshold -$3 1 234 € February 2026 and , . ; $1.2M annual".split(
      " ",
    ),
    "30 days",
    "12 months",
    "2 hours",
    "10 minutes",
    "EUR 1.234,56",
  );
  const processes = fc.constantFrom("invoice_reconciliation", "sla_breach", "dispute_resolution", "subscription_migration");
  await fc.assert(
    fc.asyncProperty(
      processes,
      fc.oneof(
        fc.string({ unit: "grapheme" }),
        fc.array(piece, { maxLength: 25 }).map((all) => all.join(" ")),
      ),
      async (process, text) => {
        for (const found of await facts(process, text)) {
          expect(found.recommendation).toBeNull();
          if (found.value !== null) expect(found.readings).toEqual([]);
          for (const { span, source } of found.inputs) {
            expect(source).toBe("text");
            expect(text.slice(...span!)).toMatch(/\d|February|annual/);
          }
        }
      },
    ),
    { numRuns: 600 },
  );
});
