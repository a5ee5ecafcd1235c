/**
 * Patterns of secrets, identity and card numbers, health data and pay data (spec/worker.md 20). One row per shape. Rules for a row:
 * - linear: every repeat is bounded, or ends at a character that no other start can follow, so hostile text costs no more than its length;
 * - no word boundary where a checksum or a prefix is proof enough: a letter before or after a secret must not hide it. Only a digit
 *   may: a longer number is a different number.
 */
import { ibanLength, isCard, isItin, isNpi, isRouting, isSsn } from "./checksums.ts";

/** secret, identity and card are hidden wherever text is stored or shown; the others depend on policy and direction. */
export const GROUPS = ["secret", "identity", "card", "account", "personal", "health", "pay"] as const;
export type Group = (typeof GROUPS)[number];

export interface Pattern {
  /** Name of the mark: `[SSN:6789]`. */
  kind: string;
  group: Group;
  /** Lower-case texts, at least one of which is in every match. */
  gate?: readonly string[];
  /** The secret is the first group, which ends the match, else the whole match. */
  shape: RegExp;
  /** How many of its characters are the secret; 0 when it is not one. */
  check?(secret: string, match: RegExpExecArray): number;
  /** The secret begins before the match: as far back as characters of this class reach. */
  back?: RegExp;
  /** The mark and the finding show the last four digits. */
  last4?: true;
  /** So random that its hash does not reveal it; the hash of nine digits would. */
  random?: true;
}

const all = (is: (secret: string) => boolean) => (secret: string) => (is(secret) ? secret.length : 0);

const card = (_: string, match: RegExpExecArray): number => (isCard(match[0]) ? match[0].length : 0);

/** A digit, and twelve letters or digits in a row: words joined by dashes are not a key. */
const isKey = (text: string): boolean => /\d/.test(text) && /[A-Za-z0-9]{12}/.test(text);

/** "risk-assessment" contains `sk-` too: inside a word only a run that no word has counts. */
function skLength(secret: string, match: RegExpExecArray): number {
  const run = /[A-Za-z0-9]{16,}/.exec(secret)?.[0] ?? "";
  const inWord = /[A-Za-z0-9]/.test(match.input.charAt(match.index - 1));
  return !inWord || /\d/.test(run) || (/[a-z]/.test(run) && /[A-Z]/.test(run)) ? secret.length : 0;
}

// Words that follow "password:" but are not one, our own marks, and references to where it is stored.
const NO_PASSWORD =
  /^(?:required|reset|changed?|expired|invalid|incorrect|wrong|missing|must|not|null|none|true|false|undefined|hidden|redacted|secret:.*|\*+|x{4,}|\.+|\[[A-Z_]+(?::\w{1,4})?\]|\$\{\w+\}|\$[A-Z_]+)$/i;

function passwordLength(secret: string, match: RegExpExecArray): number {
  const bare = secret.replace(/[.!?)\]}]+$/, "");
  if (NO_PASSWORD.test(secret) || NO_PASSWORD.test(bare)) return 0;
  // "the password is wrong somehow": after a word instead of a sign, only text unlike any word counts.
  return /[:=>]/.test(match[0].slice(0, -secret.length)) || /[\d\W_]/.test(bare) ? secret.length : 0;
}

const END_OF_KEY = /^-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/;

/** To the end of the block; a block that was cut off counts as far as base64 continues, at most 16 kB. */
function blockLength(_: string, match: RegExpExecArray): number {
  const near = match.input.slice(match.index, match.index + 16_384);
  const at = near.indexOf("-----END ");
  const end = at === -1 ? null : END_OF_KEY.exec(near.slice(at, at + 100));
  if (end !== null) return at + end[0].length;
  return match[0].length + (/^(?:\\[nr]|[A-Za-z0-9+/=\s:,-])*/.exec(near.slice(match[0].length))?.[0].length ?? 0);
}

type Row = Omit<Pattern, "kind" | "group" | "last4" | "random">;

