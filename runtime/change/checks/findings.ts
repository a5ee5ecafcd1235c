/**
 * What a check is given, and what it says: findings as data, which a person reads on a card and a program gets back as what to repair. Each
 * carries what its code means and what to do about it, so that nobody has to look a code up.
 */
import { CODES, type Code, toWire } from "../../kernel/errors.ts";
import type { Finding, Sandbox, Tree } from "../../kernel/ports.ts";
import type { Registry } from "../../kernel/registry.ts";
import type { Config, Trust } from "../../workspace/settings/config.ts";

/** What is checked, and what the checks need to know of the workspace. Never changed once made: what is read is kept by it. */
export interface Subject {
  /** What is in force. */
  base: Tree;
  /** The candidate. It need not be a commit. */
  tree: Tree;
  /** Files in which the two differ. */
  paths: readonly string[];
  /** Files of the agents that the change reaches, as far as the candidate has them. */
  files: readonly string[];
  /** Policy files to look at although they are not among `paths`. */
  policies: readonly string[];
  registry: Registry;
  trust: Trust;
  sandbox: Sandbox;
  /** Settings of a tree, read once for each content. @throws CONFIG_INVALID */
  config(tree: Tree): Promise<Config>;
  /** Why a schedule never starts its agent, or null. */
  scheduleProblem(schedule: { agent: string; expression: string; timezone: string }): Promise<string | null>;
}

/** What one check has seen. skipped: it could not look at anything. */
export interface Looked {
  says: string;
  findings: readonly Found[];
  skipped?: boolean;
}

/** In the order in which they are told. */
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
  /** A person should know it; it keeps nothing from passing. */
  remark?: true;
  /** A remark because what is in force has it as well: no fault of the change. */
  older?: true;
}

export interface CheckResult {
  check: CheckName;
  status: "ok" | "failed" | "skipped";
  /** What was looked at, in a few words: "31/31", "none widened", "no agent is touched". */
  says: string;
  findings: CheckFinding[];
  ms: number;
}

/** What a check has found before its codes are explained. */
export type Found = Finding & Pick<CheckFinding, "remark" | "older">;

/** A place and code met with several inputs is told with the first. */
export function onceEach(found: readonly Found[]): Found[] {
  const seen = new Set<string>();
  return found.filter(({ code, at }) => {
    const key = `${code} ${at.file}:${at.line}:${at.col}`;
    return !seen.has(key) && seen.add(key);
  });
}

// More than a person reads, and a model repairs, at once.
const MOST = 50;

/** Each place and code once, in the order given, at most fifty; the last one says how many are left out. */
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

/** What was thrown by something that reads a file: all findings it carries, else itself. */
export function findingsIn(error: unknown, file: string): Finding[] {
  const { code, message, at, data } = toWire(error);
  const carried = data?.["findings"];
  return Array.isArray(carried) && carried.length > 0 ? (carried as Finding[]) : [{ code, at: at ?? { file }, message }];
}
