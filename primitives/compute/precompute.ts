/**
 * Facts of finance that a task's text already contains, computed before any model reads it: the variance of an invoice, a service
 * credit, a prorated amount, a dispute's credit. Nothing is assumed: words beside a figure must give its role, absent figures are
 * listed as missing, and an ambiguous text gives two readings. Source: spec/worker.md 9 (R).
 */
import { z } from "zod";
import { ClearedError } from "../../runtime/kernel/errors.ts";
import { definePrimitive, type Primitive, parseParams, type StepContext } from "../../runtime/kernel/primitive.ts";
import { compute_prorated_amount } from "./allocation.ts";
import { compute_variance_check } from "./checks.ts";
import { exact, HUNDRED, least, percentOf, plain, times, whole } from "../../runtime/kernel/exact.ts";
import { taskText } from "./find.ts";
import { type Candidate, FACTS, type Fact, type Inputs, inputsOf } from "./roles.ts";
import { exactOut, figure, percent, percentTo100 } from "./shapes.ts";
import { compute_sla_credit } from "./sla.ts";

const FIGURES =
  "invoiced po_amount threshold_pct downtime_minutes target_pct fee credit_pct cap_pct period_days total used remaining of".split(" ");
const METHODS = ["once", "per_started_unit"] as const;

type Value = Record<string, string | boolean | null>;
/** A value, the inputs that it still lacks, and a sentence about it. */
type Computed = { value: Value; needs: string[]; says: string };

/** A primitive's own answer, so that each formula exists once. Pure primitives see only their parameters. */
function answerOf<R>(primitive: Primitive, params: Record<string, string | undefined>): R {
  const given = Object.fromEntries(Object.entries(params).filter(([, value]) => value !== undefined));
  return primitive.run(parseParams(primitive, given as Record<string, string>), undefined as unknown as StepContext) as R;
}

type Given = Record<string, string | undefined>;

const COMPUTE: Record<Fact, { needs: string[]; may: string[]; run(given: Given, currency: string | undefined): Computed }> = {
  variance: {
    needs: ["invoiced", "po_amount"],
    may: ["threshold_pct"],
    run({ invoiced, po_amount, threshold_pct }, currency) {
      const params = { invoiced, po_amount, threshold_pct: threshold_pct ?? "0", currency };
      const found = answerOf<{ exceeds: boolean; variance: string; pct: string | null }>(compute_variance_check, params);
      const known = threshold_pct !== undefined;
      const inputs = { invoiced: invoiced ?? null, po: po_amount ?? null, threshold: threshold_pct ?? null };
      return {
        value: { ...found, exceeds: known ? found.exceeds : null, ...inputs },
        needs: known ? [] : ["threshold_pct"],
        says: `The variance of ${found.pct ?? "?"} % ${found.exceeds ? "exceeds" : "is within"} the threshold of ${threshold_pct} %.`,
      };
    },
  },
  sla_credit: {
    needs: ["downtime_minutes", "target_pct", "period_days"],
    may: ["fee", "credit_pct", "cap_pct", "credit_method"],
    run({ downtime_minutes = "", target_pct = "", period_days = "", fee, credit_pct, cap_pct, credit_method }, currency) {
      const down = exact(downtime_minutes);
      const allowed = percentOf(times(exact(period_days), whole(24 * 60)), HUNDRED - exact(target_pct));
      const breach = down > allowed;
      const sla_max_mins = plain(allowed, 18);
      const known = fee !== undefined && credit_pct !== undefined && cap_pct !== undefined;
      const credit = !breach
        ? "0.00"
        : known
          ? answerOf<string>(compute_sla_credit, {
              // Up to twice the allowance is one unit; without an allowance there is only one.
              downtime_mins: credit_method === "once" && allowed > 0n ? plain(least(down, allowed * 2n), 18) : downtime_minutes,
              sla_max_mins,
              invoice_amount: fee,
              credit_pct_per_breach: credit_pct,
              cap_pct,
              currency,
            })
          : null;
      return {
        value: { downtime: downtime_minutes, allowed: sla_max_mins, target: target_pct, breach, credit },
        needs: breach ? Object.entries({ fee, credit_pct, cap_pct }).flatMap(([name, value]) => (value === undefined ? [name] : [])) : [],
        says: breach ? `The target is missed: a credit of ${credit} is owed.` : "The target is met: no credit is owed.",
      };
    },
  },
  proration: { needs: ["total", "part", "of"], may: ["unit"], run: (given, currency) => prorated(given, currency) },
  dispute_credit: {
    needs: ["total", "part", "of"],
    may: [],
    run(given, currency) {
      const { value, says } = prorated(given, currency);
      const left = plain(exact(String(value["of"])) - exact(String(value["used"])), 18);
      return { value: { credit: value["remaining"] ?? null, days_remaining: left, cycle: value["of"] ?? null }, needs: [], says };
    },
  },
};

