/**
 * Requests to the meta-agent on a host: start, watch, answer, stop. The conversation runs in the owner of the workspace, whoever watches; its
 * tools here can only read and try, and it proposes like everybody else (proposals-api.ts).
 */
import { ClearedError, toWire } from "../kernel/errors.ts";
import { runChecks, STATIC_CHECKS } from "../change/checks/pipeline.ts";
import { problemsOf } from "../change/proposals/paths.ts";
import { createProposals } from "../change/proposals/store.ts";
import type { Llm } from "../kernel/ports.ts";
import { answered, converse, spenderOf } from "../meta/conversation.ts";
import { declined } from "../meta/ends.ts";
import { type Prompt, promptFor, promptVersion } from "../meta/prompt.ts";
import { type Ask, type AskEnd, type AskRow, type Asks, createAsks, isByAgent, runIn } from "../meta/requests.ts";
import type { Arm, Workshop } from "../meta/workshop.ts";
import { type CostRow, costWords } from "../llm/costs.ts";
import { redact } from "../rules/privacy/scan.ts";
import { dayIn } from "../scripts/header.ts";
import { commitNamed } from "../workspace/git/past.ts";
import { treeOver } from "../workspace/git/tree.ts";
import { checkFiles, subjectOf, withRecordings } from "./check-api.ts";
import { modelRolesOf } from "../workspace/settings/models.ts";
import type { Host } from "./host.ts";
import { NOBODY } from "../kernel/text.ts";
import { judgeFiles, proposeFiles } from "./proposals-api.ts";

export type { Ask, AskEnd, AskRow } from "../meta/requests.ts";

export interface WatchedAsk {
  ask: Ask;
  rows: AskRow[];
  /** Cost so far, in words; null if no model was asked. */
  cost: string | null;
}

/** Requests that this process works on, by store and number. */
interface Working {
  stop: AbortController;
  over: Promise<void>;
  /** Resolves when there is something new, and is then replaced. */
  news: PromiseWithResolvers<void>;
}
const working = new WeakMap<Host["database"], Map<number, Working>>();

const workingOn = ({ database }: Host) => working.getOrInsertComputed(database, () => new Map<number, Working>());

/** Numbers of the requests in progress in this process. */
export const requestsUnderWay = (host: Host): number[] => [...workingOn(host).keys()];

const LONGEST_TEXT = 10_000;
// A watcher asks again after this time, so that no connection stays silent.
const WATCH_MS = 20_000;

/** Starts a request; work continues until it ends, whether or not anybody watches. @throws LLM_UNCONFIGURED, USAGE */
export async function beginAsk(host: Host, { text, by, ...limits }: { text: string; by?: string } & Limits): Promise<Ask> {
  if (text.trim() === "") throw new ClearedError("USAGE", 'Say what you want: `cleared ask "..."`.');
  if (text.length > LONGEST_TEXT) throw new ClearedError("USAGE", `A request has at most ${LONGEST_TEXT} characters.`);
  const writer = await writerOf(host);
  const asks = asksOf(host);
  await settleAsks(host);
  const base = await host.git.head();
  const { timezone } = await host.config();
  // No await from here on: a stored request that nothing works on counts as interrupted.
  const at = host.clock.now();
  const asked = redact(text.trim());
  const first = { role: "user" as const, content: `Today is ${dayIn(timezone, at)}. The request:\n\n${asked}` };
  const ask = asks.create({ at, text: asked, by: by ?? null, base, prompt: promptVersion() }, { message: first });
  work(host, ask, writer, limits);
  return ask;
}

