import type { Emitted } from "../engine/store/cards.ts";
import type { Database } from "../engine/store/database.ts";
import type { World } from "../engine/world.ts";
import type { Callable, Script } from "../engine/script.ts";
import type { Packing } from "../engine/store/packing.ts";
import type { Cards, Clock, Engine, Git, RunLog, RunRecord, Sandbox, Tools, Tree, WorkspaceView } from "../kernel/ports.ts";
import type { AgentPool } from "../outside/a2a/agents.ts";
import type { Config, Trust } from "../workspace/settings/config.ts";
import type { ImportFolder } from "../workspace/statements/import-folder.ts";
import type { AgentAtHead } from "./agents-at-head.ts";
import type { LazyRegistry } from "./lazy-registry.ts";
import type { WorkspaceModels } from "./models.ts";
import type { Starts } from "./starts.ts";

/** Counts since this process began. */
export interface Progress {
  calls: number;
  /** Statement files whose receipt is written. */
  files: number;
  /** Recorded runs and cases that a change is being tried on. */
  tried?: { done: number; total: number };
}

/** What is built first; everything else of a host stands on these. */
export interface HostPorts {
  dir: string;
  clock: Clock;
  git: Git;
  engine: Engine;
  cards: Cards;
  sandbox: Sandbox;
  registry: LazyRegistry;
  trust: Trust;
  database: Database;
  /** What moves closed histories out of the store. */
  packing: Packing;
  /** Agents elsewhere. */
  afar: AgentPool;
  /** @throws TRUST_CHANGED once trust.yaml is another than the one this host was opened with */
  assertTrust(): void;
}

export interface Host extends HostPorts {
  /** Config at HEAD of the branch, cached by commit. */
  config(tree?: Tree): Promise<Config>;
  agents(): Promise<AgentAtHead[]>;
  /** Queue a run of the agent at HEAD. @throws AGENT_UNKNOWN, SCRIPT_HEADER, RUN_INPUT */
  start: Starts["start"];
  script(run: RunRecord): Promise<Script>;
  /** An agent's script as a tree has it, which need not be a commit. @throws SCRIPT_*, the first finding of the language lint */
  scriptIn(tree: Tree, agent: string): Promise<Script>;
  /** What can be called of these names at a tree: the runtime's primitives and the tools of scripts/tools/. @throws COMPUTE_TOOL */
  callableAt(tree: Tree, names: ReadonlySet<string>): Promise<Callable>;
  /** A run's view of the workspace as it is, or was, somewhere else than at HEAD of the branch. `dir`: where its import/ lies. */
  viewAt(run: RunRecord, log: RunLog, now: () => number, place: { git: Git; base: Tree; dir?: string }): Promise<WorkspaceView>;
  world: World;
  models: WorkspaceModels;
  /** The tools as this run sees them. */
  toolsFor(run: Pick<RunRecord, "id" | "given">): Tools;
  emitted(): Emitted[];
  takeEmitted(key: string): void;
  /** Statements whose import is complete move to import/processed/. */
  tidy(): Promise<void>;
  folder: ImportFolder;
  /** What the runs of this process have done so far, for progress. */
  progress: Progress;
  /** Where this process serves the page; null where it does not. */
  page: string | null;
  /** What ends its work before this host closes. */
  ending: Set<() => Promise<void>>;
  close(): Promise<void>;
}
