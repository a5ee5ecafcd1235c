/**
 * Gates: where a run stops until a person has answered. A gate belongs to one step of one run, opens one card, and is decided by the
 * valid signals in its list.
 */
import { createHash } from "node:crypto";
import { ClearedError } from "../kernel/errors.ts";
import type { Answers, Call, CardDraft, Change, Decision, Json, RunLog, RunRecord } from "../kernel/ports.ts";
import { End, type Gate, Suspend } from "../kernel/primitive.ts";
import { canonicalJson } from "../kernel/canonical.ts";
import { clip } from "../kernel/text.ts";
import { editsIn, editWords, scalarsOf } from "../rules/edits.ts";

/** What the process adds to a card: who must decide, and what they should know. Not part of the question, so not of its hash. */
export type Demands = Pick<
  CardDraft,
  "level" | "levels" | "approvals" | "not_by" | "requesters" | "requested_at" | "started_by" | "brief" | "state" | "records"
>;

/** Who may decide, by trust.yaml and the ladder of today. */
export interface Authority {
  /** Why this decision does not count: not signed by that person for this question, barred, or lacking the level. Null: it counts. Never throws. */
  objection(card: CardDraft, decision: Decision): ClearedError | null;
  /** The demanded levels that none of these people meets, and a second person where one alone could be who requested the case. */
  unmet(card: CardDraft, people: readonly string[]): string[];
  /** The id of a person at a tool server; their name where trust.yaml gives none. */
  idAt(server: string, name: string): string;
}

/** Answers a gate without asking a person, or null. `key`: of the gate, the same on a repeat; `note` logs on the run why it did not. */
export type Standing = (run: RunRecord, card: CardDraft, key: string, note: (message: string) => void) => Promise<Decision | null>;

/** In a dry run every gate is approved, because the calls it covers would otherwise be refused. */
export function dryRunApproval(now: number): Decision {
  return { card: 0, decision: "approved", by: "dry run", at: now };
}

type Decided = Extract<Change, { op: "decided" }>;

/** The change a decision makes to the run: each call it covers may be made once. */
export function decidedChange(card: Pick<Gate["card"], "kind" | "calls" | "otherwise">, { decision, given }: Passed): Decided[] {
  // That a call happened, or what a form was filled in with, does not permit a call.
  if (card.kind === "in_doubt" || card.kind === "form") return [];
  const no = decision.decision === "rejected";
  const calls = decision.calls ?? (no ? [] : card.calls);
  const { people, self } = decision;
  return [
    {
      op: "decided",
      decision: decision.decision,
      by: decision.by,
      calls,
      // A rejected escalation leaves nothing to call, and its gate need not ask again.
      ...(no && (card.otherwise !== undefined || card.kind === "escalation") ? { instead: true as const } : {}),
      ...(people === undefined ? {} : { people }),
      ...(self === undefined ? {} : { self }),
      ...(given !== undefined ? { given } : decision.reason === undefined ? {} : { reason: decision.reason }),
    },
  ];
}

/** How a gate was decided. `given` is stored with the step; a gate of a trial asks nobody and has none. */
export interface Passed {
  decision: Decision;
  given?: Answers;
}

export interface Asking {
  log: RunLog;
  seq: number;
  now: number;
  /** Counts the answers; read anew at each execution, so that the trust.yaml of that time says who may decide. */
  authority(run: RunRecord): Promise<Authority>;
  /** Null where only a person may answer. */
  standing: Standing | null;
}

/**
 * The decision of the gate at this step, or else a card and a suspension. The gate's name contains a hash of its question, so a decision on
 * the old question of a replaced script does not answer the new one. Answers in the store are not trusted: each is checked again.
 * @throws Suspend, End
 */
