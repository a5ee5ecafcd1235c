/** What an execution needs from its surroundings; built by the composition root. */
import type {
  Change,
  Clock,
  Decision,
  DoorCall,
  Effect,
  Git,
  Limits,
  Once,
  RunLog,
  RunRecord,
  Sandbox,
  WorkspaceView,
} from "../kernel/ports.ts";
import type { Gate } from "../kernel/primitive.ts";
import type { Authority, Standing } from "./approval.ts";
import type { Callable, Script } from "./script.ts";

export interface World extends Callable {
  clock: Clock;
  /** Process id of an earlier owner that may still be executing what was begun before this time, or null. */
  predecessor?(at: number): number | null;
  sandbox: Sandbox;
  git: Git;
  script(run: RunRecord): Promise<Script>;
  view(run: RunRecord, log: RunLog, now: () => number): Promise<WorkspaceView>;
  limits(run: RunRecord): Promise<Limits>;
  /** Who may decide this run's cards. */
  authority(run: RunRecord): Promise<Authority>;
  /** Lets an approval profile of trust.yaml answer a gate without asking a person. */
  standing: Standing;
  /** In a backtest, where nobody is asked and nothing is committed: the decision of a gate, and the id of a commit. */
  suppose?(seq: number, gate: Gate): Decision | null;
  supposeCommit?(): string;
  /** Called before a run acts outside (`effect`) or commits. @throws Suspend while the agent is paused */
  mayAct(run: RunRecord, effect?: Effect): void;
  /** Called before a run acts outside: why the run would not reach this act on the data of today, in words, or null. */
  changedSince?(log: RunLog, act: DoorCall, server: string, decided: readonly Change[]): Promise<string | null>;
  /** What was done once, as kept beside the store. */
  sent: Once;
  /** Names of the people in trust.yaml: with two or more, nobody approves what they started. */
  people: readonly string[];
  /** @throws OWNER_FENCED */
  guard(): void;
}