const SECRET: Record<string, Row> = {
  PRIVATE_KEY: { gate: ["private key"], shape: /-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----/g, check: blockLength },
  AGE_KEY: { gate: ["age-secret-key-1"], shape: /AGE-SECRET-KEY-1[0-9A-Z]{58}/gi },
  // Begins before ".eyJ", the payload: a scan from each "eyJ" would be quadratic.
  JWT: { gate: [".eyj"], shape: /\.eyJ[\w-]{5,}(?:\.[\w-]*)?/g, back: /[\w-]/ },
  AWS_KEY: { gate: ["akia", "asia"], shape: /(?:AKIA|ASIA)[A-Z0-9]{16}/g },
  GITHUB_TOKEN: { gate: ["gh", "github_pat_"], shape: /gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_\w{22,255}/g },
  GITLAB_TOKEN: { gate: ["glpat-"], shape: /glpat-[\w-]{20,64}/g },
  SLACK_TOKEN: { gate: ["xox", "hooks.slack"], shape: /xox[abeoprs]-[\w-]{10,250}|hooks\.slack\.com\/services\/[\w/]{20,100}/g },
  STRIPE_KEY: { gate: ["k_live_", "k_test_", "whsec_"], shape: /(?:[rs]k_(?:live|test)|whsec)_[A-Za-z0-9]{16,250}/g },
  GOOGLE_KEY: { gate: ["aiza", "ya29.", "gocspx-"], shape: /AIza[\w-]{35}|ya29\.[\w-]{20,250}|GOCSPX-[\w-]{20,64}/g },
  SENDGRID_KEY: { gate: ["sg."], shape: /SG\.[\w-]{16,32}\.[\w-]{32,64}/g },
  NPM_TOKEN: { gate: ["npm_"], shape: /npm_[A-Za-z0-9]{36}/g },
  API_KEY: { gate: ["sk-"], shape: /sk-(?:[A-Za-z0-9]{1,24}[-_]){0,3}[A-Za-z0-9]{16,250}[\w-]{0,250}/g, check: skLength },
  BEARER: { gate: ["bearer"], shape: /bearer[\s:]{1,5}["']?([\w.~+/-]{16,4096}={0,2})/gi, check: all(isKey) },
  BASIC_AUTH: { gate: ["basic"], shape: /authorization["']?\s{0,5}[:=]\s{0,5}["']?basic\s{1,5}([A-Za-z0-9+/]{8,1024}={0,2})/gi },
  TOKEN: {
    gate: ["key", "token", "secret", "credential"],
    shape:
      /(?:api[_ -]?key|secret[_ -]?key|access[_ -]?key|client[_ -]?secret|token|secret|credential)s?["']?(?:\s{0,5}(?:[:=]|=>)\s{0,5}|\s(?:is\s)?)["']?([\w.~+/-]{16,512}={0,2})/gi,
    check: all(isKey),
  },
};

const PASSWORDS: Record<string, Row> = {
  PASSWORD: {
    gate: ["pass", "pwd", "kennwort", "contrase"],
    shape:
      /(?:pass(?:word|wd|phrase|code|wort)|mot de passe|contraseña|kennwort|pwd)s?["']?(?:\s{0,5}(?:[:=]|=>)|\sis\b)\s{0,5}["']?([^\s"',;<>]{4,128})/gi,
    check: passwordLength,
  },
  URL_PASSWORD: { gate: ["://"], shape: /:\/\/[^\s/:@"'<>]{1,100}:([^\s/@"'<>]{1,200})(?=@)/g, check: passwordLength },
};

/** Their last four digits are shown, so that a person can identify them. */
const NUMBERS: [Group, string, Row][] = [
  // Not in "2024-12-3456": year, month and running number are an invoice number.
  [
    "identity",
    "SSN",
    { shape: /(?<!(?<!\d)2(?=0\d\d-(?:0[1-9]|1[0-2])-))\d{3}[-\u2010-\u2015]\d{2}[-\u2010-\u2015]\d{4}/g, check: all(isSsn) },
  ],
  // Without dashes only where the text names it.
  [
    "identity",
    "SSN",
    {
      shape: /(?:ssn|social[ _]security(?:[ _](?:number|no\.?|#))?)[^\dA-Za-z]{0,12}(?:is )?(\d{3} ?\d{2} ?\d{4})(?!\d)/gi,
      check: all(isSsn),
    },
  ],
  ["identity", "ITIN", { shape: /9\d{2}[-\u2010-\u2015]\d{2}[-\u2010-\u2015]\d{4}/g, check: all(isItin) }],
  ["card", "CARD_NUMBER", { shape: /(?<!\d)\d{13,19}(?!\d)/g, check: card }],
  ["card", "CARD_NUMBER", { shape: /(?<!\d)\d{4}([ .\u00a0\u2010-\u2015-])\d{4}\1\d{4}\1\d{4}(?!\d)/g, check: card }],
  ["card", "CARD_NUMBER", { shape: /(?<!\d)\d{4}([ .\u00a0\u2010-\u2015-])\d{4}\1\d{4}\1\d{4}\1\d{3}(?!\d)/g, check: card }],
  ["card", "CARD_NUMBER", { shape: /(?<!\d)3\d{3}([ .\u00a0\u2010-\u2015-])\d{6}\1\d{4,5}(?!\d)/g, check: card }],
  ["account", "IBAN", { shape: /[A-Z]{2}\d{2}(?:[ \u00a0-]?[A-Z0-9]){11,32}/g, check: ibanLength }],
  ["account", "ROUTING", { shape: /(?:routing|aba|rtn)[^\d\n]{0,24}(\d{9})(?!\d)/gi, check: all(isRouting) }],
  ["account", "ACCOUNT", { shape: /acc(?:oun)?t(?: ?(?:number|no\.?|#)|_number)["':=\s]{1,5}(\d{6,17})(?!\d)/gi }],
  [
    "personal",
    "PHONE",
    { gate: ["+"], shape: /\+\d[\d ().-]{7,18}\d/g, check: (text) => /^\+(?:\D{0,3}\d){8,15}/.exec(text)?.[0].length ?? 0 },
  ],
  ["personal", "PHONE", { shape: /\(\d{3}\) ?\d{3}-\d{4}|(?<!\d)\d{3}([-.])\d{3}\1\d{4}(?!\d)/g }],
  ["personal", "PASSPORT", { shape: /passport(?: (?:number|no\.?|#))?[:=#\s]{1,5}([A-Z]{0,2}\d{6,9})(?!\d)/gi }],
  ["personal", "DRIVER_LICENSE", { shape: /driver'?s?[ _]licen[cs]e(?: (?:number|no\.?|#))?[:=#\s]{1,5}([A-Z]{0,3}\d{5,14})(?!\d)/gi }],
  [
    "health",
    "MRN",
    {
      shape:
        /(?:mrn|(?:medical|patient)[ _](?:record|id|number|no\.?)(?:[ _](?:number|no\.?|#))?)[:=#"'\s]{1,5}([A-Z]{0,4}-?\d[\dA-Z-]{4,14})/gi,
    },
  ],
  ["health", "NPI", { shape: /npi\W{0,5}(\d{10})(?!\d)/gi, check: all(isNpi) }],
];

/** Nothing of these is shown. */
const FACTS: [Group, string, RegExp][] = [
  ["card", "CARD_CODE", /(?:cvv2?|cvc2?|card security code)\W{0,8}(\d{3,4})(?!\d)/gi],
  [
    "personal",
    "BIRTH_DATE",
    /(?:date of birth|birth[ _]?date|dob|born(?: on)?)["':=\s]{1,5}(\d{4}-\d\d-\d\d|\d{1,2}[./-]\d{1,2}[./-]\d{2,4})/gi,
  ],
  [
    "health",
    "ICD10",
    /(?:ICD-?10(?:-CM)?|[Dd]iagnos[a-z]{1,5}|DIAGNOS[A-Z]{1,5}|[Dd]x|DX)[^\n]{0,40}?[^A-Za-z0-9]([A-TV-Z]\d[0-9AB](?:\.[0-9A-Z]{1,4})?)/g,
  ],
  ["health", "DIAGNOSIS", /diagnosed (?:with|as having)\s{1,5}([a-z][^\n.,;]{2,60})/gi],
  [
    "health",
    "MEDICATION",
    /(?:prescribed|prescription (?:for|of)|medications?|takes|taking|dosage)[^\n.;]{0,60}?(\d{1,5}(?:\.\d{1,3})? ?(?:mg|mcg|ml))/gi,
  ],
  // US Medicare Beneficiary Identifier (CMS): the letters leave out S, L, O, I, B and Z.
  ["health", "MEDICARE_ID", /[1-9][AC-HJKMNP-RT-Y][AC-HJKMNP-RT-Y0-9]\d-?[AC-HJKMNP-RT-Y][AC-HJKMNP-RT-Y0-9]\d-?[AC-HJKMNP-RT-Y]{2}\d\d/g],
  [
    "pay",
    "PAY",
    /(?:salary|wages?|(?:base|net|gross|take-home) pay|hourly rate|pay rate|annual bonus|compensation)[^\n.\d]{0,40}(\d[\d,]{1,14}(?:\.\d{1,4})?k?)/gi,
  ],
];

export const PATTERNS: readonly Pattern[] = [
  ...Object.entries(SECRET).map(([kind, row]): Pattern => ({ kind, group: "secret", random: true, ...row })),
  ...Object.entries(PASSWORDS).map(([kind, row]): Pattern => ({ kind, group: "secret", ...row })),
  ...NUMBERS.map(([group, kind, row]): Pattern => ({ kind, group, last4: true, ...row })),
  ...FACTS.map(([group, kind, shape]): Pattern => ({ kind, group, shape })),
  { kind: "EMAIL", group: "personal", gate: ["@"], shape: /@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}/g, back: /[\w.%+-]/ },
];
