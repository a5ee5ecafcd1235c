/**
 * Turns corrections into rules: for a payee whose entries people have moved to an account, finds a literal text that separates these entries
 * from all that people left elsewhere and from other payees, and offers it on a card if it would have an effect: at once, on request, and
 * every night for all payees (agents/learning.ts). An approval moves similar entries in one commit, and proposes the rule with its evidence,
 * which needs an approval of its own.
 */
import { setImmediate } from "node:timers/promises";
import { committedOrRefused } from "../engine/attempt.ts";
import { NOTHING_ASKED, PROPOSED } from "../engine/store/cards.ts";
import { getFact } from "../engine/store/facts.ts";
import { ClearedError, onCode } from "../kernel/errors.ts";
import type { Card, Decision, Entry, Files, RuleOffers, Tree } from "../kernel/ports.ts";
import { count, oneLine, upTo } from "../kernel/text.ts";
import { inCapitals, payeeOf, separatingText } from "../rules/separating-text.ts";
import { withRule } from "../scripts/rule-rows.ts";
import { asCorrected, confirmEntry, correctEntry, otherLegs } from "../workspace/books/decisions.ts";
import { accountOf } from "../workspace/books/invariants.ts";
import { ownKind } from "../workspace/books/entry-id.ts";
import { findEntry, loadChart, monthFiles, readEntries } from "../workspace/books/months.ts";
import { treeOver } from "../workspace/git/tree.ts";
import { agentFile } from "../workspace/layout.ts";
import type { Config } from "../workspace/settings/config.ts";
import type { Ask } from "./asks.ts";
import type { Host } from "./host.ts";

/** How far back entries are compared; older ones may have been named otherwise. */
const MONTHS = 24;
/** This many corrections of one kind justify a rule even without similar entries. */
const ENOUGH = 2;
// The card lists this many and counts the rest.
const SHOWN = 10;
/** Below the starter workspace's limit for booking without review: entries of a learned rule are still reviewed. */
const CONFIDENCE = "0.9";

/** An entry made from a row, as it is booked now. */
interface Booked {
  entry: Entry;
  account: string;
  /** A person confirmed it. moved: to another account than it was first booked on. */
  looked: boolean;
  moved: boolean;
  /** Its text as rules compare it, and the payee it names. */
  text: string;
  payee: string;
}

async function bookedIn(head: Tree, suspense: string): Promise<Booked[]> {
  const chart = await loadChart(head);
  const entries = (await Promise.all((await monthFiles(head)).slice(-MONTHS).map((file) => readEntries(head, file)))).flat();
  const corrections = Map.groupBy(
    entries.filter(({ tags }) => tags["corrects"] !== undefined),
    ({ tags }) => tags["corrects"] ?? "",
  );
  const voided = new Set(entries.flatMap(({ tags }) => (ownKind({ tags }) === "void" ? [(tags["key"] ?? "").split(":")[1] ?? ""] : [])));
  return entries.flatMap((entry): Booked[] => {
    if (ownKind(entry) !== null || voided.has(entry.id)) return [];
    const now = asCorrected(entry, corrections.get(entry.id) ?? []);
    const accounts = new Set(otherLegs(now, chart).map((i) => now.postings[i]?.account ?? ""));
    const [account = ""] = accounts;
    if (accounts.size !== 1 || account === accountOf(chart, suspense).name) return [];
    const moved = now.status === "user-corrected";
    const text = inCapitals(entry.description);
    return [{ entry, account, looked: moved || now.status === "user-confirmed", moved, text, payee: payeeOf(text) }];
  });
}

interface Offer {
  text: string;
  account: { id: string; name: string };
  agent: string | null;
  corrected: Booked[];
  /** Entries with the same text on other accounts that nobody has reviewed. */
  alike: Booked[];
}

/** The rule for a moved entry, or why there is none. */
async function offerFor(host: Host, head: Tree, id: string): Promise<Offer | { why: string; moved: Booked[] }> {
  const all = await bookedIn(head, (await host.config(head)).accounts.suspense);
  const of = (await findEntry(head, id))?.tags["corrects"] ?? id;
  const own = all.find(({ entry }) => entry.id === of);
  if (own?.moved === true) return offerOf(host, head, own, all);
  return { why: `${id} has not been moved to another account: \`cleared correct ${id} --account ACCOUNT\` does that.`, moved: [] };
}

