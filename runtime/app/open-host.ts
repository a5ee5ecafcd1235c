/**
 * The composition root of a workspace: builds the real ports and passes them to the core. A host either owns the workspace (lease, store,
 * runs) or is a private one in memory for dry runs. Every command goes through api.ts on top of it.
 * Size: the only place where ports are built and connected.
 */
import { basename, join } from "node:path";
import { createAuthority } from "../engine/authority.ts";
import { DECIDING, createCards } from "../engine/store/cards.ts";
import { openEmitted, takeEmitted } from "../engine/store/emitted.ts";
import { factsNamed } from "../engine/store/facts.ts";
import { Database } from "../engine/store/database.ts";
import { type Lease, takeLease } from "../engine/store/lease.ts";
import { pauseOf, pauseWords } from "../engine/store/pauses.ts";
import { executeRun } from "../engine/run.ts";
import type { World } from "../engine/world.ts";
import { type Script, callableIn, loadScript } from "../engine/script.ts";
import { type Packing, adoptBundles, isEmpty } from "../engine/store/packing.ts";
import { createEngine } from "../engine/store/sqlite.ts";
import { ClearedError, toWire } from "../kernel/errors.ts";
import type { Clock, Git, RunRecord, Once, Sealer, Tree } from "../kernel/ports.ts";
import { createRemoteAgents } from "../outside/a2a/agents.ts";
import type { ToolPool } from "../outside/mcp/tools.ts";
import { Suspend } from "../kernel/primitive.ts";
import { redact } from "../rules/privacy/scan.ts";
import { loadPlugins } from "../kernel/registry.ts";
import type { DiskCache } from "../scripts/disk-cache.ts";
import { createSandbox } from "../sandbox/pool.ts";
import { createOutbox } from "../outside/notices/outbox.ts";
import { confirmedSince, sealerOf } from "../workspace/settings/confirmation.ts";
import { createSent } from "../workspace/settings/sent.ts";
import { type Config, parseConfig } from "../workspace/settings/config.ts";
import { readSecrets } from "../workspace/settings/secrets.ts";
import { limitsFor } from "../workspace/settings/limits.ts";
import { createArchive } from "../workspace/git/run-archive.ts";
import { createGit } from "../workspace/git/git.ts";
import { assertUntracked } from "../workspace/git/working-edits.ts";
import { CONFIG, STATE, STORE, agentFile } from "../workspace/layout.ts";
import { createImportFolder } from "../workspace/statements/import-folder.ts";
import { cacheOf, makeOwnFolder } from "../workspace/own-folders.ts";
import { tidyImports } from "../workspace/statements/tidy.ts";
import { treeOver } from "../workspace/git/tree.ts";
import { createView } from "../workspace/view.ts";
import { createAgents } from "./agents-at-head.ts";
import { openRegistry } from "./lazy-registry.ts";
import { signedBy } from "./identity.ts";
import {
  type Local,
  assertConfirmed,
  committedFault,
  configMeanwhile,
  notConfirmed,
  readLocal,
  sayUnconfirmed,
  trustTextOf,
} from "./local.ts";
import { settleCorrectionCases } from "./correction-cases.ts";
import { Kept } from "../kernel/kept.ts";
import { printable } from "../kernel/text.ts";
import { createWorkspaceModels } from "./models.ts";
import { pausesBeside } from "./pause.ts";
import { createPins } from "./pins.ts";
import { createRechecks } from "./recheck.ts";
import { keepFiles, receiptsOf, settleRows, startedFor } from "./receipts.ts";
import { createStanding } from "./standing.ts";
import { createToolPool } from "./run-tools.ts";
import { execSource, createStarts } from "./starts.ts";

import type { Host, HostPorts, Progress } from "./host.ts";

export interface HostOptions {
  clock?: Clock;
  /** `owner`: take the lease and execute runs. `look`: read the store, execute nothing. `memory`: a private store for dry runs. */
  mode: "owner" | "look" | "memory";
  onError?: (error: unknown) => void;
  onLost?: () => void;
  /** An execution is over: the run has ended or waits. */
  onRest?: (run: RunRecord) => void;
  /** trust.yaml has changed since this host read it: nothing acts or commits and no decision counts. Without the callback it is not checked again. */
  onTrustChanged?: (error: ClearedError) => void;
}

