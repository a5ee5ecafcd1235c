/**
 * The effects of a run by meaning, read from its steps, their changes and its end. The same function reads recorded runs and trials, so that
 * the two can be compared.
 */
import { shortJson } from "../../kernel/text.ts";
import type { Callable } from "../../engine/script.ts";
import type { Call, Change, Entry, Json, RunRecord, Step, Verdict } from "../../kernel/ports.ts";
import { parseJournal } from "../../workspace/books/journal-text.ts";
import type { Primitive } from "../../kernel/primitive.ts";
import { callsKey } from "./recorded.ts";
import type { Effects, EntryEffect } from "./types.ts";
import { type Exact, ZERO, fromExact, plus, toExact } from "../../workspace/books/amounts.ts";

/** Reads the effects. `knows` gives the names that approvals use for calls. */
export async function effectsOf(run: RunRecord, steps: readonly Step[], knows: Pick<Callable, "primitive">): Promise<Effects> {
  return (await effectsLater(run, steps, knows))();
}

/** Reads them on first use: a large import that behaves as recorded never needs them. */
export async function effectsLater(run: RunRecord, steps: readonly Step[], knows: Pick<Callable, "primitive">): Promise<() => Effects> {
  const acting = steps.filter(({ effect, state }) => (effect === "external" || effect === "notify") && state !== "intent");
  const names = [...new Set(acting.map(({ name }) => name))];
  const primitives = new Map(await Promise.all(names.map(async (name) => [name, await knows.primitive(name)] as const)));
  let effects: Effects | null = null;
  return () => (effects ??= readEffects(run, steps, primitives));
}

/** An entry, or its printed text: most entries of a large import are unchanged, which the texts show. */
type Booked = EntryEffect | string;
const booked = new WeakMap<Effects, ReadonlyMap<string, Booked>>();

/** The entries by id, read with `wholeEntry`. */
export const bookedIn = (effects: Effects): ReadonlyMap<string, Booked> =>
  booked.get(effects) ?? new Map(effects.entries.map((entry) => [entry.id, entry]));

export const wholeEntry = (one: Booked): EntryEffect =>
  typeof one === "string" ? entryEffect(parseJournal(`${one}\n`, "").entries[0] as Entry) : one;

