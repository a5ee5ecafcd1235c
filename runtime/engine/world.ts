/** What an execution needs of the world around it; built by the composition root. */
import type { Change, Decision, DoorCall, Git, Limits, RunLog, RunRecord, Sandbox, WorkspaceView } from "../kernel/ports.ts";
import type { Gate } from "../kernel/primitive.ts";
import type { Authority, Settling, Standing } from "./approval.ts";
import type { Callable, Script } from "./script.ts";

export interface World extends Callable, Settling {
  sandbox: Sandbox;
  git: Git;
  script(run: RunRecord): Promise<Script>;
  view(run: RunRecord, log: RunLog, now: () => number): Promise<WorkspaceView>;
  limits(run: RunRecord): Promise<Limits>;
  /** Who may decide this run's cards. */
  authority(run: RunRecord): Promise<Authority>;
  /** What an approval profile of trust.yaml answers at a gate without asking anybody. */
  standing: Standing;
  /** In a backtest, where nobody is asked and nothing is committed: what a gate is told, and what a commit is called. */
  suppose?(seq: number, gate: Gate): Decision | null;
  supposeCommit?(): string;
  /** Called before a run acts outside or commits. @throws Suspend while the agent is paused */
  mayAct(run: RunRecord): void;
  /** Asked before a run acts outside: why it would not come to this act on what is so now, in words, or null. */
  changedSince?(log: RunLog, act: DoorCall, server: string, decided: readonly Change[]): Promise<string | null>;
  /** People trust.yaml names: with two or more, nobody approves what they started. */
  people: number;
  /** @throws OWNER_FENCED */
  guard(): void;
}
