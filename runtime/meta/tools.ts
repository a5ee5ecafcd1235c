/**
 * The tools of the meta-agent: reading, writing a draft, trying it; ends.ts has those that end a request. Each returns data and a progress
 * line; an error of the writer is an answer too. Nothing here changes the workspace except `submit`, which proposes.
 */
import { createHash } from "node:crypto";
import { z } from "zod";
import type { CheckResult } from "../change/checks/findings.ts";
import { type Compared, backtest, idsOf, isMended } from "../change/evidence/backtest.ts";
import { codeOver } from "../change/evidence/code.ts";
import { effectLines } from "../change/evidence/effects.ts";
import { tryOn } from "../change/evidence/synthetic.ts";
import { isCase, isProposable } from "../change/proposals/paths.ts";
import { BACKTEST_DAYS } from "../change/proposals/prepare.ts";
import { ClearedError } from "../kernel/errors.ts";
import type { Json, LlmTool, RunRecord } from "../kernel/ports.ts";
import { count, oneLine } from "../kernel/text.ts";
import { PATTERNS } from "../rules/privacy/patterns.ts";
import { MAIN_JOURNAL, agentFile } from "../workspace/layout.ts";
import { treeOver } from "../workspace/git/tree.ts";
import { triedView } from "./answers.ts";
import { backtestView, backtestWords } from "./backtest-view.ts";
import { ENDS, unrepaired } from "./ends.ts";
import { PLACES, search } from "./search.ts";
import { givenProse, quarantined } from "./quarantine.ts";
import { wordsOf } from "./telling.ts";
import { type Ask, isByAgent } from "./requests.ts";
import { type Arm, type Files, type Situation, type Tool, type ToolResult, type Workshop, no, told, tool } from "./workshop.ts";

const path = z.string().min(1).max(300);
const name = z.string().regex(/^[a-z][a-z0-9_-]{0,79}$/, "write the name of an agent, as its file has it");