function readEffects(run: RunRecord, steps: readonly Step[], primitives: ReadonlyMap<string, Primitive>): Effects {
  const effects: Effects = {
    ...{ status: run.status, outcome: run.outcome, error: run.error, result: run.result },
    ...{ changed: {}, calls: [], notices: [], gates: [], state: null, verdicts: [], reviews: [], events: [], files: {} },
    get entries() {
      return (read ??= [...entries.values()].map(wholeEntry));
    },
  };
  const entries = new Map<string, Booked>();
  let read: EntryEffect[] | null = null;
  const approved: string[] = [];
  const asked = new Set<string>();
  // Changes of a failed run after its last commit were dropped, and so were its cards and events.
  const lands = run.status === "failed" ? (steps.findLast(isCommit)?.seq ?? -1) : Number.POSITIVE_INFINITY;
  for (const step of steps) {
    if (step.state === "intent") continue;
    const acts = (step.effect === "external" || step.effect === "notify") && (step.state === "ok" || step.attempts > 0);
    const call = acts || step.changes.some((change) => change.op === "decided") ? callOf(step, primitives) : null;
    for (const change of step.changes) {
      if (step.seq > lands && step.effect !== "external" && LANDING.has(change.op)) continue;
      if (change.op === "entries") for (const text of change.text.trimEnd().split("\n\n")) added(text);
      else if (change.op === "status") changed(change.id, (entry) => ({ ...entry, status: change.status }), change.status);
      else if (change.op === "remove") changed(change.id, () => null, "voided");
      else if (change.op === "file") effects.files[change.path] = change.text;
      else if (change.op === "review") {
        // An entry has one card, however often a review is requested.
        if (change.entry === null || !asked.has(change.entry))
          effects.reviews.push({ about: change.entry ?? change.title, title: change.title, asks: change.rows?.kind ?? null });
        if (change.entry !== null) asked.add(change.entry);
      } else if (change.op === "emit") effects.events.push({ event: change.event, payload: change.payload });
      else if (change.op === "propose")
        effects.events.push({ event: "proposal", payload: { title: change.title, reason: change.reason, files: change.files } });
      else if (change.op === "entered") effects.state = change.state;
      else if (change.op === "verdict") effects.verdicts.push(told(step, change.verdict));
      else if (change.op === "answered") {
        const { title = step.name, terms } = question(step);
        effects.gates.push({ title, calls: [], terms, form: true });
      } else if (change.op === "decided") {
        const { title = `Allow ${call?.tool}?`, calls = acts && call !== null ? [call] : [], terms } = question(step);
        effects.gates.push({ title, calls, terms });
        if (change.decision !== "rejected") approved.push(...change.calls.map((one) => callsKey([one])));
      }
    }
    if (acts && call !== null) act(step, call);
  }
  booked.set(effects, entries);
  return effects;

  /** `text`: as printEntry writes it, with the id after day and mark. */
  function added(text: string): void {
    entries.set(text.slice(14, 31), text);
    const [, voids] = VOIDS.exec(text) ?? [];
    if (voids !== undefined && !entries.has(voids)) effects.changed[voids] = "voided";
  }

  function changed(id: string, to: (entry: EntryEffect) => EntryEffect | null, otherwise: Entry["status"]): void {
    const own = entries.get(id);
    const next = own === undefined ? null : to(wholeEntry(own));
    if (own === undefined) effects.changed[id] = otherwise;
    else if (next === null) entries.delete(id);
    else entries.set(id, next);
  }

  function act(step: Step, call: Call): void {
    const { to, subject, text, channel } = call.params as Record<string, Json>;
    if (step.effect === "notify" && typeof to === "string") {
      const told = { to, subject: String(subject ?? ""), text: String(text ?? "") };
      effects.notices.push(typeof channel === "string" ? { ...told, channel } : told);
      return;
    }
    const yes = approved.indexOf(callsKey([call]));
    if (yes >= 0) approved.splice(yes, 1);
    effects.calls.push({ ...call, approved: yes >= 0 });
  }
}

const VOIDS = /\n {4}; status: voided\n(?: {4}; .*\n)*? {4}; voids: (\S+)/;
const LANDING: ReadonlySet<Change["op"]> = new Set(["entries", "status", "remove", "file", "review", "emit", "propose"]);
const isCommit = (step: Step): boolean => changesIn([step], "committed").length > 0;

/** All changes of one kind in these steps, in order. */
export const changesIn = <Op extends Change["op"]>(steps: readonly Pick<Step, "changes">[], op: Op): Extract<Change, { op: Op }>[] =>
  steps.flatMap(({ changes }) => changes.filter((one): one is Extract<Change, { op: Op }> => one.op === op));

/** An entry in the form that effects use. */
function entryEffect({ id, date, status, description, counterparty, tags, postings }: Entry): EntryEffect {
  const legs = postings.map(({ account, amount, currency }) => ({ account, amount, currency }));
  const telling: EntryEffect["tags"] = {};
  for (const name of Object.keys(tags)) if (!SILENT.has(name)) telling[name] = tags[name] ?? "";
  return { id, date, status, description, evidence: tags["ev"] ?? "", counterparty: counterparty ?? "", tags: telling, legs };
}

/** Tags that follow from the run, the row or a person's decision, or have a line of their own. */
const SILENT: ReadonlySet<string> = new Set(["ev", "key", "run", "by", "status", "voids"]);

function told(step: Step, { verdict }: Verdict): Effects["verdicts"][number] {
  const { policy = "", facts = {} } = JSON.parse(step.params) as { policy?: string; facts?: Record<string, Json> };
  return { policy, facts, verdict };
}

