/**
 * The input and output of a check: findings are data, shown to people on a card and returned to programs as what to repair. Each includes the
 * meaning of its code and the remedy, so that nobody has to look it up.
 */
import { CODES, type Code, onCode, toWire } from "../../kernel/errors.ts";
import type { Finding, Sandbox, Tree } from "../../kernel/ports.ts";
import type { Registry } from "../../kernel/registry.ts";
import type { Config, Trust } from "../../workspace/settings/config.ts";

/** What is checked, and what the checks need to know about the workspace. Immutable: what is read from it is cached by it. */
export interface Subject {
  /** The state in force. */
  base: Tree;
  /** The candidate. It need not be a commit. */
  tree: Tree;
  /** Files to check: those that differ between the two, or those of them that a person has named, and named ones that do not. */
  paths: readonly string[];
  /** All files that differ between the two. */
  edited: readonly string[];
  /** Files of the agents that the change reaches, if the candidate has them. */
  files: readonly string[];
  /** Policies and dialects to check although they are not in `paths`. */
  also: readonly string[];
  registry: Registry;
  trust: Trust;
  sandbox: Sandbox;
  /** Settings of a tree, parsed once per content. @throws CONFIG_INVALID */
  config(tree: Tree): Promise<Config>;
  /** Why a schedule never starts its agent, or null. */
  scheduleProblem(schedule: { agent: string; expression: string; timezone: string }): Promise<string | null>;
}

/** The result of one check. skipped: there was nothing it could check. */
export interface Looked {
  says: string;
  findings: readonly Found[];
  skipped?: boolean;
}

/** In the order in which they are reported. */
export type CheckName =
  | "paths"
  | "config"
  | "header"
  | "lint"
  | "types"
  | "capabilities"
  | "states"
  | "policies"
  | "importers"
  | "knowledge"
  | "tools"
  | "cases"
  | "dry_run"
  | "invariants"
  | "backtest"
  | "claims";

/** A finding, with the remedy of its code (runtime/kernel/errors.ts). */
export interface CheckFinding extends Finding {
  why: string;
  todo: string;
  /** For information: it fails nothing. */
  remark?: true;
  /** A remark because the base has the same fault: it is not caused by the change. */
  older?: true;
}

export interface CheckResult {
  check: CheckName;
  status: "ok" | "failed" | "skipped";
  /** What was checked, in a few words: "31/31", "none widened", "no agent is touched". */
  says: string;
  findings: CheckFinding[];
  ms: number;
}

/** A finding before its code is explained. */
export type Found = Finding & Pick<CheckFinding, "remark" | "older">;

/** A place and code found with several inputs is reported with the first. */
export function onceEach(found: readonly Found[]): Found[] {
  const seen = new Set<string>();
  return found.filter(({ code, at }) => {
    const key = `${code} ${at.file}:${at.line}:${at.col}`;
    return !seen.has(key) && seen.add(key);
  });
}

// More than a person reads, or a model repairs, at once.
const MOST = 50;

/** Each place and code once, in the given order, at most fifty; the last one says how many are omitted. */
export function explain(found: readonly Found[]): CheckFinding[] {
  const seen = new Map(found.map((one) => [`${one.at.file}:${one.at.line}:${one.at.col} ${one.code} ${one.message}`, one]));
  const all = [...seen.values()];
  const kept = all.slice(0, all.length > MOST ? MOST - 1 : MOST);
  const last = all[kept.length];
  if (last !== undefined)
    kept.push({ ...last, message: `${last.message} (${all.length - kept.length - 1} more findings of this check are not listed.)` });
  return kept.map((one) => {
    const { means, remedy } = Object.hasOwn(CODES, one.code) ? CODES[one.code as Code] : CODES.INTERNAL;
    return { ...one, message: one.message.slice(0, 2000), why: means, todo: remedy };
  });
}

/** The text of a file; "" if there is none, or one too large to be read or run, which the checks of scripts report. */
export const textAt = async (tree: Tree, path: string): Promise<string> =>
  (await tree.read(path).catch(onCode("FILE_TOO_LARGE", () => null))) ?? "";

/** Findings in an error thrown while reading a file: all that it carries, else itself. */
export function findingsIn(error: unknown, file: string): Finding[] {
  const { code, message, at, data } = toWire(error);
  const carried = data?.["findings"];
  return Array.isArray(carried) && carried.length > 0 ? (carried as Finding[]) : [{ code, at: at ?? { file }, message }];
}
