/** Assigns roles to the figures of a text by the words beside a figure, never by its size or position. Read by precompute.ts. */
import { exact } from "../../runtime/kernel/exact.ts";
import { type Figure, figuresIn } from "./figures.ts";

/** Facts, and the processes whose tasks are searched for them (spec/worker.md 9). */
export const FACTS = {
  variance: ["invoice_reconciliation", "procurement", "expense_approval"],
  sla_credit: ["sla_breach"],
  proration: ["subscription_migration", "ar_collections", "month_end_close", "dispute_resolution", "invoice_reconciliation"],
  dispute_credit: ["dispute_resolution"],
} as const;
export type Fact = keyof typeof FACTS;

/** One way to fill an input. */
export interface Candidate {
  name: string;
  value: string;
  span: [number, number] | null;
  /** `text`, or the caller's source. */
  source: string;
  currency: string | null;
}
export type Inputs = Record<string, Candidate[]>;
/** Words beside a figure that give it its role; `other`: a figure with this name is not used. The nearest wins. */
type Roles = Record<string, RegExp>;
const roles = (words: Record<string, string>): Roles =>
  Object.fromEntries(Object.entries(words).map(([role, list]) => [role, new RegExp(`(?<![\\w])(?:${list})(?![\\w])`, "gi")]));

const ROLES: Record<"variance" | "threshold" | "sla" | "fee" | "downtime" | "period" | "price" | "time", Roles> = {
  variance: roles({
    invoiced: "invoiced?|billed|bill|charged|amount due",
    po_amount: "p\\.?o\\.?|purchase orders?|approved|contracted|budget(?:ed)?|ordered|agreed|quoted?",
    other: "taxe?s?|vat|discount|shipping|freight|fee|limit|threshold|tolerance|credit|deposit",
  }),
  threshold: roles({
    threshold_pct: "thresholds?|tolerances?|limits?|(?:allowed|permitted|maximum|max) (?:variance|difference|deviation)",
    other: "discount|taxe?s?|vat|interest|penalty|variance|difference|deviation|paid|deposit",
  }),
  sla: roles({
    target_pct:
      "(?:sla|slo)(?: (?:for |of |on )?(?:uptime|availability))?|target|committed|commitment|guaranteed?|promised|agreed|contracted",
    actual: "uptime|availability|actual(?:ly)?|achieved|measured|delivered|recorded|had|was|were|only",
    credit_pct: "credits?|credited",
    cap_pct: "cap|caps|capped(?: at)?|maximum|max|at most|up to",
    other: "discount|taxe?s?|vat|penalty|interest",
  }),
  fee: roles({
    fee: "fees?|contract(?: value)?|invoiced?|monthly|subscription|price|bill|billed|charged?",
    other: "credits?|credited|refund(?:ed)?|penalty|damages|loss|revenue",
  }),
  downtime: roles({
    downtime_minutes: "down|downtime|outages?|unavailable|offline|lasted|disruption|interruption",
    other: "respon(?:se|d|ded)|resol(?:ve|ved|ution)|notice|window|maintenance|within|allowed|allowance|permitted|every",
  }),
  period: roles({ period_days: "months?|periods?|billing|cycles?", other: "notice|terms|within|net|after" }),
  price: roles({
    total:
      "plans?|annual|yearly|subscription|contract|paid|pays|price|charged?|costs?|invoiced?|billed|prepaid|licen[cs]e|total|worth|for the (?:year|month|period)|(?:for|per|over|/) ?(?:the |a |an |each )?\\d{1,4}[ -](?:days?|months?)|(?:days?|months?) (?:at|for)",
    other: "refund(?:ed)?|credit(?:ed)?|termination|cancell?ation|penalty|taxe?s?|vat|discount|deposit|setup",
  }),
  time: roles({
    used: "used|after|into|elapsed|ago|consumed|served|first|passed",
    remaining: "remaining|left|unused|unexpired|remains?",
    of: "cycles?|periods?|terms?|plans?|for|of|per|over|total|contract|full|billing|subscription",
    other: "net|payment terms|overdue|late|past due|notice|within|grace|every|deadline|due|trial",
  }),
};

