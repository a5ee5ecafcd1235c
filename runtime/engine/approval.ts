/**
 * Gates: where a run stops until a person has answered. A gate belongs to one step of one run, opens one card, and is decided by the
 * valid signals in its list. Also what settles a call in doubt: its key, then its read-back, then a person. Never a guess.
 */
import { createHash } from "node:crypto";
import { ClearedError } from "../kernel/errors.ts";
import type { Answers, Call, CardDraft, Change, Clock, Decision, Json, RunLog, RunRecord, Step } from "../kernel/ports.ts";
import { End, type Gate, type Primitive, type StepContext, Suspend, parseParams } from "../kernel/primitive.ts";
import { canonicalJson } from "../kernel/canonical.ts";
import { changesIn, scalarsOf } from "../rules/edits.ts";
import { LEASE_MS } from "./store/lease.ts";

/** What the process adds to a card: who is asked for, and what they should know. Not part of the question itself. */
export type Demands = Pick<CardDraft, "level" | "levels" | "approvals" | "not_by" | "started_by" | "brief" | "state" | "records">;

/** Who may decide, as trust.yaml and the ladder say it now. */
export interface Authority {
  /** Why this decision does not count: not signed by that person for this question, barred, or without the level. Null: it counts. Never throws. */
  objection(card: CardDraft, decision: Decision): ClearedError | null;
  /** The demanded levels that none of these people meets. */
  unmet(card: CardDraft, people: readonly string[]): string[];
  /** What a tool server calls a person; their name where trust.yaml gives no id. */
  idAt(server: string, name: string): string;
}

/** Answers a gate without asking anybody, or null. `key`: the gate's, the same on a repeat; `note` says on the run why it did not. */
export type Standing = (run: RunRecord, card: CardDraft, key: string, note: (message: string) => void) => Promise<Decision | null>;

/** In a dry run every gate is passed, or the calls it covers would be refused. */
export function dryRunApproval(now: number): Decision {
  return { card: 0, decision: "approved", by: "dry run", at: now };
}

type Decided = Extract<Change, { op: "decided" }>;

/** What a decision changes in the run: the calls it covers may be made, each once. */
export function decidedChange(card: Pick<Gate["card"], "kind" | "calls" | "otherwise">, { decision, given }: Passed): Decided[] {
  // Whether a call happened, and what a form was told, is no permission to make a call.
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
      // After a no to an escalation nothing is left to call, and its gate need not ask again.
      ...(no && (card.otherwise !== undefined || card.kind === "escalation") ? { instead: true as const } : {}),
      ...(people === undefined ? {} : { people }),
      ...(self === undefined ? {} : { self }),
      ...(given !== undefined ? { given } : decision.reason === undefined ? {} : { reason: decision.reason }),
    },
  ];
}

/** What came of a gate. `given` is kept with the step; a gate of a trial is not asked, and has none. */
export interface Passed {
  decision: Decision;
  given?: Answers;
}

export interface Asking {
  log: RunLog;
  seq: number;
  now: number;
  /** Counts the answers; asked at each execution, so that who may decide is what trust.yaml says by then. */
  authority(run: RunRecord): Promise<Authority>;
  /** Null where only a person may answer. */
  standing: Standing | null;
}

/**
 * The decision of the gate at this step, or a card and a suspension. The gate's name holds what it asks: when the script behind a
 * waiting run is replaced, a decision on the old question does not answer the new one. The answers are read from the store and not
 * believed: each is checked again.
 * @throws Suspend, End
 */
export async function passGate({ log, seq, now, ...asking }: Asking, gate: Gate, demands: Partial<Demands>): Promise<Passed> {
  const { expires: _, ...question } = gate.card;
  const asked = hashOf(question);
  const name = `gate_${seq}_${asked}`;
  const card = { ...gate.card, ...demands, run: log.run.id, gate: name };
  const told = log.signals(name).map((signal) => signal.payload as unknown as Decision);
  const counted = await count({ log, ...asking }, card, told);
  if (counted !== null) {
    tell(log, card, counted.decision);
    log.release([{ kind: "decided", gate: name, decision: counted.decision }]);
    return { decision: counted.decision, given: { gate: name, question: question as unknown as Json, signed: counted.signed } };
  }
  if (card.expires !== null && now >= card.expires) throw new End("expired", `Nobody answered "${card.title}" in time.`, { gate: name });
  log.release([{ kind: "card", key: `${log.run.id}/${seq}/${asked}`, card, seen: told.length }]);
  throw new Suspend(gate.reason, card.title, { gate: name, seen: told.length, ...(card.expires === null ? {} : { until: card.expires }) });
}

/**
 * What a recorded step says was decided at its gate, counted anew: by the signatures kept with it, for the question it asked, as trust.yaml
 * says now; where a profile answered, by asking it again. Null: it counts for nothing, because a row of the store proves nothing.
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

/** The decision of people, else of a profile, and whose signatures it stands on; null while there is none. */
async function count(
  { log, authority, standing }: Pick<Asking, "log" | "authority" | "standing">,
  card: CardDraft,
  told: readonly Decision[],
): Promise<{ decision: Decision; signed: Decision[] } | null> {
  const rules = await authority(log.run);
  const { decision } = tally(card, told, rules);
  if (decision !== null)
    return { decision: spoken(card, decision, rules), signed: told.filter((one) => rules.objection(card, one) === null) };
  const note = (message: string) => log.event("log", { level: "warn", message });
  const profile = await standing?.(log.run, card, `${log.run.id}/${card.gate}`, note);
  return profile == null ? null : { decision: spoken(card, profile, rules), signed: [] };
}

/** The decision with the calls it covers. Who decided and why stand in them where the card left that open, whatever was edited there. */
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