/** Findings that keep a file out of the draft, because nothing could be made of it. */
const BROKEN = new Set([
  "SCRIPT_SYNTAX",
  "SCRIPT_LANGUAGE",
  "SCRIPT_HEADER",
  "SCRIPT_TOO_LARGE",
  "CONFIG_INVALID",
  "POLICY_INVALID",
  "COMPUTE_TOOL",
]);
const LONGEST_READ = 60_000;
const STEPS = 60;
// Items shown of a list: sixty calls with every row of the books would not be a summary.
const ITEMS = 10;
// With fewer runs, a third proves nothing and the rest shows too little.
const FEW = 6;
const TOOLS: Record<string, Tool> = {
  read: tool({
    about:
      "The text of a file: agents/, scripts/, policies/, importers/, knowledge/, config.yaml, main.journal; with your draft over it, or as a commit has it. Tells what was refused before about this file.",
    params: z.strictObject({
      path,
      at: z.string().max(64).optional().describe("a commit; leave it out for the file as it is now, with your edits"),
    }),
    async run({ path: file, at: commit }, { files }, shop) {
      const note = `reads ${file}${commit === undefined ? "" : ` at ${commit.slice(0, 10)}`}`;
      if (!mayRead(file)) return no(`${file} is not a file you may read.`, note);
      const text = await (commit === undefined ? treeOver(shop.base, files) : await shop.treeAt(commit)).read(file);
      if (text === null) return no(`There is no ${file}.`, note);
      const cut = text.length > LONGEST_READ ? { cut_at: LONGEST_READ, of: text.length } : {};
      return { result: { text: text.slice(0, LONGEST_READ), ...cut, ...(await earlier([file], shop)) }, note };
    },
  }),
  search: tool({
    about:
      "Find things: all words of the query must stand in them. Without words: everything of that place, newest first. tools: what servers offer to `mcp_call`.",
    params: z.strictObject({ query: z.string().max(200), in: z.enum(PLACES) }),
    async run({ query, in: where }, { files }, shop) {
      return {
        result: await search(query, where, files, shop),
        note: `searches ${where}${query === "" ? "" : ` for "${oneLine(query, 60)}"`}`,
      };
    },
  }),
  run: tool({
    about:
      "A recorded run in short: how it ended, its error, its calls with what they answered, and a policy in prose that was given with it. Rules made of that go into policies/PROCESS.yaml, with its digest under prose: there.",
    params: z.strictObject({ id: z.string().max(60) }),
    async run({ id }, at, { bench }) {
      const note = `looks at ${id}`;
      const run = await bench.engine.get(id);
      if (run === null) return no(`There is no run ${id}.`, note);
      if ((await judges(run.agent, at, bench))(run))
        return no(`${id} is one of the runs that judge what you write, so it is not shown. The user may name it.`, note);
      const steps = await bench.engine.steps(id);
      const { agent, status, outcome, error, result, input, pin } = run;
      const calls = steps
        .slice(-STEPS)
        .map(({ name: call, params, result: said, error: why }) =>
          quarantined({ call, params: JSON.parse(params), result: JSON.parse(said ?? "null"), error: why }, ITEMS),
        );
      return {
        result: {
          ...(quarantined({
            agent,
            status,
            outcome,
            error,
            result,
            input,
            commit: pin.commit,
            ...givenProse(run.given?.policy),
          }) as object),
          steps: steps.length,
          calls,
        },
        note,
      };
    },
  }),
  write: tool({
    about:
      "Write a whole file into your draft: agents/NAME.ts, scripts/, policies/NAME.yaml, importers/NAME.yaml, knowledge/, config.yaml. A file that cannot be read as what it is is refused with the findings.",
    params: z.strictObject({ path, text: z.string().max(200_000) }),
    async run({ path: file, text }, { ask, files }, shop) {
      const note = `writes ${file} (${count(text.trimEnd().split("\n").length, "line")})`;
      const next = new Map(files).set(file, text);
      const bad = (await unwritable(file, next, ask, shop)) ?? (await hiddenIn(file, text, shop));
      if (bad !== null) return no(bad, note);
      const findings = await shop.parse(next, file);
      const broken = findings.filter(({ code }) => BROKEN.has(code));
      if (broken.length > 0)
        return {
          result: { error: "The file is not in your draft: correct it and write all of it again.", findings: told(broken) },
          note: `${note}: refused`,
          failed: true,
          ...(shop.arm === "none" ? { end: unrepaired(told(broken), files) } : {}),
        };
      files.set(file, text);
      return { result: { written: file, findings: told(findings), ...(await earlier([file], shop)) }, note };
    },
  }),
  remove: tool({
    about: "Remove a file in your draft.",
    params: z.strictObject({ path }),
    async run({ path: file }, { ask, files }, shop) {
      const bad = await unwritable(file, new Map(files).set(file, null), ask, shop);
      if (bad !== null) return no(bad, `removes ${file}`);
      if ((await shop.base.blob(file)) === null) files.delete(file);
      else files.set(file, null);
      return { result: { removed: file }, note: `removes ${file}` };
    },
  }),
  check: tool({
    about: "The checks of your draft: header, names, types, capabilities, states, policies with their cases, a dry run.",
    params: z.strictObject({}),
    async run(_, { files }, shop) {
      const checks = await shop.check(files);
      const failed = checks.filter(({ status }) => status === "failed");
      const note =
        failed.length === 0
          ? "checks ok"
          : `checks: ${failed.map(({ check, findings }) => `${check} has ${count(findings.length, "finding")}`).join(", ")}`;
      return { result: { ok: failed.length === 0, checks: checked(checks) }, note };
    },
  }),
  try: tool({
    about:
      "Execute an agent of your draft on an input without acting: its result and what it would do. Reads of the books are real. An agent that only reads can compute an answer; its result is then a source (try_1, try_2, ...).",
    params: z.strictObject({ agent: name, input: z.looseObject({}).optional() }),
    async run({ agent, input = {} }, { files, tried }, shop) {
      const code = codeOver(shop.base, files);
      const script = await code.tree.read(agentFile(agent));
      if (script === null) return no(`There is no ${agentFile(agent)}.`, `tries ${agent}`);
      const trial = await tryOn(agent, input as Json, code, shop.bench);
      const key = `try_${tried.size + 1}`;
      const given = [script, ...files.values(), JSON.stringify(input)].join("\n");
      const one = { given, trial };
      tried.set(key, one);
      const { error } = trial.effects;
      const note = `tries ${agent}${error === null ? "" : `: ends with ${error.code}`}`;
      return { result: quarantined(triedView(key, one, effectLines(trial.effects))), note };
    },
  }),
  backtest: tool({
    about:
      "Your draft on recorded runs of an agent, compared with the code in force: two thirds of those that ended well, by hash; who judges sees all. Counts, money by account, entries that change, the first difference.",
    params: z.strictObject({ agent: name, days: z.int().min(1).max(3650).optional() }),
    async run({ agent, days = BACKTEST_DAYS }, at, { base, bench }) {
      const { files } = at;
      const hidden = await judges(agent, at, bench);
      const all = await Promise.all((await idsOf(agent, { days }, bench)).map((id) => bench.engine.get(id)));
      const runs = all.flatMap((run) => (run === null || hidden(run) ? [] : [run.id]));
      const code = codeOver(base, files);
      if ((await code.tree.blob(agentFile(agent))) === null) return no(`There is no ${agentFile(agent)}.`, `backtest of ${agent}`);
      const mended: string[] = [];
      const compared = async (one: Compared) => void (isMended(one) && mended.push(one.recording.run.id));
      const report = await backtest(agent, code, { tree: base, changed: [] }, { runs }, bench, { name: "the draft", compared });
      const note = `backtest of ${agent}: ${backtestWords(report)}${mended.length === 0 ? "" : `, ${mended.length} that failed now succeed`}`;
      return { result: { ...(backtestView(report) as object), runs_that_failed_and_now_succeed: mended }, note };
    },
  }),
  ...ENDS,
};

