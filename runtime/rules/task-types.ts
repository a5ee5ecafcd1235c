/**
 * Which process a task in words is about: whole words and phrases, each worth more the fewer processes have it. Pure; returns its
 * confidence, and leaves unclear tasks to others. Source: spec/worker.md 28 (R).
 */
import { normalText } from "./grounding.ts";

/** What people call a process, besides the words of its header. */
const SYNONYMS: Record<string, string> = {
  expense_approval: "expense, expense report, reimbursement, reimburse, receipt, spend, claim",
  procurement: "vendor, purchase order, po, rfp, supplier, procurement, requisition, quote, buy",
  hr_offboarding: "offboarding, offboard, termination, resignation, access revocation, last day, leaves the company",
  incident_response: "incident, outage, p1, p2, emergency, sev1, sev2, down, breach of security, alert",
  invoice_reconciliation: "invoice, reconcile, reconciliation, 3-way match, three-way match, accounts payable, bill",
  customer_onboarding: "onboarding, onboard, new customer, new client, provision, set up",
  compliance_audit: "compliance, audit, kyc, gdpr, pci, sox, regulatory, control",
  dispute_resolution: "dispute, chargeback, complaint, contested",
  order_management: "order, fulfillment, fulfilment, shipment, delivery, ship, cart",
  sla_breach: "sla, service level, uptime, downtime, service credit",
  month_end_close: "month-end, month end, close the books, financial close, p&l, trial balance",
  ar_collections: "accounts receivable, overdue, collection, aging, dunning, past due, bad debt, payment plan",
  subscription_migration: "migrate, migration, downgrade, upgrade, plan change, change plan, subscription",
  payroll: "payroll, salary, salaries, pay run, wages, paycheck",
};

const STOP = new Set(
  "the and for with from what who how which that this into its are not has have may can out one all any per day days date each other than them then they new task tool named".split(
    " ",
  ),
);

export interface Known {
  name: string;
  process?: string | undefined;
  /** From the header: name and description. */
  words: string;
}

const singular = (word: string): string => word.replace(/(?<=[a-z]{2}[^s])s$/, "");
const wordsOf = (text: string): string[] => (normalText(text).match(/[\p{L}\p{N}&]+(?:-[\p{L}\p{N}]+)*/gu) ?? []).map(singular);

/** Words that occur in tasks of every kind. */
const ANY = new Set("request please need want would like process approve approval decide make give get help asap urgent".split(" "));

/** Whether two tasks are of one kind: without figures and ids they share most words of the shorter one, and the longer is not too long. */
export function isOneKind(a: string, b: string): boolean {
  if (normalText(a) === normalText(b)) return true;
  const about = (word: string) => word.length > 2 && !/\d/.test(word) && !STOP.has(word) && !ANY.has(word);
  const [one, two] = [new Set(wordsOf(a).filter(about)), new Set(wordsOf(b).filter(about))];
  const both = one.intersection(two).size;
  return both > 0 && both * 2 >= Math.min(one.size, two.size) && both * 6 >= Math.max(one.size, two.size);
}

/** Best first. confidence: share of the evidence in its favour; 0 when there is none. */
export function rankTasks(text: string, known: readonly Known[]): { name: string; confidence: number }[] {
  const phrases = known.map(({ process, words }) => {
    const synonyms = SYNONYMS[process ?? ""]?.split(", ").map((one) => [wordsOf(one).join(" "), 2] as const) ?? [];
    const ownWords = wordsOf(`${words} ${(process ?? "").replaceAll("_", " ")}`).filter((one) => one.length > 2 && !STOP.has(one));
    return new Map([...ownWords.map((one) => [one, 1] as const), ...synonyms]);
  });
  // The "order" in "purchase order" does not count alone.
  const allWords = ` ${wordsOf(text).join(" ")} `;
  const long = new Set(phrases.flatMap((own) => [...own.keys()].filter((one) => one.includes(" ") && allWords.includes(` ${one} `))));
  const rest = [...long].reduce((left, one) => left.replaceAll(` ${one} `, " "), allWords);
  const scores = phrases.map((own) => {
    const hit = [...own].filter(([phrase]) => (phrase.includes(" ") ? allWords : rest).includes(` ${phrase} `));
    const having = (phrase: string) => phrases.filter((other) => other.has(phrase)).length;
    const score = hit.reduce((sum, [phrase, weight]) => sum + weight * Math.log(1 + known.length / having(phrase)), 0);
    // One word of a header is not enough to be sure; one that people use for the process is.
    return { score, most: hit.reduce((sum, [, weight]) => sum + weight, 0) < 2 ? 0.5 : 1 };
  });
  const all = scores.reduce((sum, one) => sum + one.score, Math.log(2));
  return known
    .map(({ name }, i) => ({ name, confidence: Math.round(Math.min(scores[i]?.most ?? 0, (scores[i]?.score ?? 0) / all) * 100) / 100 }))
    .sort((a, b) => b.confidence - a.confidence);
}

/** Above this, a text is a task with a preamble, not a question (4.1). */
const LONGEST_QUESTION = 120;

const QUESTION =
  /\b(?:what (?:is|are|was|were)|what's|whats the|show me|get me|give me|find|list|status of|how many|who (?:is|are|was|were)|when (?:is|are|was|were)|when|where (?:is|are|was|were)|tell me|display|check|look up|retrieve|can you show)\b/;

/** Words that can only be an instruction. */
const VERBS =
  "approve reject create update delete remove add insert cancel void reverse submit send apply assign move put save write enroll activate deactivate enable disable unlock escalate resolve complete finish terminate suspend resume pay collect disburse schedule notify dispatch unlink attach detach replace modify handle execute perform manage implement initiate trigger generate produce fulfill provision onboard offboard migrate reconcile settle adjust override authorize certify validate confirm acknowledge remediate revoke reset deprovision register";
/** Words that are instructions only at the start of a clause: "credit the account", but "the credit", "open orders", "status of invoice 7". */
const NOUNS =
  "close open post transfer mark set record log lock flag refund charge credit debit invoice bill book alert route forward merge split link change process run issue clear";

const ACT = new RegExp(
  `\\b(?:${VERBS.replaceAll(" ", "|")})\\b|(?:^|[.,;:!?\\n]\\s*|\\b(?:and|then|please|to|or|also|now|you|must|should|will|would|can|could|we|i|let's|not)\\s+)(?:${NOUNS.replaceAll(" ", "|")})\\b`,
);
/** "do not modify", "never pay or refund", "without posting": the negated words ask for nothing. */
const NEGATED = /\b(?:do not|don't|never|must not|without)\s+\w+(?:(?:\s*,\s*\w+){0,20},?\s+(?:or|nor)\s+\w+)?/g;

/**
 * Whether a task only asks (`readonly`: a short question without a word for an act), or wants something done. A task that
 * only asks gets a read-only machine (states.ts `readOnlyMachine`), so a wrong "readonly" leaves work undone and a wrong
 * "full" costs nothing: the gates stay. Source: spec/worker.md 4.1, distinguishing nouns and negation (4, R).
 */
export function complexityOf(text: string): "readonly" | "full" {
  if (text.length > LONGEST_QUESTION) return "full";
  const asked = text.toLowerCase().replaceAll("\u2019", "'").replace(NEGATED, " ");
  return QUESTION.test(asked) && !ACT.test(asked) ? "readonly" : "full";
}
