import type { Emitted } from "../engine/store/emitted.ts";
import type { Database } from "../engine/store/database.ts";
import type { World } from "../engine/world.ts";
import type { Callable, Script } from "../engine/script.ts";
import type { Packing } from "../engine/store/packing.ts";
import type { Cards, Clock, Engine, Git, RunLog, RunRecord, Sandbox, Tools, Tree, WorkspaceView, Json } from "../kernel/ports.ts";
import type { AgentPool } from "../outside/a2a/agents.ts";
import type { Config, Trust } from "../workspace/settings/config.ts";
import type { ImportFolder } from "../workspace/statements/import-folder.ts";
import type { AgentAtHead } from "./agents-at-head.ts";
import type { LazyRegistry } from "./lazy-registry.ts";
import type { WorkspaceModels } from "./models.ts";
import type { Starts } from "./starts.ts";

/** Counts since the start of this process. */
export interface Progress {
  calls: number;
  /** Statement files with a written receipt. */
  files: number;
  /** Recorded runs and cases on which a change is being tried. */
  tried?: { done: number; total: number };
}

/** The ports built first, on which the rest of a host depends. */
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
  /** Moves histories of closed runs out of the store. */
  packing: Packing;
  /** Remote agents. */
  afar: AgentPool;
  /** @throws TRUST_CHANGED once trust.yaml differs from the one this host was opened with */
  assertTrust(): void;
  /** The signature of this person over a document; undefined if their key is not here. */
  sign(by: string, text: Json): string | undefined;
}

export interface Host extends HostPorts {
  /** Config at HEAD of the branch, cached by commit. */
  config(tree?: Tree): Promise<Config>;
  agents(): Promise<AgentAtHead[]>;
  /** Queue a run of the agent at HEAD. @throws AGENT_UNKNOWN, SCRIPT_HEADER, RUN_INPUT */
  start: Starts["start"];
  script(run: RunRecord): Promise<Script>;
  /** An agent's script in a tree, which need not be a commit. @throws SCRIPT_*, the first finding of the language lint */
  scriptIn(tree: Tree, agent: string): Promise<Script>;
  /** The callable names among these in a tree: primitives of the runtime and tools of scripts/tools/. @throws COMPUTE_TOOL */
  callableAt(tree: Tree, names: ReadonlySet<string>): Promise<Callable>;
  /** A run's view of the workspace at another place or time than HEAD of the branch. `dir`: the folder with its import/. */
  viewAt(run: RunRecord, log: RunLog, now: () => number, place: { git: Git; base: Tree; dir?: string }): Promise<WorkspaceView>;
  world: World;
  models: WorkspaceModels;
  /** The tools available to this run. */
  toolsFor(run: Pick<RunRecord, "id" | "given">): Tools;
  emitted(): Emitted[];
  takeEmitted(key: string): void;
  /** Moves completely imported statements to import/processed/. */
  tidy(): Promise<void>;
  folder: ImportFolder;
  /** What the runs of this process have done so far, for progress display. */
  progress: Progress;
  /** Address of the page served by this process, or null. */
  page: string | null;
  /** Ends its work before this host closes. */
  ending: Set<() => Promise<void>>;
  close(): Promise<void>;
}