/** "for PO-8821" in "the invoice for PO-8821 is ..." identifies the invoice, and does not describe the amount. */
const REFERENCE =
  /\b(?:for|against|under|on|per|to|re)\s{1,3}(?:the\s|our\s|your\s)?(?:p\.?o\.?|purchase order|invoice|contract)[\s#-]{0,3}[A-Z-]{0,8}\d[\w-]{0,20}/gi;
const STOPS = /[;!?\n]|\.(?=\s|$)|\b(?:and|but|vs|versus|against|while|with|compared)\b/i;
const AHEAD_STOPS = new RegExp(`,|${STOPS.source}`, "i");
/** Characters read on each side of a figure. */
const BESIDE = 80;

/** The role whose word is nearest to the end of `behind`, or to the start of `ahead`. */
function spoken(part: string, given: Roles, side: "behind" | "ahead"): { role: string; end: number } | undefined {
  const words = Object.entries(given).flatMap(([role, pattern]) =>
    [...part.matchAll(pattern)].map((match) => ({ role, start: match.index, end: match.index + match[0].length })),
  );
  return words.sort((a, b) => (side === "behind" ? b.end - a.end : a.start - b.start))[0];
}

const lastPart = (text: string, separator: RegExp): string => text.split(separator).at(-1) ?? "";

/** Figures of one kind by role; those without one under "". A word after a figure gives no role to the next figure. */
function byRole(text: string, figures: readonly Figure[], given: Roles): Record<string, Figure[]> {
  const found: Record<string, Figure[]> = {};
  let from = 0;
  for (const [i, one] of figures.entries()) {
    const near = lastPart(text.slice(Math.max(from, one.from - BESIDE), one.from), STOPS);
    const after = text.slice(one.to, Math.min(figures[i + 1]?.from ?? text.length, one.to + BESIDE)).split(AHEAD_STOPS, 1)[0] ?? "";
    const back = spoken(near.replace(REFERENCE, " "), given, "behind") ?? spoken(near, given, "behind");
    // After a comma the word belongs to the figure before it: "a 30-day cycle, 12 days elapsed".
    const close = back !== undefined && !near.slice(back.end).includes(",");
    const ahead = close ? undefined : spoken(after, given, "ahead");
    (found[(ahead ?? back)?.role ?? ""] ??= []).push(one);
    from = one.to + (ahead?.end ?? 0);
  }
  return found;
}

/** "7 days used of 30 days", "12 of 30 days remaining": the first is a part of the second, used or remaining by the nearest word. */
function partsOf(text: string, figures: readonly Figure[]): Record<string, Figure[]> {
  const found: Record<string, Figure[]> = {};
  const given = Object.fromEntries(Object.entries(ROLES.time).filter(([role]) => role === "used" || role === "remaining"));
  for (const [i, one] of figures.entries()) {
    const whole = figures[i + 1];
    const between = whole === undefined ? "" : text.slice(one.to, whole.from);
    if (whole === undefined || !/^[\w\s-]{0,30}\bof (?:the |a |an |its |all )?(?:total |full )?$/i.test(between)) continue;
    const before = lastPart(text.slice(Math.max(0, one.from - BESIDE), one.from), /[,.;:!?\n](?=\s)/);
    const after = text.slice(whole.to, whole.to + BESIDE).split(AHEAD_STOPS, 1)[0] ?? "";
    const word = spoken(between, given, "ahead") ?? spoken(after, given, "ahead") ?? spoken(before, given, "behind");
    (found[word?.role ?? ""] ??= []).push(one);
    (found["of"] ??= []).push(whole);
  }
  return found;
}

const candidates = (name: string, figures: readonly Figure[] = []): Candidate[] => {
  const all = figures.flatMap((one) =>
    one.readings.map((value) => ({ name, value, span: [one.from, one.to] as [number, number], source: "text", currency: one.currency })),
  );
  return all.filter((one, i) => all.findIndex((other) => exact(other.value) === exact(one.value) && other.currency === one.currency) === i);
};

const MONTHS = "january february march april may june july august september october november december".split(" ");

/** Days of a calendar month named in the text; a February without a year may have two lengths, and so may two months. */
function monthsIn(text: string): Candidate[] {
  const found: Figure[] = [];
  for (const match of text.matchAll(/\b([A-Z][a-z]{2,8})(?: (\d{4}))?\b|\b(\d{4})-(\d\d)\b(?!-)/g)) {
    const month = match[4] === undefined ? MONTHS.indexOf((match[1] ?? "").toLowerCase()) : Number(match[4]) - 1;
    if (month < 0 || month > 11 || (match[1] === "May" && match[2] === undefined)) continue;
    const year = match[2] ?? match[3];
    const years = year === undefined ? [2023, 2024] : [Number(year)];
    const readings = [...new Set(years.map((one) => String(new Date(Date.UTC(one, month + 1, 0)).getUTCDate())))];
    found.push({ kind: "days", readings, currency: null, from: match.index, to: match.index + match[0].length });
  }
  return candidates("period_days", found);
}

/** The inputs that the text provides for a fact; unreadable figures with a role are added to `doubts`. */
export function inputsOf(text: string, fact: Fact, doubts: string[]): Inputs {
  const figures = figuresIn(text);
  const of = (kind: Figure["kind"], given: Roles, takes = (_: Figure): boolean => true): Record<string, Figure[]> => {
    const found = byRole(
      text,
      figures.filter((one) => one.kind === kind && takes(one)),
      given,
    );
    for (const [role, all] of Object.entries(found))
      for (const one of all)
        if (role !== "" && role !== "other" && one.readings.length === 0)
          doubts.push(`${role}: "${text.slice(one.from, one.to)}" cannot be read as one figure.`);
    return found;
  };
  const take = (found: Record<string, Figure[]>, ...names: string[]): Inputs =>
    Object.fromEntries(names.map((name) => [name, candidates(name, found[name])]));
  if (fact === "variance")
    return { ...take(of("amount", ROLES.variance), "invoiced", "po_amount"), ...take(of("percent", ROLES.threshold), "threshold_pct") };
  if (fact === "sla_credit") {
    const period = candidates("period_days", of("days", ROLES.period)["period_days"]);
    const shares = take(of("percent", ROLES.sla), "target_pct", "credit_pct", "cap_pct");
    return {
      ...take(of("minutes", ROLES.downtime), "downtime_minutes"),
      ...shares,
      // "SLA breach: 5 %" is not a target, and uptime cannot exceed 100 %.
      target_pct: (shares["target_pct"] ?? []).filter((one) => exact(one.value) >= exact(50) && exact(one.value) <= exact(100)),
      ...take(of("amount", ROLES.fee), "fee"),
      period_days: period.length > 0 ? period : monthsIn(text),
    };
  }
  const unit = fact === "proration" && figures.some((one) => one.kind === "months") ? "months" : "days";
  const lengths = figures.filter((one) => one.kind === unit);
  const paired = partsOf(text, lengths);
  const inPairs = Object.values(paired).flat();
  const time = of(unit, ROLES.time, (one) => !inPairs.includes(one));
  const both = (role: string): Figure[] => [...(paired[role] ?? []), ...(time[role] ?? [])];
  const [bare, named] = [both(""), both("of")];
  const part = [...candidates("used", both("used")), ...candidates("remaining", both("remaining"))];
  const sized = [...bare].sort((a, b) => Number(b.readings[0] ?? 0) - Number(a.readings[0] ?? 0));
  // Of two lengths the one without a word, or the longer of two without, is the whole: a part cannot exceed it.
  const whole = named.length > 0 ? named : sized.length === (part.length > 0 ? 1 : 2) ? sized.slice(0, 1) : [];
  const unassigned = bare.filter((one) => !whole.includes(one));
  const year = unit === "months" && whole.length === 0 ? /\b(?:annual|yearly)\b/i.exec(text) : null;
  const written = candidates("of", whole);
  const calendar = unit === "days" ? monthsIn(text).map((one) => ({ ...one, name: "of" })) : [];
  const yearly: Candidate[] =
    year === null ? [] : [{ name: "of", value: "12", span: [year.index, year.index + year[0].length], source: "text", currency: null }];
  const prices = of("amount", ROLES.price);
  // The only amount of a text is the price, unless a word gives it another role.
  const price = prices["total"] ?? (figures.filter((one) => one.kind === "amount").length === 1 ? prices[""] : undefined);
  return {
    total: candidates("total", price),
    part: part.length > 0 ? part : [...candidates("used", unassigned), ...candidates("remaining", unassigned)],
    of: written.length > 0 ? written : [...yearly, ...calendar],
    unit: [{ name: "unit", value: unit, span: null, source: "", currency: null }],
  };
}