async function offerOf(host: Host, head: Tree, own: Booked, all: readonly Booked[]): Promise<Offer | { why: string; moved: Booked[] }> {
  const isTheirs = (one: Booked) => one.payee === own.payee;
  const same = all.filter((one) => one.moved && one.account === own.account && isTheirs(one));
  // Entries that nobody has reviewed are no evidence: the rule may be meant for them. A word that other payees share would match their rows.
  const others = all.filter((one) => (one.looked && one.account !== own.account) || !isTheirs(one));
  const [like = [], apart = []] = [same, others].map((some) => some.map((one) => one.text));
  const text = separatingText(own.text, like, apart);
  if (text === null) {
    const why = `No words of "${oneLine(own.entry.description, 80)}" separate it from entries that people left on other accounts.`;
    return { why, moved: same };
  }
  const has = (one: Booked) => one.text.includes(text);
  const account = accountOf(await loadChart(head), own.account);
  const run = own.entry.tags["run"];
  const agent = run === undefined ? null : ((await host.engine.get(run))?.agent ?? null);
  const alike = all.filter((one) => has(one) && !one.looked && one.account !== own.account);
  const id = String(account.id);
  const source = agent === null ? null : await head.read(agentFile(agent));
  if (alike.length === 0 && source !== null && withRule(source, ruleOf(text, id), []) === source)
    return { why: hasAlready(agentFile(agent ?? ""), { text, account: id }), moved: [] };
  return { text, account: { id, name: account.name }, corrected: same.filter(has), agent, alike };
}

const ruleOf = (text: string, account: string) => ({ text, account, vendor: inTitleCase(text), confidence: CONFIDENCE });
const hasAlready = (path: string, { text, account }: { text: string; account: string }): string =>
  `${path} has the rule already: "${text}" is ${account}.`;

interface Body {
  rule: { text: string; account: string; agent: string | null };
  corrected: string[];
  alike: string[];
}

const keyOf = ({ text, account }: Offer): string => `rule:${account.id}:${text}`;
const isOf = (key: string, offer: Offer): boolean => key === keyOf(offer) || key.startsWith(`${keyOf(offer)}#`);

/** The rule for a moved entry: a card that offers it, the proposal that has it already, or a request if only a model may find one. @throws JOURNAL_ENTRY_MISSING, USAGE, LLM_UNCONFIGURED */
export async function makeRule(host: Host, { entry, by }: { entry: string; by?: string }): Promise<{ card: Card } | { ask: Ask }> {
  const head = host.git.tree(await host.git.head());
  if ((await findEntry(head, entry)) === null)
    throw new ClearedError("JOURNAL_ENTRY_MISSING", `No entry has the id "${entry.slice(0, 40)}".`);
  const offer = await offerFor(host, head, entry);
  if ("text" in offer) return { card: openOffer(host, offer) };
  if (offer.moved.length === 0) throw new ClearedError("USAGE", offer.why);
  // A request contains no text written by a bank.
  const ids = offer.moved.slice(-SHOWN).map(({ entry: one }) => one.id);
  const account = accountOf(await loadChart(head), offer.moved[0]?.account ?? "");
  const text = `A person moved ${ids.length === 1 ? "the entry" : "the entries"} ${ids.join(", ")} to account ${account.id}. Change the rules so that rows like ${ids.length === 1 ? "it" : "them"} are booked there, and nothing else.`;
  const { beginAsk } = await import("./asks.ts");
  return {
    ask: await beginAsk(host, { text, ...(by === undefined ? {} : { by }) }).catch(
      onCode("LLM_UNCONFIGURED", ({ message }) => {
        throw new ClearedError("USAGE", `${offer.why} A model might: ${message}`);
      }),
    ),
  };
}