/** Continues one that asked a question or was interrupted; without a number the last such one. @throws ASK_UNKNOWN, USAGE, LLM_UNCONFIGURED */
export async function continueAsk(
  host: Host,
  { id, answer: words = "", by, ...limits }: { id?: number; answer?: string; by?: string } & Limits,
): Promise<Ask> {
  const answer = words.trim();
  const asks = asksOf(host);
  await settleAsks(host);
  const writer = await writerOf(host);
  // No await from here on, so that of two callers only one continues it.
  const mayGoOn = ({ end }: Ask) => end?.kind === "question" || (end?.kind === "decline" && end.open);
  // Without a number it is the caller's own, never one started by an outside task; an answer goes to a question.
  const isMeant = (one: Ask) => mayGoOn(one) && (by ?? null) === one.by && (answer === "" || one.end?.kind === "question");
  const ask = id === undefined ? asks.list(50).find(isMeant) : asks.get(id);
  if (ask === null || ask === undefined)
    throw new ClearedError(
      "ASK_UNKNOWN",
      id === undefined
        ? `No request of yours waits for an answer${answer === "" ? " or was cut off" : ""}; \`cleared asks\` lists them.`
        : `There is no request ${id}.`,
    );
  if (workingOn(host).has(ask.id)) throw new ClearedError("ASK_UNKNOWN", `Request ${ask.id} is being worked on.`);
  if (!mayGoOn(ask)) throw new ClearedError("ASK_UNKNOWN", `Request ${ask.id} has ended; make a new request.`);
  // The proposal belongs to whoever asked, who may not be allowed to approve it, so nobody else may shape it.
  if ((by ?? null) !== ask.by && !isByAgent(ask))
    throw new ClearedError(
      "APPROVAL_IDENTITY",
      `Request ${ask.id} is by ${ask.by ?? NOBODY}, and only they can continue it; make a new request.`,
    );
  const asked = ask.end?.kind === "question";
  if (asked && answer === "")
    throw new ClearedError("USAGE", `Request ${ask.id} waits for an answer: \`cleared ask --continue ${ask.id} "ANSWER"\`.`);
  if (!asked && answer !== "")
    throw new ClearedError("USAGE", `Request ${ask.id} asks nothing; continue it without an answer: \`cleared ask --continue ${ask.id}\`.`);
  if (asked) {
    const said = redact(answer.slice(0, LONGEST_TEXT));
    const message = answered(asks.rows(ask.id), said);
    if (message !== null) asks.add(ask.id, { at: host.clock.now(), message, note: `answered: ${said.slice(0, 200)}` });
  }
  asks.reopen(ask.id);
  work(host, { ...ask, end: null, endedAt: null }, writer, limits);
  return asks.get(ask.id) ?? ask;
}

/** Stops it and waits for its end. @throws ASK_UNKNOWN */
export async function stopAsk(host: Host, { id }: { id: number }): Promise<Ask> {
  const found = workingOn(host).get(id);
  found?.stop.abort();
  await found?.over;
  return askAt(host, id);
}

/** New rows from `from` on; waits until there are some, or it has ended. @throws ASK_UNKNOWN */
export async function watchAsk(host: Host, { id, from, wait }: { id: number; from: number; wait: boolean }): Promise<WatchedAsk> {
  const asks = asksOf(host);
  const found = workingOn(host).get(id);
  if (found === undefined && askAt(host, id).end === null) await settleAsks(host);
  let rows = asks.rows(id, from);
  if (wait && found !== undefined && rows.length === 0) {
    const later = Promise.withResolvers<void>();
    const timer = setTimeout(later.resolve, WATCH_MS);
    await Promise.race([found.news.promise, found.over, later.promise]).finally(() => clearTimeout(timer));
    rows = asks.rows(id, from);
  }
  return { ask: askAt(host, id), rows, cost: costIn(await host.models.costs("proposal"), id) };
}

export async function listAsks(host: Host, { limit }: { limit: number }): Promise<(Ask & { cost: string | null })[]> {
  await settleAsks(host);
  const costs = await host.models.costs("proposal");
  return asksOf(host)
    .list(limit)
    .map((ask) => ({ ...ask, cost: costIn(costs, ask.id) }));
}

/** The prompt that a request would get now. */
export async function showPrompt(host: Host): Promise<Prompt> {
  return promptFor(host.git.tree(await host.git.head()), await host.registry.whole(), Object.keys(host.trust.mcp));
}

function costIn(costs: readonly CostRow[], id: number): string | null {
  const found = costs.find(({ name }) => name === spenderOf(id));
  return found === undefined ? null : costWords(found);
}

function askAt(host: Host, id: number): Ask {
  const ask = asksOf(host).get(id);
  if (ask === null) throw new ClearedError("ASK_UNKNOWN", `There is no request ${id}. \`cleared asks\` lists them.`);
  return ask;
}

/** The store, which notifies watchers of each new row. */
function asksOf(host: Host): Asks {
  const asks = createAsks(host.database);
  const tell = (id: number) => {
    const found = workingOn(host).get(id);
    found?.news.resolve();
    if (found !== undefined) found.news = Promise.withResolvers();
  };
  return {
    ...asks,
    add(id, row) {
      asks.add(id, row);
      tell(id);
    },
  };
}

/** @throws LLM_UNCONFIGURED, before a request exists */
async function writerOf(host: Host): Promise<Writer> {
  const config = await host.config();
  await host.models.llm(config).modelOf({ role: "large" });
  return (note) => host.models.llm(config, note);
}

/** The model, given who is told that a budget is nearly used up. */
type Writer = (note: (message: string) => void) => Llm;

/** Limits that differ from the default: the time, and, for an evaluation, what is returned to the writer. */
interface Limits {
  wallMs?: number;
  arm?: Arm;
}

