/** The starter workspace as a tree, changes of it by replacing text, and what reads their widening: sandbox and primitives, no host. */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { primitives } from "../../primitives/index.ts";
import type { Around } from "../../runtime/change/widening/program.ts";
import type { Changed, TextChange, Widening } from "../../runtime/change/proposal-types.ts";
import { changesOf } from "../../runtime/change/widening/widening.ts";
import { createRegistry } from "../../runtime/kernel/registry.ts";
import { createSandbox } from "../../runtime/sandbox/pool.ts";
import { nextTick } from "../../runtime/outside/triggers/cron.ts";
import { parseTrust } from "../../runtime/workspace/settings/config.ts";
import { memoryTree } from "../workspace/memory-tree.ts";

const ROOT = join(import.meta.dirname, "../..");
export const FILES = new Map(
  ["agents", "scripts", "policies", "importers"].flatMap((folder) =>
    readdirSync(join(ROOT, folder)).map((name): [string, string] => [`${folder}/${name}`, readFileSync(join(ROOT, folder, name), "utf8")]),
  ),
);
FILES.set("config.yaml", readFileSync(join(ROOT, "config.yaml"), "utf8"));

const sandbox = createSandbox({ slots: 1 });
const registry = createRegistry(primitives);
export const around: Around = {
  sandbox,
  registry: { whole: async () => registry },
  trust: parseTrust("mcp: {erp: {command: x, trusted: true}, crm: {command: x, trusted: true}}"),
  nextTick,
};
export const closeSandbox = () => sandbox.close();

/** What is replaced, by path: pairs of what stands there and what shall; a text for a new file; null for a removed one. */
export type Rewrite = Record<string, [string | RegExp, string][] | string | null>;

export function rewritten(files: ReadonlyMap<string, string>, rewrite: Rewrite): Map<string, string> {
  const next = new Map(files);
  for (const [path, change] of Object.entries(rewrite)) {
    if (change === null) next.delete(path);
    else if (typeof change === "string") next.set(path, change);
    else {
      let text = next.get(path) ?? "";
      for (const [from, to] of change) {
        const after = text.replace(from, () => to);
        if (after === text) throw new Error(`${path} has no ${String(from)}`);
        text = after;
      }
      next.set(path, text);
    }
  }
  return next;
}

export const between = (base: ReadonlyMap<string, string>, tree: ReadonlyMap<string, string>): Promise<Changed> => {
  const paths = [...new Set([...base.keys(), ...tree.keys()])].filter((path) => base.get(path) !== tree.get(path)).sort();
  return changesOf(memoryTree(base), memoryTree(tree), paths, around);
};

/** What a rewrite says otherwise. */
export const changed = (rewrite: Rewrite, base: ReadonlyMap<string, string> = FILES): Promise<Changed> =>
  between(base, rewritten(base, rewrite));

export const widened = async (rewrite: Rewrite, base?: ReadonlyMap<string, string>): Promise<Widening[]> =>
  (await changed(rewrite, base)).widening;

/** `kind: text (file:line)`, as a card has it. */
export const lines = (found: readonly TextChange[]): string[] =>
  found.map(
    ({ kind, text, at }) =>
      `${kind}: ${text.replace(/[‹›]/g, "")}${at === null ? "" : ` (${at.file}${at.line === undefined ? "" : `:${at.line}`})`}`,
  );
