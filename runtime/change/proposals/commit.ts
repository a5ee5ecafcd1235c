/** The commit of an approved proposal: whether its files have changed since it was proposed, what it writes, and its message. */
import { onCode } from "../../kernel/errors.ts";
import type { Git, Tree } from "../../kernel/ports.ts";
import { changedBy } from "../../workspace/git/past.ts";
import { CONFIG } from "../../workspace/layout.ts";
import { rebased } from "../../workspace/statements/answered-rule.ts";
import type { Proposal } from "../proposal-types.ts";
import { isCase } from "./paths.ts";
import type { ProposalWorld } from "./store.ts";

const short = (commit: string): string => commit.slice(0, 7);

type Content = Pick<Proposal, "base" | "commit" | "files">;

/** Which file of the proposal has changed since, and in which commit; null if none has, or if it adds a rule that any such change allows. */
export async function conflictOf({ dir, git }: ProposalWorld, proposal: Proposal, head: Tree): Promise<string | null> {
  if ((await answerOn(git, proposal, head)) !== null) return null;
  const [base, target] = [git.tree(proposal.base), git.tree(proposal.commit)];
  for (const { path } of proposal.files) {
    const now = await head.blob(path);
    if (now === (await base.blob(path))) continue;
    const by = await changedBy(dir, head.commit, path, proposal.base);
    const who =
      by === null
        ? "since it was proposed"
        : `by ${short(by.commit)} "${by.subject.slice(0, 60)}"${by.trailers["Proposal"] === undefined ? "" : ` (proposal ${by.trailers["Proposal"]})`}`;
    return now === (await target.blob(path))
      ? `${path} is already on the branch as proposed, put there ${who}. Propose again what is still missing.`
      : `${path} was changed on the branch ${who}. Make it an edit on top of that, and propose it again: git cherry-pick --no-commit ${proposal.commit.slice(0, 12)}`;
  }
  return null;
}

/** config.yaml of `head` with the rule that the answer about an account adds; null for any other proposal. */
async function answerOn(git: Pick<Git, "tree">, { base, commit, files }: Content, head: Tree): Promise<string | null> {
  if (files.length !== 1 || files[0]?.path !== CONFIG) return null;
  const [was, then, now] = await Promise.all([git.tree(base), git.tree(commit), head].map((tree) => tree.read(CONFIG)));
  try {
    return rebased(was ?? null, then ?? null, now ?? null);
  } catch (error) {
    return onCode("CONFIG_INVALID", () => null)(error);
  }
}

/** The texts of the files on `head` once the proposal is applied, by path. */
export async function textsOf(git: Pick<Git, "tree">, proposal: Content, head: Tree): Promise<Record<string, string | null>> {
  const answer = await answerOn(git, proposal, head);
  if (answer !== null) return { [CONFIG]: answer };
  const target = git.tree(proposal.commit);
  const texts = proposal.files.map(async ({ path, change }) => [path, change === "removed" ? null : await target.read(path)] as const);
  return Object.fromEntries(await Promise.all(texts));
}

/** The proposal's files and the cases it freezes. The report may come from another clone, so only new case files are taken from it. */
export async function filesOf(git: Pick<Git, "tree">, proposal: Proposal, head: Tree): Promise<Map<string, string | null>> {
  const texts = new Map(Object.entries(await textsOf(git, proposal, head)));
  for (const [path, text] of Object.entries(proposal.report?.freezes ?? {}))
    if (isCase(path) && !texts.has(path) && (await head.blob(path)) === null) texts.set(path, text);
  return texts;
}

const VERBS: [prefix: string, verb: string][] = [
  ["agents/", "agent"],
  ["scripts/", "agent"],
  ["policies/", "policy"],
  ["importers/", "importer"],
  ["config.yaml", "config"],
  ["cases/", "case"],
];
// STYLE 10: subjects of a workspace's commits.
const SUBJECT = 50;

export function messageOf({ title, reason, files, number }: Proposal): string {
  const verb = VERBS.find(([prefix]) => files.some(({ path }) => path.startsWith(prefix)))?.[1] ?? "learn";
  const subject = `${verb}: ${title.replace(/\s+/g, " ").trim()}`;
  const cut = subject.length > SUBJECT ? `${subject.slice(0, SUBJECT - 1).trimEnd()}…` : subject;
  const lines = [`- proposal ${number}: ${title.replace(/\s+/g, " ").trim()}`, ...files.map(({ path, change }) => `- ${change} ${path}`)];
  return `${cut}\n\n${reason.trim() === "" ? "" : `${reason.trim()}\n\n`}${lines.join("\n")}`;
}
