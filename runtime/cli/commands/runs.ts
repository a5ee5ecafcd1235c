/** `cleared runs`: list, show, resume, cancel, replay, fork, migrate. */
import { ClearedError, EXIT } from "../../kernel/errors.ts";
import { count } from "../../kernel/text.ts";
import { withStore } from "../../app/look.ts";
import type { Command, Invocation, Options } from "../invocation.ts";
import type { Movable } from "../../app/move-run.ts";
import { printDetail, printRun } from "../print-run.ts";
import { atWork } from "../progress.ts";
import { textsOf, runLine, toCount } from "../text.ts";
import { withApi } from "../../app/connect.ts";
import { starterHere } from "../../app/identity.ts";

export const run: Command = async (at, [verb = "list", ...runs], options) => {
  if (verb === "list") return list(at, options);
  const [id, ...more] = runs;
  if (verb === "migrate" && (id === undefined || more.length > 0)) return migrateGroup(at, runs, options);
  if (more.length > 0) throw new ClearedError("USAGE", `\`cleared runs ${verb}\` takes one run.`);
  if (id === undefined) throw new ClearedError("USAGE", `Name a run: \`cleared runs ${verb} run_…\`.`);
  return ACTIONS[verb as keyof typeof ACTIONS](at, id, options);
};

async function list({ output, dir }: Invocation, options: Options): Promise<number> {
  const limit = toCount(options["limit"] ?? "20", "--limit");
  const later = options["scheduled"] === true;
  const found = await withStore(dir, (look) =>
    look.runs({ limit, ...textsOf(options, "agent"), ...(later ? { status: ["queued"] } : {}) }),
  );
  const runs = later ? found.filter((one) => one.notBefore !== undefined) : found;
  output.result(runs);
  output.rows(runs.map((one) => runLine(output, one)));
  if (runs.length === 0) output.line(later ? "No run is scheduled." : "No runs yet. `cleared run NAME` starts one.");
  return 0;
}

const ACTIONS = {
  async show({ output, dir }, id) {
    printDetail(output, await withStore(dir, (look) => look.show(id)), dir);
    return 0;
  },
  async resume({ output, dir }, id, options) {
    const resumed = await atWork(withApi, dir, (api) => api.resume({ run: id, wait: true, ...textsOf(options, "at") }));
    return printRun(output, resumed, dir);
  },
  async cancel({ output, dir }, id, options) {
    const canceled = await withApi(dir, (api) => api.cancel({ run: id, reason: String(options["reason"] ?? "canceled by hand") }));
    output.result({ canceled });
    const wrote = (await withStore(dir, (look) => look.show(id))).steps.some(({ changes }) => changes.some(({ op }) => op === "verified"));
    const stands = wrote ? ` What it wrote outside stands: \`cleared runs show ${id}\` lists it.` : "";
    output.line(canceled ? `${id} is canceled.${stands}` : `${id} had ended already.`);
    return 0;
  },
  async fork({ output, dir }, id, options) {
    const at = options["at"] === undefined ? {} : { at: toCount(options["at"], "--at") };
    const asked = { run: id, ...moving(dir, options), ...at, head: options["head"] === true, wait: true };
    const { proof, run: copy } = await atWork(withApi, dir, (api) => api.fork(asked));
    output.line(`${copy.id} continues from step ${proof.steps} of ${id}, on ${proof.to}.`);
    return printRun(output, copy, dir);
  },
  async migrate({ output, dir }, id, options) {
    const asked = { run: id, ...moving(dir, options), ...textsOf(options, "to"), dryRun: options["dryRun"] === true, wait: true };
    const { proof, run: moved } = await atWork(withApi, dir, (api) => api.migrate(asked));
    const how = `${proof.steps} recorded steps hold on ${proof.to}`;
    output.line(moved === null ? `${id} can move: ${how}. Nothing was changed.` : `${id} moved from ${proof.from}: ${how}.`);
    if (moved !== null) return printRun(output, moved, dir);
    output.result(proof);
    return 0;
  },
  async replay({ output, dir }, id) {
    const replay = await atWork(withApi, dir, (api) => api.replay({ run: id }));
    output.result(replay);
    output.line(replay.same ? output.green(`${id}: ${replay.steps} steps replayed, the same`) : output.red(`${id}: not the same`));
    for (const finding of replay.findings) output.line(`  ${finding}`);
    return replay.same ? 0 : EXIT.divergence;
  },
} satisfies Record<string, (at: Invocation, id: string, options: Options) => Promise<number>>;

/** Runs that wait on older code: what HEAD's code would do with each; those named, or with --all every one that can, are moved. */
async function migrateGroup({ output, dir }: Invocation, runs: string[], options: Options): Promise<number> {
  if (options["to"] !== undefined)
    throw new ClearedError("USAGE", "--to moves one run: `cleared runs migrate run_… --to COMMIT`. A group moves to HEAD.");
  const dryRun = options["dryRun"] === true || (runs.length === 0 && options["all"] !== true);
  const group = { ...moving(dir, options), dryRun, wait: true, ...textsOf(options, "agent"), ...(runs.length === 0 ? {} : { runs }) };
  const found = await atWork(withApi, dir, (api) => api.migrateRuns(group));
  output.result(found);
  const able = found.filter((one) => one.moves).length;
  const says = (one: Movable) =>
    one.moves
      ? output.green(`${dryRun ? "can move" : "moved"}: ${one.steps} recorded ${one.steps === 1 ? "step holds" : "steps hold"}`)
      : output.yellow(`stays: ${one.why}`);
  output.rows(found.map((one) => [one.run, one.agent, one.differs.join(", "), says(one)]));
  if (found.length === 0) output.line("No run waits on older code.");
  else if (dryRun)
    output.line(`${able} of ${found.length} can move to ${found[0]?.to.slice(0, 7)}: name them, or all with --all. Nothing was changed.`);
  else output.line(`${able} of ${found.length} moved to ${found[0]?.to.slice(0, 7)}.`);
  // A named run that cannot move is a failure.
  return runs.length > 0 && able < found.length ? EXIT.divergence : 0;
}

/** Who moves a run, and why: the person whose key is here, if any. */
function moving(dir: string, options: Options): { by: string | null; reason: string } {
  const { by = null } = starterHere(dir);
  return { by, reason: String(options["reason"] ?? "") };
}

/** Lists closed runs again that are in git below refs/cleared/runs/ and not in the store. */
export const reindex: Command = async ({ output, dir }) => {
  const { runs } = await withApi(dir, (api) => api.reindex());
  output.result({ runs });
  output.line(
    runs === 0
      ? "Every run that git knows is listed already."
      : `${count(runs, "run")} that this store did not know ${runs === 1 ? "is" : "are"} listed now.`,
  );
};