function prorated({ total = "", part = "", part_name, of = "", unit = "days" }: Given, currency: string | undefined): Computed {
  const used = part_name === "remaining" ? plain(exact(of) - exact(part), 18) : part;
  if (exact(used) < 0n || exact(used) > exact(of))
    throw new ClearedError("COMPUTE_RANGE", `${part} ${unit} are more than the ${of} of the whole period.`);
  const remaining = answerOf<string>(compute_prorated_amount, { total, days_used: used, total_days: of, currency });
  return { value: { total, used, of, unit, remaining }, needs: [], says: `${remaining} of ${total} belong to the part that is left.` };
}

const MOST_READINGS = 4;

function solve(fact: Fact, text: string, given: Record<string, { value: string | number; source: string } | undefined>) {
  const { needs, may, run } = COMPUTE[fact];
  const doubts: string[] = [];
  const inputs: Inputs = inputsOf(text, fact, doubts);
  const known = (name: string): Candidate[] => {
    const one = given[name];
    return one === undefined ? [] : [{ name, value: String(one.value), span: null, source: one.source, currency: null }];
  };
  for (const name of [...needs, ...may]) {
    const from = name === "part" ? [...known("used"), ...known("remaining")] : known(name);
    if (from.length === 0) continue;
    const other = (inputs[name] ?? []).find((one) => one.source === "text" && from.every((each) => exact(each.value) !== exact(one.value)));
    if (other !== undefined) doubts.push(`${other.name}: the text says ${other.value}, ${from[0]?.source} says ${from[0]?.value}.`);
    inputs[name] = from;
  }
  const method: Candidate[] = METHODS.map((value) => ({ name: "credit_method", value, span: null, source: "", currency: null }));
  if (fact === "sla_credit") inputs["credit_method"] ??= method;
  const names = [...needs, ...may].filter((name) => (inputs[name] ?? []).length > 0);
  const missing = needs.filter((name) => !names.includes(name)).map((name) => (name === "part" ? "used" : name));
  const used = names.flatMap((name) => inputs[name] ?? []).filter((one) => one.source !== "");
  const currencies = [...new Set(used.flatMap((one) => one.currency ?? []))];
  if (currencies.length > 1) doubts.push(`The amounts are in ${currencies.join(" and ")}; convert them first.`);
  const ways = names.reduce<Candidate[][]>((all, name) => all.flatMap((way) => (inputs[name] ?? []).map((one) => [...way, one])), [[]]);
  if (ways.length > 2 * MOST_READINGS) doubts.push(`The text can be read in ${ways.length} ways.`);
  const found: { reading: string; computed: Computed }[] = [];
  if (missing.length === 0 && currencies.length < 2 && ways.length <= 2 * MOST_READINGS) {
    for (const way of ways) {
      const values = Object.fromEntries(way.map((one, i) => [names[i] ?? "", one.value]));
      const part = way.find((one) => one.name === "used" || one.name === "remaining");
      try {
        const computed = run({ ...values, part_name: part?.name }, currencies[0]);
        const reading = way.filter((_, i) => (inputs[names[i] ?? ""] ?? []).length > 1).map((one) => `${one.name} ${one.value}`);
        if (!found.some((one) => JSON.stringify(one.computed.value) === JSON.stringify(computed.value)))
          found.push({ reading: reading.join(", "), computed });
      } catch (error) {
        if (!(error instanceof ClearedError)) throw error;
        doubts.push(error.message);
      }
    }
  }
  const [only] = found;
  const clear = found.length === 1 && only !== undefined ? only.computed : null;
  const lacks = [...missing, ...new Set(found.flatMap((one) => one.computed.needs))];
  const sourced = used.every((one) => one.source !== "text") && lacks.length === 0 && doubts.length === 0;
  return {
    fact,
    value: clear?.value ?? null,
    readings: found.length > 1 ? found.map((one) => ({ reading: one.reading, value: one.computed.value })) : [],
    inputs: used.map(({ name, value, span, source }) => ({ name, value, span, source })),
    missing: lacks,
    doubts,
    recommendation: clear !== null && sourced ? clear.says : null,
  };
}

