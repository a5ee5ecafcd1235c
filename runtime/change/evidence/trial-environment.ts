/**
 * What a trial needs of a workspace, and the workspace as a trial sees it: git is at the run's commit and commits nothing; ports to the
 * outside answer from the recording or end the trial. Nothing here writes, whatever the code does.
 */
import { toolClassIn } from "../checks/states.ts";
import type { World } from "../../engine/world.ts";
import type { Script } from "../../engine/script.ts";
import { ClearedError } from "../../kernel/errors.ts";
import type {
  Cards,
  Change,
  Clock,
  Decision,
  Engine,
  Git,
  Imports,
  Json,
  RunLog,
  RunRecord,
  Step,
  Tools,
  Tree,
  WorkspaceView,
} from "../../kernel/ports.ts";
import { WRITE_VERBS, nameWords } from "../../rules/tools/classify.ts";
import type { Config, Trust } from "../../workspace/settings/config.ts";
import { treeOver } from "../../workspace/git/tree.ts";
import { DATA, MAIN_JOURNAL } from "../../workspace/layout.ts";
import { SETTINGS, isIn } from "./code.ts";
import { changesIn } from "./effects.ts";
import { type AskAnew, type ReadNow, type Recorded, missing } from "./recorded.ts";
import type { Code } from "./types.ts";

/** What trials need of a workspace; the host satisfies it. */
export interface TrialEnvironment {
  dir: string;
  clock: Clock;
  git: Git;
  engine: Pick<Engine, "get" | "list" | "steps">;
  cards: Pick<Cards, "list">;
  trust: Trust;
  world: World;
  config(tree?: Tree): Promise<Config>;
  /** @throws SCRIPT_*, the first finding of the language lint */
  scriptIn(tree: Tree, agent: string): Promise<Script>;
  viewAt(run: RunRecord, log: RunLog, now: () => number, place: { git: Git; base: Tree; dir?: string }): Promise<WorkspaceView>;
  /** Models may be asked questions that no recording answers. Never for cases and dry runs. */
  ask?: AskAnew;
  /** Makes outside reads that no recording answers; only for a run in progress. */
  read?: ReadNow;
  /** How the gate is decided that the run waits at. */
  decision?: Decision;
}

/** Texts of the files that the change lays over a run's own commit. */
export async function changedFiles({ tree, changed }: Code): Promise<Map<string, string | null>> {
  const settings = changed.filter((path) => isIn(path, [...SETTINGS, MAIN_JOURNAL, DATA]));
  return new Map(await Promise.all(settings.map(async (path) => [path, await tree.read(path)] as const)));
}

/**
 * Git as the run saw it: HEAD is the parent of the run's next commit, so that commits of others up to then are there. A run without a commit
 * sees the one it started at.
 */
export function standingGit(
  git: Git,
  { run, steps }: { run: RunRecord; steps: readonly Step[] },
  served: number,
  over: ReadonlyMap<string, string | null>,
): Git {
  let place: Promise<string> | null = null;
  const find = async (): Promise<string> => {
    const next = changesIn(steps.slice(served), "committed")[0]?.commit;
    const before = next === undefined ? null : (await git.objects.commit(next))?.parents[0];
    return before ?? changesIn(steps.slice(0, served), "committed").at(-1)?.commit ?? run.pin.commit;
  };
  const refuse = (): never => {
    throw new ClearedError("INTERNAL", "A trial tried to change the repository.");
  };
  return {
    ...git,
    head: () => (place ??= find()),
    tree: (commit) => (over.size === 0 ? git.tree(commit) : treeOver(git.tree(commit), over)),
    commit: refuse,
    find: async () => null,
    log: refuse,
    pin: refuse,
    unpin: refuse,
    close: refuse,
  };
}

