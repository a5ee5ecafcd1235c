/**
 * Whether a text may enter or leave. The strictest verdict over all findings counts, so that text added to a secret can only make it
 * stricter: nothing in a task switches the guard off (spec/worker.md 20).
 */
import { z } from "zod";
import type { Json } from "../../kernel/ports.ts";
import { GROUPS, type Group } from "./patterns.ts";
import { type Finding, scan } from "./scan.ts";

export type Direction = "inbound" | "outbound";
export type PrivacyWord = "allow" | "redact" | "refuse";

const word = z.enum(["allow", "redact", "refuse"], { error: "write allow, redact or refuse" });

/** config.yaml `privacy:`: how a group of data is treated in each direction; default: DEFAULT_PRIVACY. */
export const privacySchema = z.partialRecord(
  z.enum(GROUPS),
  z.strictObject({ inbound: word.optional(), outbound: word.optional() }, { error: "write {inbound: ..., outbound: ...}" }),
);
export type PrivacyPolicy = z.output<typeof privacySchema>;

export interface Judgement {
  verdict: PrivacyWord;
  /** `credential_exfiltration`, the refused class, or the kind of the first decisive finding: `ssn_literal`. Null when all is allowed. */
  trigger: string | null;
  findings: Finding[];
  /** One sentence for a person, without the data; null when all is allowed. */
  message: string | null;
}

const RANK: Record<PrivacyWord, number> = { allow: 0, redact: 1, refuse: 2 };

/** Incoming data may be needed for the work; outgoing text must not carry it. */
export const DEFAULT_PRIVACY: Record<Group, Record<Direction, PrivacyWord>> = {
  secret: { inbound: "redact", outbound: "redact" },
  identity: { inbound: "redact", outbound: "redact" },
  card: { inbound: "redact", outbound: "redact" },
  account: { inbound: "allow", outbound: "allow" },
  personal: { inbound: "allow", outbound: "allow" },
  health: { inbound: "allow", outbound: "redact" },
  pay: { inbound: "allow", outbound: "redact" },
};

/** Never leave unredacted, whatever a policy says. */
const LOCKED: readonly Group[] = ["secret", "identity", "card"];

function wordOf(group: Group, direction: Direction, policy: PrivacyPolicy): PrivacyWord {
  const word = policy[group]?.[direction] ?? DEFAULT_PRIVACY[group][direction];
  return word === "allow" && direction === "outbound" && LOCKED.includes(group) ? "redact" : word;
}

/** Classes of data that a task may be declared to contain and that are never handled here, whatever the text says (spec/worker.md 20). */
const REFUSED = ["private_customer_information", "confidential_company_knowledge", "sensitive_personal_data", "restricted_financial_data"];

/** The refused class that a declared class equals, however its words are joined; null for any other. */
function refusedClass(declared: string | null | undefined): string | null {
  const words = (declared ?? "")
    .normalize("NFKC")
    .trim()
    .toLowerCase()
    .replace(/[\s_-]+/g, "_");
  return REFUSED.find((one) => one === words) ?? null;
}

/** The groups treated in one of these ways in one direction. */
export function groupsOf(words: readonly PrivacyWord[], direction: Direction, policy: PrivacyPolicy = {}): ReadonlySet<Group> {
  return new Set(GROUPS.filter((group) => words.includes(wordOf(group, direction, policy))));
}

type Options = { direction: Direction; policy?: PrivacyPolicy; dataClass?: string | null | undefined };

/** The strictest judgement over the fields of a JSON value, each alone and with its name: {"password": "x"} contains one, and no name is a verb. */
export function judgeFields(root: Json, options: Options): Judgement {
  let strictest = judge("", options);
  const open: [name: string, value: Json][] = [["", root]];
  for (let field = open.pop(); field !== undefined; field = open.pop()) {
    const [name, value] = field;
    const isObject = typeof value === "object" && value !== null;
    if (isObject) for (const [key, one] of Object.entries(value)) open.push([Array.isArray(value) ? name : key, one]);
    const found = judge(isObject ? "" : String(value), options, name === "" ? "" : `${name}: `);
    if (RANK[found.verdict] > RANK[strictest.verdict]) strictest = found;
  }
  return strictest;
}

/** dataClass: the declared class of the text; it can only make the verdict stricter. `label`: text that precedes it. */
export function judge(text: string, options: Options, label = ""): Judgement {
  const { direction, policy = {} } = options;
  const findings = scan(label + text);
  const refused = refusedClass(options.dataClass);
  if (refused !== null) {
    const message = `The text was declared as ${refused.replaceAll("_", " ")}, which is not handled here. Leave that data out, or have a person decide.`;
    return { verdict: "refuse", trigger: refused, findings, message };
  }
  if (exfiltration(text)) {
    const message =
      "The text asks to hand out a password, key or token. Ask for it to be reset or rotated instead, or have a person decide.";
    return { verdict: "refuse", trigger: "credential_exfiltration", findings, message };
  }
  let [verdict, first]: [PrivacyWord, Finding | null] = ["allow", null];
  for (const one of findings) {
    const word = wordOf(one.group, direction, policy);
    if (RANK[word] > RANK[verdict]) [verdict, first] = [word, one];
  }
  if (first === null) return { verdict, trigger: null, findings, message: null };
  const kinds = [...new Set(findings.filter((one) => wordOf(one.group, direction, policy) !== "allow").map((one) => one.kind))].join(", ");
  const message =
    verdict === "refuse"
      ? `The text contains ${kinds}, which the policy does not allow ${direction === "inbound" ? "in" : "out"}. Leave it out, or have a person decide.`
      : `The text contains ${kinds}; they are replaced by marks such as [SSN:6789].`;
  return { verdict, trigger: `${triggerOf(first)}_literal`, findings, message };
}

