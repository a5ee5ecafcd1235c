/** What agents ask to be changed, on a host: whether it is taken, and what becomes of it once the run has let it out. */
import { type IntakeRules, admit, settleDrafts } from "../change/proposals/intake.ts";
import { problemsOf } from "../change/proposals/paths.ts";
import type { ProposalRequest, RunRecord, Tree } from "../kernel/ports.ts";
import type { Host } from "./host.ts";

type Wishing = Pick<Host, "dir" | "clock" | "git" | "database" | "cards" | "config">;

async function rulesOf(host: Pick<Host, "config">): Promise<IntakeRules> {
  const { changes, timezone } = await host.config();
  return { ...changes, timezone };
}

/** Outside a live run only the paths are looked at: what is tried leaves no trace and meets no limit. */
export async function admitWish(
  host: Wishing,
  { run, base }: { run: RunRecord; base: Tree },
  wish: ProposalRequest,
  own: number,
): Promise<{ accepted: boolean; proposal: string | null; reason: string }> {
  const draft = { ...wish, by: `agent:${run.agent}` };
  if (run.mode === "live") return admit(host, { base: base.commit, draft }, await rulesOf(host), { own });
  const problems = await problemsOf(draft.files, { by: draft.by, head: base, reason: draft.reason });
  return { accepted: problems.length === 0, proposal: null, reason: problems.map(({ message }) => message).join(" ") };
}

/** What runs have let out becomes proposals, which are checked; `note` is told of each. One call at a time. */
export async function settleProposals(host: Host, note: (message: string) => void): Promise<void> {
  const { prepareProposal } = await import("./preparing.ts");
  const made = await settleDrafts(
    host,
    () => rulesOf(host),
    (id) => prepareProposal(host, id),
  );
  for (const one of made) note(`${one.by} proposes: ${one.title}. \`cleared proposals show ${one.number}\``);
}
