/** What can be asked of a workspace about changes of its code: checking, proposing, trying on what is recorded, and taking back. */
import type { BacktestReport } from "../change/evidence/types.ts";
import type { Backtesting, Bisected, TriedCases } from "./evidence-api.ts";
import type { CheckedTree } from "./check-api.ts";
import type { Card } from "../kernel/ports.ts";
import type { Ask, WatchedAsk } from "./asks.ts";
import type { Prompt } from "../meta/prompt.ts";
import type { Made } from "../change/proposals/make.ts";
import type { Proposal } from "../change/proposal-types.ts";
import type { Proposing, RunLines, ShownProposal } from "./proposals-api.ts";
import type { Synced } from "../change/proposals/sync.ts";
import type { ToolList } from "./tool-list.ts";
import type { UndoPlan } from "../change/proposals/undo-plan.ts";
import type { Undone } from "../change/proposals/undo.ts";
import type { Host } from "./host.ts";

export interface ChangeApi {
  /** A request to the meta-agent; it is worked on until it ends, whoever watches. @throws LLM_UNCONFIGURED, USAGE */
  ask(p: { text: string; by?: string }): Promise<Ask>;
  /** Answers its question, or goes on where it was cut off; only whoever asked. @throws ASK_UNKNOWN, APPROVAL_IDENTITY, USAGE, LLM_UNCONFIGURED */
  continueAsk(p: { id?: number; answer?: string; by?: string }): Promise<Ask>;
  /** Its rows from one on (the first is 1); with `wait` once there is something new. @throws ASK_UNKNOWN */
  watchAsk(p: { id: number; from: number; wait: boolean }): Promise<WatchedAsk>;
  /** Ends it where it stands. @throws ASK_UNKNOWN */
  stopAsk(p: { id: number }): Promise<Ask>;
  asks(p: { limit: number }): Promise<(Ask & { cost: string | null })[]>;
  askPrompt(p: Record<string, never>): Promise<Prompt>;
  /** The card that makes a rule of a moved entry, or the request where words alone make none. @throws USAGE with the reason why there is none */
  rule(p: { entry: string; by?: string }): Promise<{ card: Card } | { ask: Ask }>;
  /** Which commit changed what a run, or the run that made an entry, would do. @throws RUN_UNKNOWN, RUN_STATUS, JOURNAL_ENTRY_MISSING, USAGE */
  bisect(p: { name: string }): Promise<Bisected>;
  /** What undoing a proposal, a run, "import" or an undo would change. @throws UNDO_REFUSED, PROPOSAL_UNKNOWN, RUN_UNKNOWN */
  planUndo(p: { target: string }): Promise<UndoPlan>;
  /** Takes it back. `seen`: of the plan that was shown; another one is refused. @throws UNDO_REFUSED, GIT_STATE */
  undo(p: { target: string; by: string; reason?: string; seen?: string }): Promise<Undone>;
  /** Records a proposal and checks it; its edits leave the working tree. @throws PROPOSAL_*, GIT_STATE, USAGE */
  propose(p: Proposing): Promise<Made & ShownProposal>;
  proposals(p: Record<string, never>): Promise<{ proposals: Proposal[]; unreadable: { id: string; why: string }[] }>;
  /** By number or id, as in all that follow. @throws PROPOSAL_UNKNOWN */
  proposal(p: { id: string | number }): Promise<ShownProposal>;
  /** What its report leaves out, a few runs at a time. */
  differences(p: { id: string | number; agent: string; from: number }): Promise<{ runs: RunLines[]; next: number | null }>;
  patch(p: { id: string | number }): Promise<string>;
  /** @throws PROPOSAL_STATE, APPROVAL_IDENTITY */
  withdraw(p: { id: string | number; by?: string; reason: string }): Promise<ShownProposal>;
  checkProposal(p: { id: string | number }): Promise<ShownProposal>;
  /** @throws GIT_STATE, GIT_FAILED */
  syncProposals(p: { remote: string }): Promise<Synced>;
  /** Tries cases of the work tree on its code; all unless some are named. @throws CASE_UNKNOWN */
  tryCases(p: { names: string[] }): Promise<TriedCases>;
  /** What a recorded run would be as a case. @throws RUN_UNKNOWN, CASE_IMPOSSIBLE */
  caseOfRun(p: { run: string; why: string }): Promise<{ file: string; text: string }>;
  /** Checks files (text by path, null removes) laid over HEAD; every agent with `all`, or without files. */
  check(p: { files: Record<string, string | null>; all: boolean; only?: string[] }): Promise<CheckedTree>;
  /** Synthesized tools of these files laid over HEAD. @throws FILE_MISSING for a name there is not */
  tools(p: { files: Record<string, string | null>; names: string[]; test: boolean }): Promise<ToolList>;
  /** What other code of an agent does on its recorded runs. @throws AGENT_UNKNOWN, USAGE, RUN_UNKNOWN */
  backtest(p: Backtesting): Promise<BacktestReport>;
}

// Each is loaded when a command asks for it.
const proposing = () => import("./proposals-api.ts");
const undoing = () => import("../change/proposals/undo.ts");
const asking = () => import("./asks.ts");
const trying = () => import("./evidence-api.ts");

/** `startedBy`: the caller's person, once trust.yaml names them. */
export function changeApi(host: Host, startedBy: (by: string | undefined) => { by?: string }): ChangeApi {
  return {
    ask: async ({ text, by }) => (await asking()).beginAsk(host, { text, ...startedBy(by) }),
    continueAsk: async ({ by, ...p }) => (await asking()).continueAsk(host, { ...p, ...startedBy(by) }),
    watchAsk: async (p) => (await asking()).watchAsk(host, p),
    stopAsk: async (p) => (await asking()).stopAsk(host, p),
    asks: async (p) => (await asking()).listAsks(host, p),
    askPrompt: async () => (await asking()).showPrompt(host),
    rule: async ({ entry, by }) => (await import("./learn.ts")).makeRule(host, { entry, ...startedBy(by) }),
    bisect: async ({ name }) => (await import("./evidence-api.ts")).bisectRun(host, name),
    planUndo: async ({ target }) => (await undoing()).planUndo(host, target),
    async undo({ target, ...how }) {
      const done = await (await undoing()).undo(host, target, how);
      await (await import("./reconcile.ts")).reconcileCards(host);
      return done;
    },
    backtest: async (p) => (await import("./evidence-api.ts")).backtestAgent(host, p),
    propose: async ({ by, ...p }) => (await proposing()).propose(host, { ...p, ...startedBy(by) }),
    proposals: async () => (await proposing()).listProposals(host),
    proposal: async ({ id }) => (await proposing()).showProposal(host, id),
    differences: async (p) => (await proposing()).differencesOf(host, p),
    patch: async ({ id }) => (await proposing()).patchOf(host, id),
    withdraw: async ({ id, by, reason }) => (await proposing()).withdrawProposal(host, id, startedBy(by).by, reason),
    checkProposal: async ({ id }) => (await proposing()).checkProposal(host, id),
    syncProposals: async ({ remote }) => (await proposing()).sync(host, remote),
    tryCases: async ({ names }) => (await trying()).tryCases(host, names),
    caseOfRun: async (p) => (await trying()).caseOfRun(host, p),
    tools: async (p) => (await import("./tool-list.ts")).listTools(host, p),
    check: async (p) => (await import("./check-api.ts")).checkFiles(host, p),
  };
}
