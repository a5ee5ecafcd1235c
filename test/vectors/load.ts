/** The reference vectors and the rules that overrule some of them. VECTORS_DIR names another folder of the same form. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import type { Json } from "../../runtime/ports.ts";

const FOLDER = process.env["VECTORS_DIR"] ?? import.meta.dirname;

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
export const wrongRows = (file: string): WrongRow[] =>
  JSON.parse(readFileSync(join(FOLDER, "reference_wrong", file), "utf8")) as WrongRow[];

/** Vectors a rule of spec/worker.md overrules, described so that new vectors of the same kind match too. */
export interface Exception {
  file: string;
  index: number;
  function: string;
  rule: string;
  /** The part of the arguments that makes it an exception, and the code ours refuses it with. */
  args?: Record<string, Json>;
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
      one.args !== undefined &&
      one.file === file &&
      one.function === vector.function &&
      Object.entries(one.args).every(([key, value]) => vector.args[key] === value),
  );
