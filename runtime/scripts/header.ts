/**
 * The header of a script: YAML in the leading block comment, read into a checked shape, and the run's input checked against it.
 * Written by people and models, so it is untrusted: small, strict, and every problem has a place in the script.
 */
import { z } from "zod";
import { type At, ClearedError, type Code, didYouMean } from "../kernel/errors.ts";
import type { Json, State } from "../kernel/ports.ts";
import { type Machine, STATES as ALL_STATES, machineOf, machineProblems } from "../kernel/states.ts";
import type { DiskCache } from "./disk-cache.ts";
import { type InputField, field, mismatch } from "./fields.ts";
import { checkYaml, readYaml, type YamlSource } from "./yaml-text.ts";

export const TRIGGERS = ["schedule", "file_watch", "event", "webhook", "a2a", "mcp", "on_demand"] as const;
export type Trigger = (typeof TRIGGERS)[number];

const HEADER_LENGTH = 16_384;
const ENDS = ["done", "failed", "waiting", "diverged", "canceled"] as const;

const line = (what: string, max: number) =>
  z
    .string({ error: `write ${what}` })
    .trim()
    .min(1, `write ${what}`)
    .max(max, `at most ${max} characters`)
    .regex(/^[^\p{Cc}\p{Zl}\p{Zp}]*$/u, "write it on one line");

const trigger = z.string({ error: `write one of ${TRIGGERS.join(", ")}, or a list of them` }).check((context) => {
  const word = context.value;
  if ((TRIGGERS as readonly string[]).includes(word)) return;
  const message = `"${word}" is not a known trigger.${didYouMean(word, TRIGGERS)} There are ${TRIGGERS.join(", ")}.`;
  context.issues.push({ code: "custom", input: word, message });
});

/** `[DECOMPOSE, ASSESS, ...]`, or each with a line for people: `{ASSESS: read the invoice, APPROVAL_GATE?: a manager looks, ...}`. */
const statesField = z
  .union([z.array(z.string()), z.record(z.string(), z.string().trim().max(300))], {
    error: "write a list of states, or each state with a line that says what happens in it",
  })
  .transform((given): [string, string][] => (Array.isArray(given) ? given.map((name) => [name, ""]) : Object.entries(given)))
  .check((context) => {
    for (const [name] of context.value) {
      const state = name.replace(/\?$/, "");
      if ((ALL_STATES as readonly string[]).includes(state)) continue;
      context.issues.push({
        code: "custom",
        input: name,
        message: `"${name}" is not a known state.${didYouMean(state, ALL_STATES)} There are ${ALL_STATES.join(", ")}`,
      });
    }
  });