export async function passGate({ log, seq, now, ...asking }: Asking, gate: Gate, demands: Partial<Demands>): Promise<Passed> {
  const { expires: _, ...question } = gate.card;
  const name = gateOf(seq, gate.card);
  const card = { ...gate.card, ...demands, run: log.run.id, gate: name };
  const answers = log.signals(name).map((signal) => signal.payload as unknown as Decision);
  const counted = await count({ log, ...asking }, card, answers);
  if (counted !== null) {
    logDecision(log, card, counted.decision);
    log.release([{ kind: "decided", gate: name, decision: counted.decision }]);
    return { decision: counted.decision, given: { gate: name, question: question as unknown as Json, signed: counted.signed } };
  }
  if (card.expires !== null && now >= card.expires) throw new End("expired", `Nobody answered "${card.title}" in time.`, { gate: name });
  const seen = answers.length;
  log.release([{ kind: "card", key: `${log.run.id}/${seq}/${hashOf(question)}`, card, seen }]);
  throw new Suspend(gate.reason, card.title, { gate: name, seen, ...(card.expires === null ? {} : { until: card.expires }) });
}

/**
 * The recorded decision of a gate, counted again: by the signatures stored with it, for the question it asked, under the trust.yaml of today;
 * where a profile answered, by asking it again. Null when that yields no decision: a row of the store alone proves nothing.
 */
export async function recount(asking: Omit<Asking, "now">, { given }: Decided, demands: Partial<Demands>): Promise<Decided | null> {
  if (given === undefined) return null;
  const question = given.question as unknown as Omit<Gate["card"], "expires">;
  if (given.gate !== `gate_${asking.seq}_${hashOf(question)}`) return null;
  const card = { ...question, expires: null, ...demands, run: asking.log.run.id, gate: given.gate };
  const counted = await count(asking, card, given.signed);
  return counted === null ? null : (decidedChange(question, { decision: counted.decision, given })[0] ?? null);
}

const hashOf = (question: unknown): string => createHash("sha256").update(canonicalJson(question)).digest("hex").slice(0, 12);

/** The name of the gate that asks this at this step. */
export const gateOf = (seq: number, { expires: _, ...question }: Gate["card"]): string => `gate_${seq}_${hashOf(question)}`;

/** The decision of people, else of a profile, with the signed answers behind it; null while there is none. */
async function count(
  { log, authority, standing }: Pick<Asking, "log" | "authority" | "standing">,
  card: CardDraft,
  answers: readonly Decision[],
): Promise<{ decision: Decision; signed: Decision[] } | null> {
  const rules = await authority(log.run);
  const { decision } = tally(card, answers, rules);
  if (decision !== null)
    return { decision: spoken(card, decision, rules), signed: answers.filter((one) => rules.objection(card, one) === null) };
  const note = (message: string) => log.event("log", { level: "warn", message });
  const profile = await standing?.(log.run, card, `${log.run.id}/${card.gate}`, note);
  return profile == null ? null : { decision: spoken(card, profile, rules), signed: [] };
}

/** The decision with the calls it covers. "@approver" and "@reason" of the card's calls become who decided and why, even if edited. */
export function spoken(card: Pick<CardDraft, "calls" | "otherwise">, decision: Decision, rules: Authority): Decision {
  const no = decision.decision === "rejected";
  const asked = no ? (card.otherwise ?? []) : card.calls;
  const calls = (no ? asked : (decision.calls ?? asked)).map(({ tool, params }, i) => {
    const server = tool.split("/")[0] ?? "";
    const names = decision.by.split(", ").map((name) => rules.idAt(server, name));
    const words = { "@approver": names.join(", "), "@reason": decision.reason ?? `${decision.by} ${no ? "said no" : "said yes"}` };
    return { tool, params: filledIn(params, asked[i]?.params ?? null, words) };
  });
  return !no && canonicalJson(calls) === canonicalJson(decision.calls ?? asked) ? decision : { ...decision, calls };
}

type Words = Readonly<Record<string, string>>;

/** The value, with a word wherever the value asked for has its placeholder. */
function filledIn(value: Json, asked: Json | undefined, words: Words): Json {
  if (typeof asked === "string" && Object.hasOwn(words, asked)) return words[asked] ?? "";
  if (typeof value !== "object" || value === null || typeof asked !== "object" || asked === null) return value;
  const inner = Object.entries(value).map(([key, one]) => [key, filledIn(one, (asked as Record<string, Json>)[key], words)] as const);
  return Array.isArray(value) ? inner.map(([, one]) => one) : Object.fromEntries(inner);
}

