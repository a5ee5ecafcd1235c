/**
 * Marks for code of agents that has passed its checks. A plain commit to an agent is allowed, and shown as unchecked until then: the marks are
 * only displayed and grant nothing. They are cached by the code's stamp and made again if lost.
 */
import type { CheckResult } from "../change/checks/findings.ts";
import { stampsOf } from "../change/checks/reached.ts";
import type { Git, Tree } from "../kernel/ports.ts";
import { agentOf } from "../workspace/layout.ts";
import { cacheOf } from "../workspace/own-folders.ts";
import { withGit } from "../workspace/git/git.ts";
import { readLocal } from "./local.ts";
import { keepLooking } from "./looks.ts";

/** The result of checking one agent's code; null: not checked yet. */
export type Mark = { findings: number; first: string | null } | null;

/** By name, for each agent of the tree. */
export async function marksOf(dir: string, tree: Tree): Promise<Map<string, Mark>> {
  const cache = cacheOf(dir);
  return new Map(
    [...(await stampsOf(tree))].map(([file, stamp]) => [agentOf(file), JSON.parse(cache.get("checked", stamp) ?? "null") as Mark]),
  );
}

/** Records the result of checking a tree for these agents; reaches: the files each consists of. */
export async function noteChecked(
  dir: string,
  tree: Tree,
  checks: readonly CheckResult[],
  reaches: readonly { file: string; paths: readonly string[] }[],
): Promise<void> {
  const cache = cacheOf(dir);
  const stamps = await stampsOf(tree);
  const found = checks.flatMap(({ findings }) => findings).filter(({ remark, older }) => remark !== true || older === true);
  for (const { file, paths } of reaches) {
    const own = found.filter(({ at }) => paths.includes(at.file));
    const mark: Mark = {
      findings: own.length,
      first: own[0] === undefined ? null : `${own[0].at.file}${own[0].at.line === undefined ? "" : `:${own[0].at.line}`} ${own[0].code}`,
    };
    const stamp = stamps.get(file);
    if (stamp !== undefined) cache.put(JSON.stringify(mark), "checked", stamp);
  }
}

/** Records that every agent of a new workspace has passed: the product's own tests check the starter. */
export async function noteStarter(dir: string): Promise<void> {
  await withGit(dir, readLocal(dir).config.branch, async (git) => {
    const tree = git.tree(await git.head());
    const all = [...(await stampsOf(tree)).keys()].map((file) => ({ file, paths: [] }));
    await noteChecked(dir, tree, [], all);
  });
}

/** `unchecked`, `fails its checks: 2 findings, agents/x.ts:4 SCRIPT_TYPES`; null for code that has passed. */
export function markWords(mark: Mark | undefined): string | null {
  if (mark === null || mark === undefined) return "unchecked";
  if (mark.findings === 0) return null;
  return `fails its checks: ${mark.findings} finding${mark.findings === 1 ? "" : "s"}, ${mark.first}`;
}

const LOOK_MS = 5000;
/** Results are only displayed and can be made again, so stopping does not wait long for them on a busy machine. */
const STOP_MS = 3000;

/** Runs `check` on each unchecked agent whenever HEAD moves, one at a time; runs have priority. */
export function keepChecking(
  { dir, git }: { dir: string; git: Git },
  check: (agent: string) => Promise<void>,
  onError: (error: unknown) => void,
  everyMs = LOOK_MS,
): { stop(): Promise<void> } {
  let head = "";
  let stopped = false;
  const look = async () => {
    const now = await git.head();
    if (stopped || now === head) return;
    head = now;
    const unknown = [...(await marksOf(dir, git.tree(now)))].flatMap(([name, mark]) => (mark === null ? [name] : []));
    for (const name of unknown) if (!stopped) await check(name);
  };
  const looking = keepLooking(everyMs, look, onError, { graceMs: STOP_MS, atOnce: true });
  return {
    async stop() {
      stopped = true;
      await looking.stop();
    },
  };
}
