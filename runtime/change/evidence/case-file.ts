/**
 * cases/<agent>/<name>.yaml: names a recorded run and what its replay must reproduce, as text that is reviewed and reverted like any other.
 * The recording stays in the run store; its hash identifies it. Anybody may propose a case, so it is parsed strictly and nothing in it is
 * trusted but its shape.
 */
import { createHash } from "node:crypto";
import { z } from "zod";
import { isDay } from "../../kernel/day.ts";
import { ClearedError } from "../../kernel/errors.ts";
import type { Step } from "../../kernel/ports.ts";
import { escaped } from "../../kernel/text.ts";
import { checkYaml, readYaml, type YamlSource } from "../../scripts/yaml-text.ts";
import { CASES } from "../../workspace/layout.ts";
import type { Recording } from "./types.ts";
import { type Kept, keepsNothing, keptSchema, line } from "./kept.ts";

/** Largest text of a case, in characters; a larger case is not written. */
export const MAX_CASE = 262_144;

/** Equal for recordings with the same calls, answers and effects on the books. */
export function recordingHash(steps: readonly Step[]): string {
  const hash = createHash("sha256");
  for (const { name, params, result, error, changes } of steps)
    hash.update(JSON.stringify([name, params, result, error?.code ?? null, changes]));
  return hash.digest("hex");
}

/** True if the case was made from exactly this recording, not only from a run of the same name. */
export const isCaseOf = ({ run, recording }: Case["from"], of: Recording): boolean =>
  run === of.run.id && recording === recordingHash(of.steps);

const sha = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/, "write a full object id");

const schema = z.strictObject({
  agent: z.string().regex(/^[a-z][a-z0-9_-]*$/, "write the agent's name"),
  /** One sentence. */
  why: line(500),
  from: z.strictObject({
    run: z.string().regex(/^[\w-]{1,60}$/, "write a run's id"),
    /** `recordingHash` of the run's steps. */
    recording: z.string().regex(/^[0-9a-f]{64}$/, "write the SHA-256 of the recording"),
    /** The commit the run was made on. */
    commit: sha,
    /** Day on which the run started. */
    day: z.string().refine(isDay, "write a day as YYYY-MM-DD"),
    /** Id of the proposal that froze it. */
    proposal: line(60).exactOptional(),
    /** Name of the person who corrected the run's result. */
    correction: line(200).exactOptional(),
  }),
  /**
   * Policies, importers and settings of the change that froze the case, blob by path, applied over the run's commit. Never code: a case that
   * brings its own script would pass whatever is proposed.
   */
  over: z
    .record(z.string().regex(/^(?:config\.yaml|(?:policies|importers|knowledge)\/[^\\]+)$/, "may not replace a run's file"), sha.nullable())
    .default({}),
  ...keptSchema.shape,
});

export type Case = Pick<z.output<typeof schema>, "agent" | "why" | "from" | "over"> & { keeps: Kept };

/** Agent and name in a case's path, or null: `cases/ingest/run_x.yaml` is ["ingest", "run_x"]. */
export function casePath(path: string): { agent: string; name: string } | null {
  const [, agent, name] = /^cases\/([a-z][a-z0-9_-]*)\/([\w-]{1,80})\.yaml$/.exec(path) ?? [];
  return agent === undefined || name === undefined ? null : { agent, name };
}

/** @throws CASE_INVALID at file:line */
export function parseCase(text: string, file: string): Case {
  // Most cases are exactly as `caseText` writes them, and the fast reader handles 1,000 a second. Any other text is parsed as YAML.
  const lines = text.length > MAX_CASE ? null : readLines(text);
  const known = lines === null ? null : schema.safeParse(lines, { jitless: true });
  if (known?.success === true) {
    const one = toCase(known.data, file);
    if (caseText(one) === text) return one;
  }
  const source: YamlSource = { file, code: "CASE_INVALID", maxLength: MAX_CASE, written: true };
  return toCase(checkYaml(readYaml(text, source), schema, source), file);
}

