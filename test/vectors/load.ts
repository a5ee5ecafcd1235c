/** The reference vectors and the rules that overrule some of them. VECTORS_DIR names another folder of the same form. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import type { Json } from "../../runtime/kernel/ports.ts";

export const FOLDER = process.env["VECTORS_DIR"] ?? import.meta.dirname;

/** Files whose functions are not built yet, and what they wait for. */
export const NOT_YET: Record<string, string> = {
  "classifier_keywords.json": "the process of a task in free text (28): with the model",
  "task_mode.json": "tasks in free text (4.2): with the model",
  "token_budget.json": "text answers of a model: scripts answer with typed objects and lists",
  "moa_recovery.json": "several models (30)",
  "entity_extractor.json": "learning: entity memory (26)",
  "context_pruner.json": "learning: the case log (23)",
  "context_rl.json": "learning: trust in facts (24)",
  "rl_loop.json": "learning: retrieval of cases (22)",
  "strategy_bandit.json": "learning: the bandit (25)",
};

export interface Vector {
  function: string;
  args: Record<string, Json>;
  expected: Json;
  tolerance?: number;
}

/** An input on which the original was wrong, and what is right. */
export interface WrongRow {
  function: string;
  args: Record<string, Json>;
  recommended: Json;
  kind: string;
}

export const vectors = (file: string): Vector[] => JSON.parse(readFileSync(join(FOLDER, file), "utf8")) as Vector[];
/** None in a folder without them. */
export function wrongRows(file: string): WrongRow[] {
  const path = join(FOLDER, "reference_wrong", file);
  return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as WrongRow[]) : [];
}

/** Vectors a rule of spec/worker.md overrules, described so that new vectors of the same kind match too. */
export interface Exception {
  file: string;
  index: number;
  function: string;
  rule: string;
  /** The part of the arguments that makes it an exception, and the code ours refuses it with. */
  args?: Record<string, Json>;
  /** Or patterns for arguments as JSON. */
  like?: Record<string, string>;
  code?: string;
  /** Ours has the first word where the vector has the second. */
  words?: Record<string, string>;
  /** Ours has these states more. */
  adds?: string[];
}

export const exceptions = parse(readFileSync(join(import.meta.dirname, "exceptions.yaml"), "utf8")) as Exception[];

export const refusedBy = (file: string, vector: Vector): Exception | undefined =>
  exceptions.find(
    (one) =>
      one.code !== undefined &&
      one.file === file &&
      one.function === vector.function &&
      Object.entries(one.args ?? {}).every(([key, value]) => vector.args[key] === value) &&
      Object.entries(one.like ?? {}).every(([key, pattern]) => new RegExp(pattern).test(JSON.stringify(vector.args[key]))),
  );