/** `Expenses:Software 84.00 USD`, one line per leg. */
export const legLines = (legs: readonly { account: string; amount: string; currency: string }[]): string[] =>
  legs.map(({ account, amount, currency }) => `${account} ${amount} ${currency}`);

/** What a control call asks a person, if anything. */
function question(step: Step): { title?: string; calls?: Call[]; terms: Record<string, Json> } {
  if (step.effect !== "control") return { terms: {} };
  type Asked = Record<string, Json> & { title?: string; calls?: Call[]; reason?: string };
  const { reason, title = reason, calls = [], ...terms } = JSON.parse(step.params) as Asked;
  return { ...(title === undefined ? {} : { title }), calls, terms };
}

/** The call as approvals name it, with defaults filled in. */
function callOf(step: Step, primitives: ReadonlyMap<string, Primitive>): Call {
  const raw = JSON.parse(step.params) as Json;
  const primitive = primitives.get(step.name);
  if (primitive === undefined) return { tool: step.name, params: raw };
  const params = primitive.params.safeParse(raw);
  return params.success
    ? (primitive.call?.(params.data) ?? { tool: step.name, params: params.data as Json })
    : { tool: step.name, params: raw };
}

const MOST = 5;

/** "books 12 entries, 340.00 USD to Expenses:Software", "asks: Pay 84.00 to X?", "calls erp/pay_invoice {...} after a yes". */
export function effectLines(effects: Effects): string[] {
  const { entries, changed, calls, notices, gates, reviews, events, files, error, result, outcome } = effects;
  return [
    ...bookLines(entries),
    ...some(Object.entries(changed), ([id, status]) => `entry ${id} becomes ${status}`),
    ...some(reviews, ({ title }) => `asks for a review: ${title}`),
    ...some(gates, ({ title }) => `asks: ${title}`),
    ...some(calls, ({ tool, params, approved }) => `calls ${tool} ${shortJson(params, 160)}${approved ? " after approval" : ""}`),
    ...some(notices, ({ to, subject }) => `tells ${to}: ${subject}`),
    ...some(events, ({ event }) => `emits ${event}`),
    ...some(Object.entries(files), ([path, text]) => `${text === null ? "removes" : "writes"} ${path}`),
    ...(error === null ? [] : [`ends with ${error.code}: ${error.message.slice(0, 300)}`]),
    ...(outcome === null ? [] : [`${outcome === "completed" ? "answers" : `is ${outcome}:`} ${shortJson(result, 160)}`]),
  ];
}

/** Where the money goes: debits by account, largest first. */
function bookLines(entries: readonly EntryEffect[]): string[] {
  if (entries.length === 0) return [];
  const sums = new Map<string, { sum: Exact; currency: string; account: string }>();
  for (const { account, amount, currency } of entries.flatMap(({ legs }) => legs)) {
    if (amount.startsWith("-")) continue;
    const key = `${currency} ${account}`;
    sums.set(key, { account, currency, sum: plus(sums.get(key)?.sum ?? ZERO, toExact(amount)) });
  }
  const largest = [...sums.values()]
    .map((one) => ({ ...one, text: fromExact(one.sum, 2) }))
    .sort((a, b) => Number(b.text) - Number(a.text));
  const to = largest.slice(0, MOST).map(({ account, currency, text }) => `${text} ${currency} to ${account}`);
  const more = largest.length > MOST ? [`${largest.length - MOST} more accounts`] : [];
  const open = entries.filter(({ status }) => status === "pending-review").length;
  const waits = open === 0 ? "" : `; ${open === entries.length ? "all wait" : `${open} of them wait${open === 1 ? "s" : ""}`} for a review`;
  return [`books ${entries.length} ${entries.length === 1 ? "entry" : "entries"}, ${[...to, ...more].join(", ")}${waits}`];
}

function some<T>(all: readonly T[], line: (one: T) => string): string[] {
  return [...all.slice(0, MOST).map(line), ...(all.length > MOST ? [`and ${all.length - MOST} more like it`] : [])];
}
