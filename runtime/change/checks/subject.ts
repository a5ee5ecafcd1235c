/** What the checks of a change are given, and what one of them answers. */
import type { Sandbox, Tree } from "../../kernel/ports.ts";
import type { Registry } from "../../kernel/registry.ts";
import type { Config, Trust } from "../../workspace/settings/config.ts";
import type { Found } from "./findings.ts";

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
