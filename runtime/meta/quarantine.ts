/**
 * Text from outside of the business: what banks, tools, tasks and mails wrote. The writer sees it only as results of its tools, each field cut,
 * and what it has seen is told on the card. Cutting stops no injection; that nothing is believed and nothing acts without a yes does.
 */
import type { Json, LlmMessage } from "../kernel/ports.ts";
import { isProse } from "../rules/policy/given.ts";
import { proseDigest } from "../workspace/settings/policies.ts";
import { callsMade } from "./requests.ts";

/** Characters of one field: enough for what a bank writes about a payment, too little for a page of orders. */
const FIELD = 200;
const DEPTH = 12;
const MANY = 200;

/** The value with every text of it cut to a field, and lists to what somebody reads. */
export function quarantined(value: unknown, many = MANY, depth = 0): Json {
  if (typeof value === "string") return value.length > FIELD ? `${value.slice(0, FIELD)}…` : value;
  if (typeof value !== "object" || value === null) return (value ?? null) as Json;
  if (depth > DEPTH) return "…";
  if (Array.isArray(value)) {
    const kept = value.slice(0, many).map((one) => quarantined(one, many, depth + 1));
    return value.length > many ? [...kept, `… and ${value.length - many} more`] : kept;
  }
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key.slice(0, FIELD), quarantined(one, many, depth + 1)]));
}

/** A text as fields that are not cut: its sentences, and what is longer in pieces. */
const inFields = (text: string): string[] =>
  text
    .split(/\n+|(?<=[.!?;])\s+/)
    .flatMap((line) => line.trim().match(new RegExp(`.{1,${FIELD - 1}}(?:\\s|$)|.{1,${FIELD - 1}}`, "gu")) ?? []);

/** The policy in prose that a run was given, and what stands for it where rules were made of it. */
export const givenProse = (policy: string | undefined): Record<string, Json> =>
  policy === undefined || !isProse(policy) ? {} : { given_policy: { digest: proseDigest(policy), lines: inFields(policy) } };

type Fields = Record<string, Json>;
const AGENTS_WORDS = "proposals of agents";
/** Whether a row, or whose it is, begins so. */
const has = (rows: Json | undefined, start: RegExp): boolean =>
  Array.isArray(rows) && rows.some((row) => start.test(String(typeof row === "string" ? row : fieldsOf(row)["by"])));
const some = (value: Json | undefined): boolean => Array.isArray(value) && value.length > 0;
// What is found when recorded runs are tried is told in their words: rows of banks, answers of tools.
const TRIED = /(?:^|\s)(?:dry_run|invariants|cases|backtest): /;
const TRIED_WORDS = "what recorded runs did with its draft";
const EARLIER_WORDS = "what recorded runs did with earlier changes";
const earlierOf = (rows: Json | undefined) => (has(rows, /^rejected, by agent:/) ? AGENTS_WORDS : has(rows, TRIED) && EARLIER_WORDS);

/** Which of its tools showed the writer text from outside: what they were asked for, and what they answered. */
const OUTSIDE: Record<string, (params: Fields, result: Fields) => string | null | false> = {
  search({ in: where }, { found }) {
    if (where === "scripts") return has(found, /^knowledge\//) && "files of knowledge/";
    if (where === "tools") return some(found) && "descriptions of tools";
    if (where === "proposals")
      return has(found, /^agent:/) ? AGENTS_WORDS : /"why":"[^"]*\brun_/.test(JSON.stringify(found)) && EARLIER_WORDS;
    return some(found) && (where === "entries" || where === "corrections" ? "bank rows" : where === "runs" && "results of recorded runs");
  },
  run: ({ id }) => `the recorded run ${String(id).slice(0, 40)}`,
  try: ({ agent }) => `what ${String(agent).slice(0, 60)} read when it was tried`,
  backtest: ({ agent }, { entries, worst, calls_and_notices: acts }) =>
    (some(entries) || some(worst) || some(acts)) && `bank rows in recorded runs of ${String(agent).slice(0, 60)}`,
  read: ({ path }, { earlier }) => (/^knowledge\//.test(String(path)) ? `the file ${String(path).slice(0, 100)}` : earlierOf(earlier)),
  write: (_, { earlier }) => earlierOf(earlier),
  check: (_, { checks }) => /"check":"(?:dry_run|invariants)"[^}]*"findings"/.test(JSON.stringify(checks)) && TRIED_WORDS,
  submit: (_, { findings }) => has(findings, TRIED) && TRIED_WORDS,
};

const fieldsOf = (value: Json): Fields => (typeof value === "object" && value !== null && !Array.isArray(value) ? value : {});

/** Where text from outside stood in a conversation. */
export function outsideIn(messages: readonly LlmMessage[]): string[] {
  const found = callsMade(messages).flatMap(({ call: { tool, params }, result }) => {
    // What is handed in and sent back has failed, and has been read.
    if ((result.failed === true && tool !== "submit") || !Object.hasOwn(OUTSIDE, tool) || !result.text.startsWith("{")) return [];
    return OUTSIDE[tool]?.(fieldsOf(params), fieldsOf(JSON.parse(result.text) as Json)) || [];
  });
  return [...new Set(found)].slice(0, 20);
}