/** A view whose writes stay in memory. `settled`: true while the trial has done exactly what the run did, so its commits need no check. */
export function trialView(
  view: WorkspaceView,
  trial: { recorded: Recorded; trust: Trust; settled: () => boolean; rereads: boolean; supposed: string[]; unclear: Set<string> },
): WorkspaceView {
  const { recorded, trust, settled, rereads, supposed, unclear } = trial;
  let open = false;
  // A trial that repeats the recorded calls never reads its view, so recorded changes are applied only when something reads it.
  const unlaid: Step[] = [];
  const laid = (): WorkspaceView => {
    for (const step of unlaid.splice(0)) view.restore(step);
    return view;
  };
  const wished: Change[] = [];
  const parsed = new Set<string>();
  const note = (step: Pick<Step, "changes">) => {
    for (const change of step.changes) {
      if (change.op === "entries" || change.op === "status" || change.op === "remove" || change.op === "file") open = true;
      else if (change.op === "committed") open = false;
      else if (change.op === "rows") parsed.add(change.name);
    }
  };
  const imports: Imports = {
    ...view.ports.imports,
    markProcessed(name) {
      if (!rereads && !parsed.has(name)) throw missing(`the statement ${name} was not read in the recorded run`);
      return view.ports.imports.markProcessed(name);
    },
  };
  const propose: WorkspaceView["ports"]["propose"] = async (wish) => {
    const said = JSON.parse(recorded.twin?.result ?? "null") as Awaited<ReturnType<typeof propose>> | null;
    if (said === null) supposed.push(`the proposal "${wish.title}" is taken, which the recorded run did not make`);
    if (said?.accepted !== false) wished.push({ op: "propose", ...wish, by: "", base: "" });
    return said ?? { accepted: true, proposal: null, reason: "" };
  };
  const said = <T>(otherwise: T): T => (recorded.twin === null ? otherwise : (JSON.parse(recorded.twin.result ?? "null") as T));
  const ports = {
    ...view.ports,
    imports,
    propose,
    wishes: {
      rules: async () => said({ offered: [], unclear: [] }),
      process: async () => said({ agent: null, request: null, says: "Nothing is asked for in a trial." }),
    },
    tools: recordedTools(recorded, trust, unclear),
    llm: { ...view.ports.llm, generate: silent("a model would have to be asked again") },
    children: recordedChildren(recorded),
    agents: recordedAgents(recorded),
  };
  return {
    get ports() {
      laid();
      return ports;
    },
    today: (ms) => view.today(ms),
    restore(step) {
      note(step);
      unlaid.push(step);
    },
    takeChanges() {
      const changes = [...laid().takeChanges(), ...wished.splice(0)];
      note({ changes });
      return changes;
    },
    dirty: () => open && !settled(),
    async check() {
      await laid().check();
      open = false;
    },
    commit: () => Promise.reject(new ClearedError("INTERNAL", "A trial tried to commit.")),
    committed: () => undefined,
    tidy: async () => undefined,
  };
}

/** A port that is never called. */
const silent = (sentence: string) => async (): Promise<never> => {
  throw missing(sentence);
};

/**
 * Tools that are never called: their class is the recorded one, else as trust.yaml or the name says. One that only its server could classify
 * is taken to write and listed in `unclear`.
 */
function recordedTools(recorded: Recorded, trust: Trust, unclear: Set<string>): Tools {
  const named = toolClassIn(trust);
  return {
    async get(tool) {
      const effect = recorded.effectOf("tool", tool);
      const found = effect === null ? named(tool) : null;
      const [verb = ""] = nameWords(tool.slice(tool.indexOf("/") + 1));
      if (effect === null && found === null && !WRITE_VERBS.has(verb)) unclear.add(tool);
      const kind = effect === "read" ? "read" : (found?.class ?? "mutate");
      const [server = "", ...name] = tool.split("/");
      return { tool, server, name: name.join("/"), description: "", input_schema: {}, class: kind, why: "as recorded" };
    },
    list: silent("a list of tools is in no recording"),
    find: silent("a search for tools is in no recording"),
    call: silent("a tool's answer is in no recording"),
    fetchAll: silent("a tool's answer is in no recording"),
    readBack: silent("a tool's answer is in no recording"),
    undoable: async (write) => write,
  };
}

function recordedAgents(recorded: Recorded): WorkspaceView["ports"]["agents"] {
  const unasked = async ({ agent }: { agent: string }): Promise<never> => {
    throw missing(`what ${agent}, an agent elsewhere, answers is in no recording`);
  };
  const classOf = async (agent: string) => (recorded.effectOf("agent", agent) === "read" ? ("read" as const) : ("mutate" as const));
  return { classOf, follow: unasked, answer: unasked, giveUp: async () => undefined };
}

function recordedChildren(recorded: Recorded): WorkspaceView["ports"]["children"] {
  return {
    readOnly: async (agent) => recorded.effectOf("agent", agent) === "read",
    run: async ({ agent, input }) => {
      throw missing(`what the agent ${agent} answers to ${JSON.stringify(input satisfies Json)} is in no recording`);
    },
  };
}