/** @throws WORKSPACE_MISSING, CONFIG_INVALID, FOLDER_UNSAFE, TRUST_CHANGED as owner, OWNER_BUSY, STORE_* */
export async function openHost(dir: string, options: HostOptions): Promise<Host> {
  const clock = options.clock ?? { now: () => Date.now() };
  const onError = options.onError ?? ((error) => void process.stderr.write(`${printable(toWire(error).message)}\n`));
  const cache = cacheOf(dir);
  const local = readLocal(dir);
  const { trust } = local;
  // `trust` has nothing of an unconfirmed trust.yaml, so read-only work continues without it.
  if (options.mode === "owner") assertConfirmed(local);
  else sayUnconfirmed(local);
  const brought = Object.values(trust.mcp).some(({ command }) => command !== undefined) || trust.plugins.length > 0;
  await assertUntracked(dir, brought);
  makeOwnFolder(join(dir, STATE).slice(0, -1));
  const database = new Database(options.mode === "memory" ? ":memory:" : join(dir, STORE));
  if (options.mode !== "memory") database.pausesBeside = pausesBeside(dir);
  let lease: Lease | null = null;
  let idle = true;
  const opened: (() => Promise<void> | void)[] = [() => database.close()];
  try {
    if (options.mode === "owner") {
      lease = takeLease(database, clock, () => options.onLost?.());
      opened.push(() => lease?.release(idle));
    }
    const registry = await openRegistry(cache, options.mode === "look" ? [] : await loadPlugins(dir, trust.plugins));
    const plainGit = await createGit(dir, { branch: () => local.config.branch, kept: cache });
    // Nothing here commits once another process owns the workspace.
    const git: Git = { ...plainGit, commit: (request) => plainGit.commit({ guard: () => lease?.check(), ...request }) };
    opened.push(() => git.close());
    const sandbox = createSandbox({
      slots: trust.sandbox.slots,
      jit: trust.sandbox.jit,
      ahead: options.mode !== "look",
      cache,
      sourceBytes: (file) => limitsFor(trust, basename(file, ".ts")).source_bytes,
    });
    opened.push(() => sandbox.close());
    const archive = createArchive(dir, () => local.config.branch);
    const packing: Packing = { database, archive, guard: () => lease?.check() };
    let known: Sealer | null = null;
    const sealer: Sealer = (...parts) => (known ??= sealerOf(dir))(...parts);
    const sent = createSent(dir);
    const stored = createEngine(database, clock, onError, archive, sealer);
    const engine: typeof stored = {
      ...stored,
      async cancel(run, reason) {
        const canceled = await stored.cancel.call(this, run, reason);
        if (canceled) sent.keep(`canceled ${run}`);
        return canceled;
      },
    };
    const assertTrust = (code: boolean): void => {
      const same = () => trustTextOf(dir) === local.trustText && (!code || readLocal(dir).unconfirmed === local.unconfirmed);
      if ((!code && options.onTrustChanged === undefined) || same()) return;
      const error = notConfirmed("changed");
      options.onTrustChanged?.(error);
      throw error;
    };
    const tools = createToolPool({ trust, dir, sent, mayStart: () => assertTrust(true) });
    opened.push(() => tools.close());
    const afar = createRemoteAgents({ trust, database, clock, sent, secrets: () => readSecrets(dir), sealer: () => sealerOf(dir) });
    const rechecks = createRechecks(clock, () => made);
    const host: Omit<Host, "close"> = assemble({
      ports: {
        ...{ dir, clock, git, engine, cards: createCards(database), sandbox, registry, trust, database, packing, afar },
        assertTrust: () => assertTrust(false),
        sign: (by, text) => signedBy(trust, by, text),
      },
      ...{ local, cache, lease, tools, rechecks, sealer, sent, whole: () => made },
    });
    const pins = createPins(database, git);
    if (options.mode === "owner") {
      // For a lost store, or the first one of a clone: closed runs are adopted from git.
      if (isEmpty(database)) await adoptBundles(packing).then(sayAdopted, onError);
      await pins.sweep();
      await settleCorrectionCases(host).catch(onError);
    }
    if (options.mode !== "look") {
      const working = engine.work(
        async (log) => {
          const execution = await executeRun(log, host.world);
          const rests = () => log.run.status !== "queued" && rechecks.rested(log.run);
          if (execution === undefined) rests();
          // Its slow call may have led to a question.
          else void execution.later.then(rests, rests);
          await pins.note(log.run);
          if (log.run.status === "done") keepFiles(sent, log.run, "completed");
          await settleRows(host, log.run, log.steps);
          if (log.run.mode === "live" && receiptsOf(log.steps).length > 0) await (await import("./rows.ts")).followRows(host);
          await settleCorrectionCases(host).catch(onError);
          options.onRest?.(log.run);
          return execution;
        },
        { concurrency: trust.sandbox.slots },
      );
      opened.push(async () => {
        idle = await working.stop(options.mode === "owner" ? 5000 : 0);
      });
    }
    opened.push(() => Promise.all([...host.ending].map((end) => end())).then(() => undefined));
    const made: Host = { ...host, close: () => closeAll(opened) };
    if (options.mode === "owner" && factsNamed(database, DECIDING).length > 0)
      await (await import("./decide.ts")).settleDecisions(made, onError);
    return made;
  } catch (error) {
    await closeAll(opened);
    throw error;
  }
}

