/**
 * Text from outside of the business: written by banks, tools, tasks and mails. The writer sees it only in results of its tools, each field
 * clipped, and the card says which it has seen. Clipping stops no injection; what does is that nothing is trusted and nothing acts without
 * approval.
 */
import type { Json, LlmMessage } from "../kernel/ports.ts";
import { isProse } from "../rules/policy/given.ts";
import { proseDigest } from "../workspace/settings/policies.ts";
import { callsMade } from "./requests.ts";

/** Characters per field: enough for a bank's text about a payment, too little for a page of instructions. */
const FIELD = 200;
const DEPTH = 12;
const MANY = 200;

/** The value with every text clipped to a field, and lists to a readable length. */
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

/** A text as fields that need no clipping: its sentences, long ones in pieces. */
const inFields = (text: string): string[] =>
  text
    .split(/\n+|(?<=[.!?;])\s+/)
    .flatMap((line) => line.trim().match(new RegExp(`.{1,${FIELD - 1}}(?:\\s|$)|.{1,${FIELD - 1}}`, "gu")) ?? []);

/** The prose policy that a run was given, and what replaces it once rules are made from it. */
export const givenProse = (policy: string | undefined): Record<string, Json> =>
  policy === undefined || !isProse(policy) ? {} : { given_policy: { digest: proseDigest(policy), lines: inFields(policy) } };

type Fields = Record<string, Json>;
const AGENTS_WORDS = "proposals of agents";
/** True if a row, or the owner of a row, begins like this. */
const has = (rows: Json | undefined, start: RegExp): boolean =>
  Array.isArray(rows) && rows.some((row) => start.test(String(typeof row === "string" ? row : fieldsOf(row)["by"])));
const some = (value: Json | undefined): boolean => Array.isArray(value) && value.length > 0;
// Findings from trials on recorded runs quote them: rows of banks, answers of tools.
const TRIED = /(?:^|\s)(?:dry_run|invariants|cases|backtest): /;
const TRIED_WORDS = "what recorded runs did with its draft";
const EARLIER_WORDS = "what recorded runs did with earlier changes";
const earlierOf = (rows: Json | undefined) => (has(rows, /^rejected, by agent:/) ? AGENTS_WORDS : has(rows, TRIED) && EARLIER_WORDS);

/** Tools whose answers contain text from outside, by their parameters and answers. */
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

/** Where text from outside occurred in a conversation. */
export function outsideIn(messages: readonly LlmMessage[]): string[] {
  const found = callsMade(messages).flatMap(({ call: { tool, params }, result }) => {
    // A returned submission counts as failed, but its findings were read.
    if ((result.failed === true && tool !== "submit") || !Object.hasOwn(OUTSIDE, tool) || !result.text.startsWith("{")) return [];
    return OUTSIDE[tool]?.(fieldsOf(params), fieldsOf(JSON.parse(result.text) as Json)) || [];
  });
  return [...new Set(found)].slice(0, 20);
}