/** Shape of a figure of `facts`: credit notes make amounts negative, nothing else does. */
function shapeOf(name: string) {
  if (name.endsWith("_pct")) return name === "threshold_pct" ? percent : percentTo100;
  return /^(?:invoiced|po_amount|total)$/.test(name) ? figure() : figure({ from: "0" });
}

const from = <T extends z.ZodType>(value: T) =>
  z
    .object({ value, source: z.string().min(1).max(200).describe("policy, contract or record it was read from") })
    .strict()
    .optional();
const shapeOfValue = z.record(z.string(), z.union([z.string(), z.boolean(), z.null()]));

export const compute_facts_from_text = definePrimitive({
  name: "compute_facts_from_text",
  effect: "pure",
  summary:
    "Figures of finance found in a task's text and computed exactly; figures that the text lacks are listed as missing, never assumed.",
  params: z.object({
    text: taskText.describe("the task, in English"),
    process: z.string().max(100).describe("process type: decides which facts to look for; general: all"),
    facts: z
      .object({
        ...Object.fromEntries(FIGURES.map((name) => [name, from(shapeOf(name))])),
        credit_method: from(z.enum(METHODS)),
        unit: from(z.enum(["days", "months"])),
      })
      .strict()
      .default({})
      .describe("figures from policies, contracts and records; they take precedence over the text, and only they lead to a recommendation"),
  }),
  returns: z.array(
    z.object({
      fact: z.enum(Object.keys(FACTS) as [Fact, ...Fact[]]),
      value: shapeOfValue.nullable().describe("null when something is missing, or when the text has more than one reading"),
      readings: z.array(z.object({ reading: z.string(), value: shapeOfValue })).describe("all of them, when there is more than one"),
      inputs: z.array(
        z.object({
          name: z.string(),
          value: exactOut,
          span: z.array(z.number()).nullable().describe("offsets in the text, end exclusive"),
          source: z.string().describe("`text`, or what `facts` says"),
        }),
      ),
      missing: z.array(z.string()).describe("inputs without a value"),
      doubts: z.array(z.string()),
      recommendation: z.string().nullable().describe("only when every input comes from `facts`"),
    }),
  ),
  errors: ["COMPUTE_RANGE"],
  example: `compute_facts_from_text({ text: "Invoice INV-7 over $52,340.00, purchase order $51,200.00", process: "invoice_reconciliation", facts: { threshold_pct: { value: "2", source: "policies/invoice_reconciliation.yaml" } } })`,
  run({ text, process, facts }) {
    // A task of no process may contain any of them.
    const wanted = (Object.keys(FACTS) as Fact[]).filter(
      (fact) => process === "general" || (FACTS[fact] as readonly string[]).includes(process),
    );
    return wanted
      .map((fact) => solve(fact, text, facts as Parameters<typeof solve>[2]))
      .filter((one) => one.inputs.some(({ name }) => TELLING[one.fact].includes(name)));
  },
});

/** A fact is returned only if one of these is known. */
const TELLING: Record<Fact, string[]> = {
  variance: ["invoiced", "po_amount"],
  sla_credit: ["downtime_minutes", "target_pct"],
  proration: ["used", "remaining"],
  dispute_credit: ["used", "remaining"],
};