/** Closes everything, last opened first; throws the first error. */
async function closeAll(opened: (() => Promise<void> | void)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const close of opened.reverse()) {
    try {
      await close();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

function sayAdopted(runs: number): void {
  if (runs > 0)
    process.stderr.write(`The run store is new here: ${runs} closed runs that git has below refs/cleared/runs/ are listed in it.\n`);
}

interface Parts {
  ports: HostPorts;
  local: Local;
  cache: DiskCache;
  lease: Lease | null;
  tools: ToolPool;
  rechecks: Pick<World, "changedSince">;
  sealer: Sealer;
  sent: Once;
  /** The finished host, for parts that need all of it. */
  whole(): Host;
}

function assemble({ ports, local, cache, lease, tools, rechecks, sealer, sent, whole }: Parts): Omit<Host, "close"> {
  const { dir, clock, git, engine, cards, sandbox, registry, trust, database, afar, assertTrust } = ports;
  const configs = new Map<string, Config>();
  const { globals } = registry;
  /** What scripts are compiled with. */
  const around = { primitives: Object.keys(globals), primitive: registry.get, cache };

  const config = async (tree?: Tree): Promise<Config> => {
    const at = tree ?? git.tree(await git.head());
    const key = (await at.blob(CONFIG)) ?? "";
    const known = configs.get(key);
    if (known !== undefined) return known;
    const text = (await at.read(CONFIG)) ?? "";
    try {
      const found = text === local.configText ? local.config : parseConfig(text, cache);
      configs.set(key, found);
      return found;
    } catch (error) {
      const last = ((await git.tree(await git.head()).blob(CONFIG)) ?? "") === key;
      const fault = committedFault(error, text, last);
      // A tree that is named is judged, or run, by its own settings.
      if (tree === undefined) return configMeanwhile(dir, fault);
      throw fault;
    }
  };

  const agents = createAgents(git);
  const starts = createStarts({
    ...{ git, engine, agents, config, cache, sent },
    paused: (agent) => pauseOf(database, agent),
    since: () => confirmedSince(dir),
  });
  const scripts = new Kept<string, Promise<Script>>(200);

  const scriptIn = (tree: Tree, agent: string): Promise<Script> => loadScript(tree, agentFile(agent), sandbox, { ...around, lint: true });
  const script = async (run: RunRecord): Promise<Script> => {
    const tree = git.tree(run.pin.commit);
    const source = execSource(run.cause);
    if (source === null) return scripts.of(`${run.pin.commit}\n${run.agent}`, () => scriptIn(tree, run.agent));
    const { file, text, lint } = source;
    return loadScript(treeOver(tree, new Map([[file, text]])), file, sandbox, { ...around, lint });
  };

  const folder = createImportFolder(dir, { settleMs: async () => (await config()).import.settle_seconds * 1000 });
  const progress: Progress = { calls: 0, files: 0 };
  const viewAt: Host["viewAt"] = async (run, log, now, place) => {
    const settings = await config(place.base);
    const view = createView({
      dir,
      // Nobody else writes in another place.
      folder: place.dir === undefined ? folder : createImportFolder(place.dir, { settleMs: () => 0, writersOf: () => new Map() }),
      ...place,
      config: settings,
      cache,
      run: run.id,
      ...startedFor(run.cause),
      given: run.given?.policy,
      now,
      pending: () => cards.list({ open: true }),
      wishes: {
        by: `agent:${run.agent}`,
        admit: async (wish, own) => (await import("./proposals-api.ts")).admitWish({ ...ports, config }, { run, ...place }, wish, own),
        rules: async () => (await import("./learn.ts")).offerRules(whole(), { open: run.mode === "live" }),
        process: async (task) => (await import("./unknown-process.ts")).requestProcess(whole(), { run, task }),
      },
      log: (message) => log.event("log", { level: "info", message: redact(message) }),
      notices: { ...createOutbox(database, trust.notices, settings), schedule: starts.scheduleOf(log) },
      children: starts.childrenOf(log),
      llm: models.forRun(run, log, settings),
      agents: afar.forRun(run.id),
      session: async () => (await import("./session.ts")).sessionOf(ports, run),
      tools: tools.forRun({ run: run.id, given: run.given?.tools, note: (message) => log.event("log", { level: "warn", message }) }),
    });
    return {
      ...view,
      takeChanges() {
        const changes = view.takeChanges();
        for (const change of changes) if (change.op === "processed") progress.files++;
        return changes;
      },
    };
  };

  const models = createWorkspaceModels({
    ...ports,
    leaving() {
      assertTrust();
      lease?.check();
    },
  });
  const toolsFor = (run: Pick<RunRecord, "id" | "given">) => tools.forRun({ run: run.id, given: run.given?.tools });
  const world: World = {
    ...rechecks,
    clock,
    sandbox,
    git,
    primitive: (name) => {
      progress.calls++;
      return registry.get(name);
    },
    globals,
    script,
    view: (run, log, now) => viewAt(run, log, now, { git, base: git.tree(run.pin.commit) }),
    limits: async (run) => limitsFor(trust, run.agent),
    authority: async (run) => createAuthority(trust.people, (await config(git.tree(run.pin.commit))).policy),
    standing: createStanding({ dir, database, trust, clock, config: (run) => config(git.tree(run.pin.commit)), tools: toolsFor }),
    people: trust.people.map(({ name }) => name),
    mayAct(run, effect) {
      assertTrust();
      const pause = pauseOf(database, run.agent);
      if (pause !== null) throw new Suspend("paused", pauseWords(pause));
      if (sent.has(`canceled ${run.id}`))
        throw new ClearedError("RUN_STATUS", `${run.id} was canceled. A run store that lets it go on is an older one, or was changed.`);
      if (effect === "external") keepFiles(sent, run, "acted");
    },
    sent,
    guard: () => lease?.check(),
    predecessor: (at) => lease?.predecessor(at) ?? null,
  };

  return {
    ...ports,
    config,
    agents,
    start: starts.start,
    script,
    scriptIn,
    callableAt: async (tree, called) => {
      const tools = await (await import("../engine/tool-scripts.ts")).toolsFor([...called], called, tree, { ...around, sandbox });
      return callableIn(world, { tools });
    },
    viewAt,
    world,
    toolsFor,
    models,
    emitted: () => openEmitted(database, sealer),
    takeEmitted: (key) => takeEmitted(database, key),
    tidy: async () => tidyImports(folder, git.tree(await git.head())),
    folder,
    progress,
    page: null,
    ending: new Set(),
  };
}