/** Tools that an arm of an evaluation does without. */
const WITHOUT: Record<Arm, readonly string[]> = { none: ["check", "backtest"], findings: ["backtest"], backtest: [] };
const toolsIn = (arm: Arm) => Object.entries(TOOLS).filter(([called]) => !WITHOUT[arm].includes(called));

/** The list of tools for a model. */
export const toolList = (arm: Arm): LlmTool[] =>
  toolsIn(arm).map(([called, { about, params }]) => {
    const { $schema: _, ...schema } = z.toJSONSchema(params, { io: "input", unrepresentable: "any" }) as Record<string, Json>;
    return { name: called, description: about, schema };
  });

/** Executes a call of the writer. Its own errors are answers. */
export async function callTool(called: string, params: Json, at: Situation, shop: Workshop): Promise<ToolResult> {
  const tools = new Map(toolsIn(shop.arm));
  const found = tools.get(called);
  if (found === undefined)
    return no(`There is no tool "${called.slice(0, 60)}": ${[...tools.keys()].join(", ")}.`, "calls an unknown tool");
  const checkedParams = found.params.safeParse(params);
  if (!checkedParams.success) return no(oneLine(z.prettifyError(checkedParams.error), 1000), called);
  try {
    return await found.run(checkedParams.data, at, shop);
  } catch (error) {
    if (!(error instanceof ClearedError) || error.kind === "internal") throw error;
    return no(`${error.code}: ${error.message}`, called);
  }
}

const mayRead = (file: string): boolean => file === MAIN_JOURNAL || (isProposable(file) && !isCase(file));

async function unwritable(file: string, files: Files, ask: Ask, shop: Workshop): Promise<string | null> {
  // Cases judge the writer, so it must not write them.
  if (!isProposable(file) || isCase(file))
    return `${file} is not a file you may write: agents/, scripts/, policies/, importers/, knowledge/ and config.yaml are.`;
  if (isByAgent(ask) && (await shop.base.blob(file)) !== null)
    return `${file} is in force, and a task from outside changes nothing that is: write new files only.`;
  return (await shop.problems(new Map([[file, files.get(file) ?? null]])))[0]?.message ?? null;
}

const MARK = new RegExp(`\\[(?:SECRET|${PATTERNS.map(({ kind }) => kind).join("|")})(?::\\w{1,4})?\\]`);

/** A model that may not see a value gets a mark instead; writing the text back would replace the value with the mark. */
async function hiddenIn(file: string, text: string, { base }: Workshop): Promise<string | null> {
  const mark = MARK.exec(text)?.[0];
  if (mark === undefined || (await base.read(file))?.includes(mark) === true) return null;
  return `${file} holds data that you are not shown (${mark}), so you cannot write the whole of it. Decline, and name the file: trust.yaml says under sends: what a model may see.`;
}

/** Earlier rejections of changes to these files, by people and checks, newest first: for the next attempt. */
async function earlier(paths: readonly string[], shop: Workshop): Promise<{ [key: string]: Json }> {
  const rejected = (await shop.rejectedOn(paths))
    .slice(0, 3)
    .map(({ title, by, why }) => `rejected${by.startsWith("agent:") ? `, by ${by}` : ""}: ${title}${why === null ? "" : ` (${why})`}`);
  const failed = shop.asks.list(50).flatMap(({ end }) => {
    if (end?.kind !== "decline" || end.findings.length === 0 || !end.files.some((file) => paths.includes(file))) return [];
    return [`tried before and failed: ${end.reason} ${end.findings.slice(0, 3).join(" ")}`];
  });
  const all = [...rejected, ...failed.slice(0, 3)];
  return all.length === 0 ? {} : { earlier: quarantined(all) };
}

function checked(checks: readonly CheckResult[]): Json {
  return checks.map(({ check, status, says, findings }) => ({
    check,
    status,
    says,
    ...(findings.length === 0 ? {} : { findings: told(findings) }),
  }));
}

/**
 * The runs of an agent that judge the writer: a third of those that ended well, selected by id alone, so that neither other days nor later runs
 * change it. The writer sees neither these runs nor how its draft does on them. Runs named by the user are shown, and if there are few, all are.
 */
async function judges(agent: string, at: Situation, { engine }: Workshop["bench"]) {
  const few = (await engine.list({ agent, status: ["done"], limit: FEW })).length < FEW;
  const named = wordsOf(at);
  return ({ id, status }: Pick<RunRecord, "id" | "status">): boolean =>
    !few && status === "done" && !named.includes(id) && (createHash("sha256").update(id).digest()[0] ?? 0) % 3 === 0;
}