/** After a correction: the card that offers a rule and lists similar entries, if it would have an effect and was not offered before. */
export async function offerRule(host: Host, entry: string): Promise<Card | null> {
  const offer = await offerFor(host, host.git.tree(await host.git.head()), entry);
  if (!("text" in offer)) return null;
  return isNew(host, offer) || cardsOf(host, offer).some(({ decision }) => decision === null) ? openOffer(host, offer) : null;
}

/** True if it would have an effect, and was not offered before, including in other words for the same corrections. */
function isNew(host: Host, offer: Offer): boolean {
  const asked = new Set(host.cards.list({ kind: "rule" }).flatMap(({ body }) => (body as unknown as Body).corrected));
  const known = cardsOf(host, offer).length > 0 || offer.corrected.every(({ entry }) => asked.has(entry.id));
  return !known && offer.alike.length + offer.corrected.length >= ENOUGH;
}

/** A card for each payee whose corrections were not offered yet; opens none if `open` is false. Returns no text written by a bank. */
export async function offerRules(host: Host, { open }: { open: boolean }): Promise<RuleOffers> {
  const head = host.git.tree(await host.git.head());
  const all = await bookedIn(head, (await host.config(head)).accounts.suspense);
  const [offered, unclear, seen] = [[] as number[], [] as string[], new Set<string>()];
  for (const own of all.filter(({ moved }) => moved)) {
    if (seen.has(own.entry.id)) continue;
    // Each iteration reads all entries; other work of the host runs in between.
    await setImmediate();
    const offer = await offerOf(host, head, own, all);
    for (const { entry } of "text" in offer ? offer.corrected : [own]) seen.add(entry.id);
    if (!("text" in offer)) unclear.push(...(offer.moved.length > 0 ? [own.entry.id] : []));
    else if (isNew(host, offer)) offered.push(open ? openOffer(host, offer).id : 0);
  }
  return { offered, unclear };
}

const titleOf = (text: string, account: string, corrected: number, alike: number): string =>
  `"${text}" is ${account}: ${count(corrected, "correction")}, ${alike} more alike`;

const cardsOf = (host: Host, offer: Offer): Card[] => host.cards.list({ kind: "rule" }).filter(({ key }) => isOf(key, offer));

function openOffer(host: Host, offer: Offer): Card {
  const { text, account, agent, corrected, alike } = offer;
  const open = () => cardsOf(host, offer).find(({ decision }) => decision === null);
  const legs = ({ entry: { date, description, postings }, account: at }: Booked): string =>
    `${date}  ${oneLine(description, 80)}  ${at}  ${postings[0]?.amount ?? ""} ${postings[0]?.currency ?? ""}`;
  const moves =
    alike.length === 0
      ? ""
      : `moves ${alike.length === 1 ? "this entry" : `these ${alike.length} entries`} to ${account.id} ${account.name}, and `;
  const title = titleOf(text, account.name, corrected.length, alike.length);
  const body = {
    rule: { text, account: account.id, agent },
    corrected: corrected.map(({ entry: one }) => one.id),
    alike: alike.map(({ entry: one }) => one.id),
    booked: upTo(alike.map(legs), SHOWN),
    about: {
      approve: `${moves}proposes the rule for ${agent === null ? "rows to come" : agentFile(agent)}, which needs an approval of its own`,
      reject: "everything stays, and it is not offered again",
    },
  };
  const shown = open();
  if (shown === undefined) host.cards.open(keyOf(offer), { ...NOTHING_ASKED, kind: "rule", title, body, run: null }, host.clock.now());
  else host.cards.restate(shown.id, { title, body });
  // While the proposal of its answer waits, nothing else is asked about the rule.
  return (open() ?? host.cards.get(Number(getFact(host.database, `${PROPOSED}${keyOf(offer)}`)))) as Card;
}

