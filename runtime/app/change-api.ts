/**
 * What can be asked of a workspace about changes of its code: checking, proposing, trying on what is recorded, and taking back. Everything
 * throws what the function it calls throws.
 */
import type { Host } from "./host.ts";
import type { Proposing } from "./proposals-api.ts";

// Each is loaded when a command asks for it.
const proposing = () => import("./proposals-api.ts");
const undoing = () => import("../change/proposals/undo.ts");
const asking = () => import("./asks.ts");
const trying = () => import("./evidence-api.ts");

type By = { by?: string };
type Id = { id: string | number };

/** `startedBy`: the caller's person, once trust.yaml names them. */
export function changeApi(host: Host, startedBy: (by: string | undefined) => By) {
  /** An operation that is one function of host and parameters. */
  const of =
    <P, R>(load: () => Promise<(on: Host, p: P) => Promise<R>>) =>
    async (p: P): Promise<R> =>
      (await load())(host, p);

  return {
    /** A request to the meta-agent; it is worked on until it ends, whoever watches. */
    ask: async ({ text, by }: { text: string } & By) => (await asking()).beginAsk(host, { text, ...startedBy(by) }),
    /** Answers its question, or goes on where it was cut off; only whoever asked. */
    continueAsk: async ({ by, ...p }: { id?: number; answer?: string } & By) =>
      (await asking()).continueAsk(host, { ...p, ...startedBy(by) }),
    watchAsk: of(async () => (await asking()).watchAsk),
    stopAsk: of(async () => (await asking()).stopAsk),
    asks: of(async () => (await asking()).listAsks),
    askPrompt: async () => (await asking()).showPrompt(host),
    rule: async ({ entry, by }: { entry: string } & By) => (await import("./learn.ts")).makeRule(host, { entry, ...startedBy(by) }),
    bisect: async ({ name }: { name: string }) => (await trying()).bisectRun(host, name),
    /** What undoing a proposal, a run, "import" or an undo would change. */
    planUndo: async ({ target }: { target: string }) => (await undoing()).planUndo(host, target),
    /** Takes it back. `seen`: of the plan that was shown; another one is refused. */
    async undo({ target, ...how }: { target: string; by: string; reason?: string; seen?: string }) {
      const done = await (await undoing()).undo(host, target, how);
      await (await import("./reconcile.ts")).reconcileCards(host);
      return done;
    },
    backtest: of(async () => (await trying()).backtestAgent),
    /** Records a proposal and checks it; its edits leave the working tree. */
    propose: async ({ by, ...p }: Proposing) => (await proposing()).propose(host, { ...p, ...startedBy(by) }),
    proposals: async () => (await proposing()).listProposals(host),
    /** By number or id, as in all that follow. */
    proposal: async ({ id }: Id) => (await proposing()).showProposal(host, id),
    /** What its report leaves out, a few runs at a time. */
    differences: of(async () => (await proposing()).differencesOf),
    patch: async ({ id }: Id) => (await proposing()).patchOf(host, id),
    withdraw: async ({ id, by, reason }: Id & By & { reason: string }) =>
      (await proposing()).withdrawProposal(host, id, startedBy(by).by, reason),
    checkProposal: async ({ id }: Id) => (await proposing()).checkProposal(host, id),
    syncProposals: async ({ remote }: { remote: string }) => (await proposing()).sync(host, remote),
    /** Tries cases of the work tree on its code; all unless some are named. */
    tryCases: async ({ names }: { names: string[] }) => (await trying()).tryCases(host, names),
    caseOfRun: of(async () => (await trying()).caseOfRun),
    tools: of(async () => (await import("./tool-list.ts")).listTools),
    /** Checks files (text by path, null removes) laid over HEAD; every agent with `all`, or without files. */
    check: async (p: { files: Record<string, string | null>; all: boolean; only?: string[] }) =>
      (await import("./check-api.ts")).checkFiles(host, p),
  };
}