const schema = z.strictObject({
  name: line("a name for people, such as Daily Ingest", 100).optional().describe("for people; only a test script may omit it"),
  description: z.string().trim().max(1000).default("").describe("what it does, in a line"),
  trigger: z
    .union([trigger.transform((one) => [one]), z.array(trigger)], { error: `write one of ${TRIGGERS.join(", ")}, or a list of them` })
    .default([])
    .meta({ ts: TRIGGERS.map((one) => JSON.stringify(one)).join(" | ") })
    .describe("what starts it, one or a list; on_demand is always allowed"),
  schedule: line("a cron expression such as 0 6 * * *", 100).optional().describe("for trigger schedule: minute hour day month weekday"),
  timezone: line("a time zone such as America/New_York", 60)
    .refine(isTimezone, "no such time zone; write one such as America/New_York")
    .optional()
    .describe("of the schedule; default: that of the workspace"),
  watch: line("a folder such as import/", 200)
    .refine(isFolder, "write a folder inside the workspace, such as import/")
    .optional()
    .describe("for trigger file_watch: the folder; default: import/"),
  on_event: line("the name of an event", 100).optional().describe("for trigger event: its name, as in ctx_emit"),
  webhook: z
    .string()
    .regex(/^[a-z][a-z0-9_-]{0,79}$/, "write the name of a webhook, such as shop-orders")
    .optional()
    .describe("for trigger webhook: POST /hooks/NAME starts a run"),
  missed: z
    .enum(["run-once", "run-all", "skip"], { error: "write run-once, run-all or skip" })
    .default("run-once")
    .describe("how to handle starts that were missed while nothing ran"),
  uses: z
    .array(
      z.string().regex(/^(?:[a-z][a-z0-9_]*|agent:[a-z][a-z0-9_-]*)$/, "write the domain of a primitive, such as journal, or agent:NAME"),
      { error: "write a list such as [journal, config]" },
    )
    .default([])
    .describe("domains of primitives it may call, and agent:NAME for agents"),
  input: z
    .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "a field's name has letters, digits and _"), field)
    .default({})
    .describe("the fields of its input, each as below"),
  process: z
    .string()
    .regex(/^[a-z][a-z0-9_]{2,40}$/, "write the process's name in snake_case, with 3 to 41 characters, such as invoice_reconciliation")
    .optional()
    .describe("the business process it carries out; its rules are policies/NAME.yaml"),
  states: statesField
    .optional()
    .meta({ ts: "string[] | Record<string, string>" })
    .describe("its state machine, in order, each with a line for people; STATE? may be skipped"),
  strategy: z
    .string()
    .regex(/^[a-z][a-z0-9_]{2,40}$/, "write a name in snake_case, with 3 to 41 characters, such as tool_loop")
    .optional()
    .describe(
      "of a script in scripts/: a way of working on a task, recorded on each run that calls it (fsm: the run follows its own states)",
    ),
  risk: z.enum(["low", "medium", "high"], { error: "write low, medium or high" }).optional().describe("high: always needs a gate"),
  mutates: z.boolean({ error: "write true or false" }).optional().describe("false: it may only read"),
  output: z.record(z.string(), field).default({}).describe("the fields its result must have, each as below"),
  answer: z.enum(["object", "ranked_list"], { error: "write object or ranked_list" }).default("object").describe("the form of its result"),
  examples: z
    .array(z.json(), { error: "write a list of inputs" })
    .max(20)
    .default([])
    .describe("valid inputs: for people, checks and dry runs"),
  expect: z
    .strictObject({ status: z.enum(ENDS), code: z.union([z.string(), z.array(z.string())]).optional(), result: z.json().optional() })
    .optional()
    .describe("for a test script: how its run ends"),
});

/** For docs/HEADER.md. */
export const HEADER_SCHEMAS = { header: schema, field };

export interface Header extends Omit<z.output<typeof schema>, "name" | "trigger" | "states"> {
  name: string;
  trigger: Trigger[];
  /** The agent's state machine, with its bookends; null without `states:`. */
  machine: Machine | null;
}

/** True for an IANA name known on this machine. */
export function isTimezone(name: string): boolean {
  try {
    // Temporal also extracts a zone from a whole date. Not Intl.DateTimeFormat: its tables take 15 ms to load.
    return zoned(0, name).timeZoneId.toLowerCase() === name.toLowerCase();
  } catch {
    return false;
  }
}

/** The calendar day of a moment in a time zone, YYYY-MM-DD. */
export const dayIn = (timezone: string, ms: number): string => zoned(ms, timezone).toPlainDate().toString();

function zoned(ms: number, timezone: string): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(timezone);
}

function isFolder(path: string): boolean {
  return !/^\/|[\\:*?]/.test(path) && !path.split("/").some((part) => ["..", ".git", ".cleared"].includes(part));
}

/** The inside of the leading block comment, with a map from its places to those of the file. @throws `code` when there is none */
export function cut(
  source: string,
  file: string,
  code: Code = "SCRIPT_HEADER",
  begins = "A script begins with /* name: ..., description: ..., uses: [...] */, one key a line.",
): { text: string; place: NonNullable<YamlSource["place"]> } {
  const opening = /^\ufeff?(?:\s|\/\/[^\n]*(?:\n|$))*\/\*+/.exec(source.slice(0, HEADER_LENGTH));
  const missing = (message: string): ClearedError =>
    new ClearedError(code, `${file}:1: ${message} ${begins}`, { at: { file, line: 1, col: 1 } });
  if (opening === null) throw missing("There is no header comment.");
  const start = opening[0].length;
  const end = source.indexOf("*/", start);
  if (end === -1) throw missing("The header comment is not closed with */.");
  const before = source.slice(0, start);
  const firstLine = before.split("\n").length;
  const lines = source
    .slice(start, end)
    .split("\n")
    .map((text) => text.replace(/\r$/, ""));
  // /** ... * name: x ... */ as editors like to write it.
  const starred = lines.length > 1 && lines.slice(1).every((text) => /^\s*(?:\*|$)/.test(text));
  const cuts = lines.map((text, i) =>
    i === 0 ? text.length - text.trimStart().length : starred ? (/^\s*\* ?/.exec(text)?.[0].length ?? 0) : 0,
  );
  const startCol = start - (before.lastIndexOf("\n") + 1);
  return {
    text: lines.map((text, i) => text.slice(cuts[i])).join("\n"),
    place: (at, col) => ({ line: firstLine + at - 1, col: col + (cuts[at - 1] ?? 0) + (at === 1 ? startCol : 0) }),
  };
}