function toCase({ agent, why, from, over, ...keeps }: z.output<typeof schema>, file: string): Case {
  const wrong = (message: string) => new ClearedError("CASE_INVALID", `${file}: ${message}`, { at: { file } });
  const place = casePath(file);
  if (place === null) throw wrong(`A case is stored at ${CASES}<agent>/<name>.yaml; its name has letters, digits, "-" and "_".`);
  if (agent !== place.agent) throw wrong(`It is a case of ${agent}, so it belongs in ${CASES}${agent}/.`);
  if (keepsNothing(keeps)) throw wrong("It checks nothing: write what the run must produce again, such as books: or asks:.");
  return { agent, why, from, over, keeps };
}

/** The case in a file, or the reason why its text is not a valid case. */
export function readCase(text: string, file: string): Case | ClearedError {
  try {
    return parseCase(text, file);
  } catch (error) {
    if (error instanceof ClearedError) return error;
    throw error;
  }
}

/** Why this text cannot be stored as a case, as half a sentence; null if it can be read back. */
export function unfit(text: string, file: string): string | null {
  if (text.length > MAX_CASE)
    return `what it keeps has ${Math.ceil(text.length / 1024)} KB as text, and a case has at most ${MAX_CASE / 1024}`;
  const read = readCase(text, file);
  return read instanceof ClearedError ? `what it keeps does not fit into a case: ${read.message}` : null;
}

/** The case as text; empty parts are omitted. */
export function caseText({ agent, why, from, over, keeps }: Case): string {
  const { ends, answers, ...lists } = keeps;
  const lines = [
    ...pairs({ agent, why }, ""),
    ...block("from", pairs(from, "  ")),
    ...block("over", quoted(over)),
    ...Object.entries(lists).flatMap(([key, items]) =>
      items.length === 0 ? [] : [`${key}:`, ...items.map((item) => `  - ${json(item)}`)],
    ),
    ...pairs({ ends }, ""),
    ...block("answers", quoted(answers ?? {})),
  ];
  return `${lines.join("\n")}\n`;
}

const block = (key: string, lines: readonly string[]): string[] => (lines.length === 0 ? [] : [`${key}:`, ...lines]);

const pairs = (value: object, indent: string): string[] =>
  Object.entries(value).flatMap(([key, one]) => (one === undefined ? [] : [`${indent}${key}: ${json(one)}`]));

const quoted = (value: object): string[] => Object.entries(value).map(([key, one]) => `  ${json(key)}: ${json(one)}`);

// Characters that are invisible or reorder text are written as escapes, so that a reviewer sees them.
const json = (value: unknown): string => JSON.stringify(value).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}]/gu, escaped);

// Anything nested deeper is left to the YAML parser, which has its own limit.
const MAX_DEPTH = 20;

const isDeep = (value: unknown, levels: number): boolean =>
  typeof value === "object" && value !== null && (levels === 0 || Object.values(value).some((one) => isDeep(one, levels - 1)));

const BLOCKS = ["from", "over", "answers"];

/**
 * Parses text as `caseText` writes it; null for any other YAML. It is not strict: the caller must check that printing the value gives the
 * same text again.
 */
function readLines(text: string): Record<string, unknown> | null {
  const all: Record<string, unknown> = {};
  // The current block, and the list that its items belong to.
  let block = all;
  let items: unknown[] = [];
  try {
    for (const line of text.slice(0, -1).split("\n")) {
      const [, indent, key = "", value] = /^( {0,2})([a-z]+|"(?:[^"\\]|\\.)*"):(?: (.*))?$/s.exec(line) ?? [];
      if (line.startsWith("  - ")) items.push(JSON.parse(line.slice(4)));
      else if (indent === undefined) return null;
      else {
        if (indent === "") block = all;
        const name = key.startsWith('"') ? (JSON.parse(key) as string) : key;
        const found = value === undefined ? (BLOCKS.includes(name) ? {} : (items = [])) : (JSON.parse(value) as unknown);
        Object.defineProperty(block, name, { value: found, enumerable: true, configurable: true });
        if (value === undefined && !Array.isArray(found)) block = found as Record<string, unknown>;
      }
    }
    return isDeep(all, MAX_DEPTH) ? null : all;
  } catch {
    return null; // not JSON; YAML values need not be
  }
}
