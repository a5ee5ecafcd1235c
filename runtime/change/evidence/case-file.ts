/**
 * cases/<agent>/<name>.yaml: a recorded run by its name, and what must come of it again, as text that is reviewed and reverted like any other.
 * The recording stays where runs are kept; its hash says that it is the one. Anybody may propose a case, so it is read strictly and
 * believed in nothing but shape.
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

/** A case's text may have so many characters; one that keeps more is not written. */
export const MAX_CASE = 262_144;

/** Equal for the same calls with the same answers and the same effects on the books. */
export function recordingHash(steps: readonly Step[]): string {
  const hash = createHash("sha256");
  for (const { name, params, result, error, changes } of steps)
    hash.update(JSON.stringify([name, params, result, error?.code ?? null, changes]));
  return hash.digest("hex");
}

/** True for a case of this very recording, and not only of the name of its run. */
export const isCaseOf = ({ run, recording }: Case["from"], of: Recording): boolean =>
  run === of.run.id && recording === recordingHash(of.steps);

const sha = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/, "write a full object id");

const schema = z.strictObject({
  agent: z.string().regex(/^[a-z][a-z0-9_-]*$/, "write the agent's name"),
  /** One sentence. */
  why: line(500),
  from: z.strictObject({
    run: z.string().regex(/^[\w-]{1,60}$/, "write a run's id"),
    /** `recordingHash` of its steps. */
    recording: z.string().regex(/^[0-9a-f]{64}$/, "write the SHA-256 of the recording"),
    /** The commit it ran on. */
    commit: sha,
    /** Of its start. */
    day: z.string().refine(isDay, "write a day as YYYY-MM-DD"),
    /** Id of the proposal that froze it. */
    proposal: line(60).exactOptional(),
    /** Who corrected what it did. */
    correction: line(200).exactOptional(),
  }),
  /**
   * Policies, importers and settings of the change that froze it, blob by path: they lie over the run's commit. Never code: a case that
   * brings its own script along would pass whatever is proposed.
   */
  over: z
    .record(z.string().regex(/^(?:config\.yaml|(?:policies|importers|knowledge)\/[^\\]+)$/, "may not replace a run's file"), sha.nullable())
    .default({}),
  ...keptSchema.shape,
});

export type Case = Pick<z.output<typeof schema>, "agent" | "why" | "from" | "over"> & { keeps: Kept };

/** The folder and the name a case's path holds, or null: `cases/ingest/run_x.yaml` is ["ingest", "run_x"]. */
export function casePath(path: string): { agent: string; name: string } | null {
  const [, agent, name] = /^cases\/([a-z][a-z0-9_-]*)\/([\w-]{1,80})\.yaml$/.exec(path) ?? [];
  return agent === undefined || name === undefined ? null : { agent, name };
}

/** @throws CASE_INVALID at file:line */
export function parseCase(text: string, file: string): Case {
  // As it was written, most likely: then 1,000 are read in a second. What is not exactly so is read as the YAML it may be.
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

/** The case of a file, or why its text is none. */
export function readCase(text: string, file: string): Case | ClearedError {
  try {
    return parseCase(text, file);
  } catch (error) {
    if (error instanceof ClearedError) return error;
    throw error;
  }
}

/** Why this text is not kept as a case, in half a sentence; null when it can be read back. */
export function unfit(text: string, file: string): string | null {
  if (text.length > MAX_CASE)
    return `what it keeps has ${Math.ceil(text.length / 1024)} KB as text, and a case has at most ${MAX_CASE / 1024}`;
  const read = readCase(text, file);
  return read instanceof ClearedError ? `what it keeps does not fit into a case: ${read.message}` : null;
}

/** The case as text; what is empty is left out. */
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

// What a reviewer could not see, or would see in another order than it has, is written as its number.
const json = (value: unknown): string => JSON.stringify(value).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}]/gu, escaped);

// Nested deeper, it is left to the reader of YAML, which knows how much it takes.
const MAX_DEPTH = 20;

const isDeep = (value: unknown, levels: number): boolean =>
  typeof value === "object" && value !== null && (levels === 0 || Object.values(value).some((one) => isDeep(one, levels - 1)));

const BLOCKS = ["from", "over", "answers"];

/**
 * The value of a text as `caseText` writes them; null for any other YAML. It is not strict: who asks must see that the value gives this
 * very text again.
 */
function readLines(text: string): Record<string, unknown> | null {
  const all: Record<string, unknown> = {};
  // The block a line stands in, and the list that its items belong to.
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
    return null; // a value is no JSON, which YAML's need not be
  }
}