/** A placeholder still in a call means that no gate was asked for it, so nothing filled it in. @throws PARAMS_INVALID */
export function assertFilledIn({ tool, params }: Call): void {
  if (![...scalarsOf([{ tool, params }]).values()].some((one) => one === "@approver" || one === "@reason")) return;
  const next = "Ask with approval_wait, and make the calls it returns, which have them filled in";
  throw new ClearedError("PARAMS_INVALID", `${tool} still says "@approver" or "@reason". ${next}.`);
}

/** The error for a call outside that no approval covers. `approved`: the calls that one does, as canonical text. */
export function notCovered({ tool, params }: Call, approved: readonly string[]): ClearedError {
  const given = approved.map((one) => JSON.parse(one) as [tool: string, params: Json]).find(([name]) => name === tool);
  const shown = (of: Json) => clip(JSON.stringify(of ?? null), 300);
  const advice =
    given === undefined
      ? `. Ask first: approval_wait({ title, calls: [{ tool: "${tool}", params }] }), then make the calls that it returns, each once.`
      : `: it was approved with ${shown(given[1])} and is called with ${shown(params)}. Whoever approved may have changed it: make the calls that approval_wait returns, as in \`const [{ params }] = asked.calls\`.`;
  return new ClearedError("APPROVAL_REQUIRED", `${tool} acts outside, and no decided approval covers exactly this call${advice}`, {
    data: { tool, params },
  });
}

/** Logs on the run what the step's answer alone does not show: an edit, a rejection, or an approval by a profile. */
function logDecision(log: RunLog, card: CardDraft, decision: Decision): void {
  const { by, reason } = decision;
  const why = reason === undefined ? "" : `: ${reason}`;
  const changed = decision.decision === "edited" ? editsIn(card.calls, decision.calls ?? card.calls) : [];
  const message =
    decision.decision === "edited"
      ? `${by} changed ${editWords(changed)}${why}`
      : decision.decision === "rejected"
        ? `${by} said no to "${card.title}"${why}`
        : card.kind === "in_doubt"
          ? `${by} says that ${card.calls[0]?.tool} happened${decision.result === undefined ? "" : `, and that it answered ${clip(JSON.stringify(decision.result), 300)}`}${why}`
          : by.startsWith("profile:")
            ? `${by} of trust.yaml approved "${card.title}"`
            : null;
  if (message !== null) log.event("log", { level: "info", message, by, ...(changed.length === 0 ? {} : { changed }) });
}

export interface Tally {
  /** Null while the gate is open. */
  decision: Decision | null;
  /** The calls to approve now: the card's, or as last edited. */
  calls: Call[];
  /** Whose approval of these calls counts. */
  people: string[];
}

/**
 * The rule of every gate: one rejection closes it. So do approvals of the same calls by as many different people as it demands, once these
 * people together meet its levels. An edit approves only the edited calls, so it starts the count again. Of a call in doubt the rejection sends
 * it again: there one approval closes the gate, and rejections are counted.
 */
export function tally(card: CardDraft, decisions: readonly Decision[], authority: Authority): Tally {
  let calls = card.calls;
  let edited: Decision | null = null;
  let people: Decision[] = [];
  const names = () => people.map((one) => one.by);
  for (const decision of decisions) {
    if (authority.objection(card, decision) !== null) continue;
    if (decision.decision === (card.kind === "in_doubt" ? "approved" : "rejected")) return { decision, calls, people: names() };
    const said = decision.calls ?? card.calls;
    if (decision.decision === "edited") {
      calls = said;
      edited = decision;
      people = [];
    } else if (canonicalJson(said) !== canonicalJson(calls)) continue;
    if (!names().includes(decision.by)) people.push(decision);
    if (people.length < (card.approvals ?? 1) || authority.unmet(card, names()).length > 0) continue;
    const { signature, calls: _, ...last } = decision;
    const all = people.map(({ by, at, self }) => ({ by, at, ...(self === undefined ? {} : { self }) }));
    return {
      calls,
      people: names(),
      decision: {
        ...last,
        ...(all.length > 1 ? { people: all } : signature === undefined ? {} : { signature }),
        by: names().join(", "),
        ...(edited === null ? {} : { decision: "edited", calls }),
      },
    };
  }
  return { decision: null, calls, people: names() };
}