/** A value with these words wherever the one that was asked for leaves it open. */
function filledIn(value: Json, asked: Json | undefined, words: Words): Json {
  if (typeof asked === "string" && Object.hasOwn(words, asked)) return words[asked] ?? "";
  if (typeof value !== "object" || value === null || typeof asked !== "object" || asked === null) return value;
  const inner = Object.entries(value).map(([key, one]) => [key, filledIn(one, (asked as Record<string, Json>)[key], words)] as const);
  return Array.isArray(value) ? inner.map(([, one]) => one) : Object.fromEntries(inner);
}

/** Nobody was asked for a call that leaves open who decides, and nothing has filled it in. @throws PARAMS_INVALID */
export function assertFilledIn({ tool, params }: Call): void {
  if (![...scalarsOf([{ tool, params }]).values()].some((one) => one === "@approver" || one === "@reason")) return;
  const next = "Ask with approval_wait, and make the calls it returns, which have them filled in";
  throw new ClearedError("PARAMS_INVALID", `${tool} still says "@approver" or "@reason". ${next}.`);
}

/** What the run's events keep beside the answer: a change, a no, and what nobody was asked about. */
function tell(log: RunLog, card: CardDraft, decision: Decision): void {
  const { by, reason } = decision;
  const why = reason === undefined ? "" : `: ${reason}`;
  const changed = decision.decision === "edited" ? changesIn(card.calls, decision.calls ?? card.calls) : [];
  const message =
    decision.decision === "edited"
      ? `${by} changed ${changed.map((one) => `${one.path} ${JSON.stringify(one.from)} -> ${JSON.stringify(one.to)}`).join(", ")}${why}`
      : decision.decision === "rejected"
        ? `${by} said no to "${card.title}"${why}`
        : by.startsWith("profile:")
          ? `${by} of trust.yaml said yes to "${card.title}"`
          : null;
  if (message !== null) log.event("log", { level: "info", message, by, ...(changed.length === 0 ? {} : { changed }) });
}

export interface Tally {
  /** Null while the gate is open. */
  decision: Decision | null;
  /** What a yes is asked for now: the card's calls, or as somebody has edited them. */
  calls: Call[];
  /** Whose yes to these calls counts. */
  people: string[];
}

/**
 * The rule of every gate: one no closes it; so does the yes of so many different people to the same calls, once the levels it demands
 * are met by them together. Who edits the calls has said yes to their own version only, so an edit starts the count again.
 */
export function tally(card: CardDraft, decisions: readonly Decision[], authority: Authority): Tally {
  let calls = card.calls;
  let edited: Decision | null = null;
  let people: Decision[] = [];
  const names = () => people.map((one) => one.by);
  for (const decision of decisions) {
    if (authority.objection(card, decision) !== null) continue;
    if (decision.decision === "rejected") return { decision, calls, people: names() };
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

/** After so many attempts without an answer a person looks, even where one more would be harmless. */
const LOST_ATTEMPTS = 3;

/** What settling needs to know of time and of who else may be at work. */
export interface Settling {
  clock: Clock;
  /** Process id of an earlier owner that may still be in the middle of what was begun before this time, or null. */
  predecessor?(at: number): number | null;
}

/**
 * What to do with a call that was started and has no outcome: answer what it did, or null to make it (again). Where the world outside
 * cannot be asked nothing is known, and a person looks. That it has not happened is believed once whoever began it cannot be in the middle
 * of it any more: not before the lease's time is over, and not while an earlier owner lives that may have begun it.
 * @param settling null: this process began it, and it has ended
 * @throws Suspend while a person has to look, or somebody may still act
 */
export async function settleDoubt(
  primitive: Primitive,
  step: Step,
  ctx: StepContext,
  settling: Settling | null,
): Promise<{ value: Json } | null> {
  if (primitive.idempotent === "key") return null;
  const params = parseParams(primitive, JSON.parse(step.params) as Json);
  const seen = await (async () => primitive.readBack?.(params, ctx))().catch(() => null);
  if (seen?.happened === true) return { value: seen.result as Json };
  const other = settling?.predecessor?.(step.at) ?? null;
  const now = settling?.clock.now() ?? Number.POSITIVE_INFINITY;
  if (seen?.happened === false && step.attempts < LOST_ATTEMPTS) {
    const grace = step.at + LEASE_MS;
    if (seen.harmless !== true && now < grace)
      throw new Suspend("timer", `the time in which ${primitive.name} may still happen`, { until: grace });
    if (seen.harmless === true || other === null) return null;
  }
  const question: Gate = {
    reason: "in_doubt",
    card: {
      kind: "in_doubt",
      title: `Did ${primitive.name} happen?`,
      body: {
        question: `${step.error === null ? "The computer stopped while this call was under way." : "Nobody knows whether this call happened."} Look outside: approve if it happened, reject if it did not (then it is made now). A suspended Cleared process on this machine may have begun it: resume or end that process before you reject.`,
        ...(step.error === null ? {} : { said: step.error.message }),
        key: ctx.key,
        attempt: step.attempts,
      },
      calls: [{ tool: primitive.name, params: JSON.parse(step.params) as Json }],
      level: null,
      expires: null,
    },
  };
  try {
    const decision = await ctx.gate(question);
    if (decision.decision === "rejected") return null;
    return { value: decision.result ?? ((await primitive.dryRun?.(params, ctx)) as Json) };
  } catch (error) {
    // It may settle itself when that process goes on or ends: looked after at growing intervals.
    if (error instanceof Suspend && other !== null) error.options.until = now + Math.max(LEASE_MS, now - step.at) / 2;
    throw error;
  }
}