/** Carries out the decision on such a card: one commit for all entries, the proposal, or why there is none. @throws GIT_STATE, JOURNAL_* */
export async function carryOutRule(
  host: Host,
  card: Card,
  decision: Decision,
): Promise<{ commit: string | null; proposal: number | null; noRule: string | null }> {
  if (decision.decision === "rejected") return { commit: null, proposal: null, noRule: null };
  const { rule, corrected, alike } = card.body as unknown as Body;
  const config = await host.config();
  let free: string[] = [];
  let name = "";
  const result = await host.git.commit({
    message: `correct: ${card.title.slice(0, 40)}`,
    trailers: { Card: String(card.id), "Approved-by": decision.by },
    build: async (head) => {
      const files = new Map<string, string | null>();
      name = accountOf(await loadChart(head), rule.account).name;
      const now = new Map((await bookedIn(head, config.accounts.suspense)).map((one) => [one.entry.id, one]));
      // Entries that a person decided after the card was made stay where they are.
      free = alike.filter((id) => now.get(id)?.looked === false || now.get(id)?.account === name);
      for (const id of free) {
        const tree = treeOver(head, files);
        for (const [path, text] of await movedTo(tree, id, { by: decision.by, account: rule.account }, config)) files.set(path, text);
      }
      return files;
    },
  });
  const commit = committedOrRefused(result, "decide again");
  const left = alike.length - free.length;
  if (left > 0) {
    const title = `${titleOf(rule.text, name, corrected.length, free.length)}; left ${count(left, "entry", "entries")} where people have booked them since`;
    host.cards.restate(card.id, { title, body: { ...(card.body as object), alike: free } });
  }
  for (const one of host.cards.list({ open: true, kind: "entry" }))
    if (free.includes(String((one.body as { entry?: string } | null)?.entry)))
      host.cards.decide(one.id, { ...decision, card: one.id, account: rule.account, reason: `decided with card ${card.id}` });
  const made = await proposeRule(host, { id: card.id, body: { ...(card.body as object), alike: free } }, decision.by);
  const done = typeof made === "number" ? { proposal: made, noRule: null } : { proposal: null, noRule: made };
  return { commit, ...done };
}

/** The files with one entry moved to the account; none if it is already there, or no longer exists. */
async function movedTo(tree: Tree, id: string, to: { by: string; account: string }, config: Config): Promise<Files> {
  const entry = await findEntry(tree, id);
  if (entry === null) return new Map();
  const move = entry.status === "pending-review" ? confirmEntry : correctEntry;
  return move(tree, id, { approve: true, ...to }, config).catch(onCode("JOURNAL_STATUS", () => new Map()));
}

const inTitleCase = (text: string): string => text.toLowerCase().replace(/(?<![\p{L}'])\p{L}/gu, (letter) => letter.toUpperCase());

/** The number of the proposal, or why recorded runs argue against one. */
export async function proposeRule(host: Host, card: Pick<Card, "id" | "body">, by: string): Promise<number | string> {
  const { rule, corrected, alike } = card.body as unknown as Body;
  const base = await host.git.head();
  const head = host.git.tree(base);
  const path = rule.agent === null ? null : agentFile(rule.agent);
  const source = path === null ? null : await head.read(path);
  if (path === null || source === null) return "the entries are of no agent that is here";
  const entries = (await Promise.all([...corrected, ...alike].map((id) => findEntry(head, id)))).filter((one) => one !== null);
  const text = withRule(
    source,
    ruleOf(rule.text, rule.account),
    entries.map(({ description }) => description),
  );
  if (text === null) return `${path} has no list of rules with texts and accounts; \`cleared ask\` can change what it has`;
  if (text === source) return hasAlready(path, rule);
  const name = accountOf(await loadChart(head), rule.account).name;
  const draft = {
    title: `"${rule.text}" is ${name}`,
    reason: `${by} moved ${count(corrected.length + alike.length, "entry", "entries")} there: ${[...corrected, ...alike].slice(0, SHOWN).join(", ")}; ${by} answered card ${card.id}.`,
    ...{ by, files: { [path]: text } },
  };
  const { judgeFiles, proposeFiles } = await import("./proposals-api.ts");
  const report = await judgeFiles(host, draft, base);
  const failed = report.checks.find(({ status }) => status === "failed");
  if (failed !== undefined) return `its check ${failed.check} says: ${failed.findings[0]?.message ?? failed.says}`;
  if (report.backtests.every((one) => one.entries === 0)) return `no recorded run of ${rule.agent} would book anything differently with it`;
  return (await proposeFiles(host, draft, { base, report })).number;
}