function work(host: Host, ask: Ask, writer: Writer, { wallMs, arm = "backtest" }: Limits): void {
  const asks = asksOf(host);
  const llm = writer((note) => asks.add(ask.id, { at: host.clock.now(), note }));
  const stop = new AbortController();
  const all = workingOn(host);
  const run = async (): Promise<AskEnd> => {
    const shop = await workshopAt(host, ask, asks, arm, (system, text) => derive(llm, ask, stop.signal, system, text));
    const { system, short } = await promptFor(shop.base, await shop.registry(), Object.keys(host.trust.mcp));
    const { minutes } = modelRolesOf(await host.config()).budgets.proposal;
    const talk = { llm, clock: host.clock, system, short, stop: stop.signal, wallMs: wallMs ?? 60_000 * minutes };
    return withRecordings(host, (bench) => converse(ask, { ...talk, shop: { ...shop, bench } }));
  };
  const over = run()
    .catch((error: unknown): AskEnd => {
      const { code, message } = toWire(error);
      return declined(code === "INTERNAL" ? `An error of Cleared itself ended it: ${message}` : message, { open: true });
    })
    .then((end) => asks.end(ask.id, end, host.clock.now()))
    // The store is closed or owned by another process, whose next start settles interrupted requests.
    .catch(() => undefined)
    .finally(() => {
      host.ending.delete(end);
      all.get(ask.id)?.news.resolve();
      all.delete(ask.id);
    });
  const end = () => {
    stop.abort();
    return over;
  };
  host.ending.add(end);
  all.set(ask.id, { stop, over, news: Promise.withResolvers() });
}

const DERIVE_MS = 120_000;

async function derive(llm: Llm, ask: Ask, stop: AbortSignal, system: string, text: string): Promise<string> {
  const role = await llm.modelOf({ role: "judge" }).then(
    () => "judge" as const,
    () => "large" as const,
  );
  const { content } = await llm.generate({
    ...{ role, system, messages: [{ role: "user", content: text }], max_tokens: 4000 },
    ...{ abort: AbortSignal.any([stop, AbortSignal.timeout(DERIVE_MS)]), spender: { proposal: spenderOf(ask.id) } },
  });
  return content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
}

async function workshopAt(host: Host, ask: Ask, asks: Asks, arm: Arm, derive: Workshop["derive"]): Promise<Workshop> {
  const base = host.git.tree(ask.base);
  const store = createProposals(host);
  const by = ask.by ?? NOBODY;
  return {
    ...{ arm, derive, base, by, bench: host, asks, registry: () => host.registry.whole() },
    tools: () => host.toolsFor({ id: spenderOf(ask.id) }).list(),
    async treeAt(commit) {
      const found = await commitNamed(host.dir, ask.base, commit);
      if (found === null) throw new ClearedError("USAGE", `"${commit.slice(0, 64)}" is not a commit of this branch.`);
      return host.git.tree(found.commit);
    },
    async parse(files, path) {
      const subject = await subjectOf(host, base, treeOver(base, files), [path]);
      const results = await runChecks(
        subject,
        STATIC_CHECKS.filter(({ name }) => name !== "types" && name !== "capabilities" && name !== "states"),
      );
      return results.flatMap(({ findings }) => findings).filter(({ at, remark }) => at.file === path && remark !== true);
    },
    check: async (files) => (await checkFiles(host, { files: Object.fromEntries(files), all: false, onlyNew: true })).checks,
    problems: (files) => problemsOf(Object.fromEntries(files), { by, head: base }),
    judge: (draft) => judgeFiles(host, draft, ask.base),
    propose: async (draft, report) => proposeFiles(host, { ...draft, starter: await starterOf(host, ask) }, { base: ask.base, report }),
    proposals: () => store.list(),
    rejectedOn: (paths) => store.rejectedOn(paths),
  };
}

/** For a request by an agent: who gave the task it is about. */
async function starterOf({ engine }: Host, ask: Ask): Promise<string | undefined> {
  return isByAgent(ask) ? (await engine.get(runIn(ask)))?.by : undefined;
}

/** Ends interrupted requests: with their proposal if they had made one, else as resumable. */
async function settleAsks(host: Host): Promise<void> {
  if (host.database.epoch === null) return;
  const asks = asksOf(host);
  const open = asks.list(200).filter(({ id, end }) => end === null && !workingOn(host).has(id));
  if (open.length === 0) return;
  const proposals = await createProposals(host).list();
  for (const { id, at, base } of open) {
    // It may have been continued or ended meanwhile.
    if (workingOn(host).has(id) || asks.get(id)?.end !== null) continue;
    const made = proposals.find((one) => one.asked?.request === id && one.asked.at === at && one.base === base);
    const end: AskEnd =
      made === undefined
        ? declined("It was cut off: the process that worked on it ended.", { open: true })
        : { kind: "card", proposal: made.id, number: made.number, title: made.title };
    asks.end(id, end, host.clock.now());
  }
}