/** The header of a script. @throws SCRIPT_HEADER at file:line:col, HEADER_TRIGGER when a trigger lacks its key */
export function parseHeader(source: string, file: string, cache?: DiskCache): Header {
  const { text, place } = cut(source, file);
  const from: YamlSource = { file, code: "SCRIPT_HEADER", maxLength: HEADER_LENGTH, place, cache };
  const yaml = readYaml(text, from);
  const read = checkYaml(yaml, schema, from);
  const name = read.name ?? (read.expect === undefined ? undefined : file.replace(/^.*\/|\.ts$/g, ""));
  if (name === undefined)
    throw new ClearedError(
      "SCRIPT_HEADER",
      `${file}:${yaml.at([]).line ?? 1}: The header has no name:. Add a line such as "name: Daily Ingest".`,
      { at: yaml.at([]) },
    );
  for (const [key, one] of Object.entries(read.input)) checkDefault(key, one, () => yaml.at(["input", key, "default"]));
  const { states, ...rest } = read;
  const machine = states === undefined ? null : machineFrom(states, read.risk === "high", () => yaml.at(["states"]));
  const header: Header = { ...rest, name, trigger: [...new Set(read.trigger as Trigger[])], machine };
  for (const [word, key, example] of [
    ["schedule", "schedule", "0 6 * * *"],
    ["event", "on_event", "import.done"],
    ["webhook", "webhook", "shop-orders"],
  ] as const) {
    if (!header.trigger.includes(word) || header[key] !== undefined) continue;
    const at = yaml.at(["trigger"]);
    throw new ClearedError(
      "HEADER_TRIGGER",
      `${file}:${at.line ?? 1}: trigger: ${word} needs the key ${key}:. Add a line such as "${key}: ${example}".`,
      { at },
    );
  }
  return header;
}

/** A sub-script may have no header: a leading comment without `name:` is prose. */
export function hasHeader(source: string): boolean {
  try {
    return /^\s*name:/m.test(cut(source, "").text);
  } catch {
    return false; // no comment, or an unclosed one
  }
}

/** @throws FSM_MACHINE */
function machineFrom(given: readonly [string, string][], gate: boolean, where: () => At): Machine {
  const states = given.map(([name, line]) => ({ state: name.replace(/\?$/, "") as State, line, conditional: name.endsWith("?") }));
  if (states[0]?.state !== "DECOMPOSE") states.unshift({ state: "DECOMPOSE", line: "", conditional: false });
  if (states.at(-1)?.state !== "COMPLETE") states.push({ state: "COMPLETE", line: "", conditional: false });
  const problems = machineProblems(states, { gate });
  if (problems.length === 0) return machineOf(states);
  const at = where();
  throw new ClearedError("FSM_MACHINE", `${at.file}:${at.line ?? 1}: states: ${problems.join("; ")}.`, { at });
}

/** Computes the place only for a problem: finding it takes the parser, which a cached header does not need. */
function checkDefault(key: string, one: InputField, where: () => At): void {
  if (one.default === undefined) return;
  const problem = one.required === true ? "a required field has no default; drop one of the two" : mismatch(one.default as Json, one);
  const at = problem === null ? null : where();
  if (at !== null) throw new ClearedError("SCRIPT_HEADER", `${at.file}:${at.line ?? 1}: input.${key}: ${problem}.`, { at });
}