/** Each issuer has its own name for keys, but they all open an account. */
function triggerOf(one: Finding): string {
  return one.group === "secret" && one.hash !== null && one.kind !== "PRIVATE_KEY" ? "api_key" : one.kind.toLowerCase();
}

const TERM =
  /(?:pass(?:words?|wds?|codes?|phrases?)|credentials?|log-?in (?:details|data)|(?:api|secret|private|access|ssh|encryption|signing)[ _-]?keys?|(?:access|bearer|oauth|auth|api|session|refresh)[ _-]?tokens?|client[ _-]?secrets?|secrets)(?![a-z])/g;

const words = (text: string): Set<string> => new Set(text.split(" "));

const HAND_OUT = words(
  "send sends sending export exports exporting exfiltrate exfiltrating transmit transmitting email emailing mail mailing dump dumping extract extracting expose exposing leak leaking share sharing upload uploading post posting give giving reveal revealing disclose disclosing print printing show showing return returning tell telling forward forwarding publish publishing copy copying paste pasting text texting",
);
/** Verbs after which the credential is replaced. */
const TAKES_OVER = words(
  "reset resetting rotate rotating revoke revoking change changing update updating renew renewing disable disabling expire expiring invalidate replace replacing",
);
/** Begins a new phrase: words before it govern another object. */
const OTHER_OBJECT = words("about regarding with without for from if when because before after using by on via against in unless until");
const DETERMINERS = words("the a an my your our his her their its this that these those new old all any every each");
const RECIPIENTS = words("me us him her them");
/** Head nouns that make "password" a mere description. */
const ABOUT_IT =
  /^[\s-]+(?:resets?|rotations?|polic(?:y|ies)|changes?|expir(?:y|ation|ed|es)|requirements?|reminders?|rules?|complexity|strength|protect(?:ed|ion)|hygiene|training|usage|budgets?|limits?)(?![a-z])/;

// Nine words cover the verb of a long sentence: "send me the current Stripe production database admin password".
const REACH = 9;
const LOOK_BACK = 160;

/**
 * Whether a text asks to hand out a credential. Only when the verb governs it: "send me the password" does, "send a password reset link",
 * "email Bob about the password policy" and "rotate the API key" do not. "Do not" is no exception: anyone could use it.
 * Linear in the text: each term looks back a bounded distance.
 */
export function exfiltration(text: string): boolean {
  const plain = text
    .normalize("NFKC")
    .replace(/[\u00ad\u200b-\u200f\u2060\ufeff]/g, "")
    .replace(/\s+/g, " ")
    .replace(/([.!?]) (?=\p{Lu})/gu, "$1\u0000")
    .toLowerCase();
  TERM.lastIndex = 0;
  for (let match = TERM.exec(plain); match !== null; match = TERM.exec(plain)) {
    if (/[a-z]/.test(plain.charAt(match.index - 1))) continue;
    if (ABOUT_IT.test(plain.slice(match.index + match[0].length, match.index + match[0].length + 40))) continue;
    if (governed(plain.slice(Math.max(0, match.index - LOOK_BACK), match.index))) return true;
  }
  return false;
}

/** Whether the nearest verb before the end of `before` hands out; looks back to the start of the sentence. */
function governed(before: string): boolean {
  const sentence = before.slice(before.lastIndexOf("\u0000") + 1);
  const found = sentence
    .trim()
    .split(" ")
    .slice(-REACH)
    .map((word) => word.replace(/^[^a-z0-9]+|[^a-z0-9]+$/g, ""));
  for (let i = found.length - 1; i >= 0; i--) {
    const word = found[i] ?? "";
    const previous = found[i - 1] ?? "";
    if (HAND_OUT.has(word)) {
      // In "the email password" it is an adjective: the verb may still come.
      if (DETERMINERS.has(previous)) continue;
      return true;
    }
    if (TAKES_OVER.has(word) && !DETERMINERS.has(previous)) return false;
    if (OTHER_OBJECT.has(word)) return false;
    // "the file to the credentials store" has its object before "to"; "to Bob the password" has it after.
    if (word === "to" && !found.slice(i + 2).some((one) => DETERMINERS.has(one)) && !RECIPIENTS.has(found[i + 1] ?? "")) return false;
  }
  return false;
}
