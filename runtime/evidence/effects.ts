/**
 * What a run left behind, told by meaning: read from its steps, what they changed and how it ended. The same function for what was
 * recorded and for what a trial did, so that the two can be compared.
 */
import type { Callable } from "../engine/script.ts";
import type { Call, Change, Entry, Json, RunRecord, Step } from "../ports.ts";
import { parseJournal } from "../workspace/journal-text.ts";
import { callsKey } from "./recorded.ts";
import type { Effects, EntryEffect } from "./types.ts";

/** Reads the effects. `knows` tells how approvals name a call. */
export async function effectsOf(run: RunRecord, steps: readonly Step[], knows: Pick<Callable, "primitive">): Promise<Effects> {
  const effects: Effects = {
    ...{ status: run.status, outcome: run.outcome, error: run.error, result: run.result },
    ...{ entries: [], changed: {}, calls: [], notices: [], gates: [], reviews: [], events: [], files: {} },
  };
  const entries = new Map<string, EntryEffect>();
  const approved: string[] = [];
  // What a run that failed had written since its last commit is nowhere, and neither are its cards and events.
  const lands = run.status === "failed" ? (steps.findLast(isCommit)?.seq ?? -1) : Number.POSITIVE_INFINITY;
  for (const step of steps) {
    if (step.state === "intent") continue;
    const acts = (step.effect === "external" || step.effect === "notify") && (step.state === "ok" || step.attempts > 0);
    const call = acts || step.changes.some((change) => change.op === "decided") ? await callOf(step, knows) : null;
    for (const change of step.changes) {
      if (step.seq > lands && step.effect !== "external" && LANDING.has(change.op)) continue;
      if (change.op === "entries") for (const entry of parseJournal(change.text, run.id).entries) added(entry);
      else if (change.op === "status") changed(change.id, (entry) => ({ ...entry, status: change.status }), change.status);
      else if (change.op === "remove") changed(change.id, () => null, "voided");
      else if (change.op === "file") effects.files[change.path] = change.text;
      else if (change.op === "review") effects.reviews.push({ about: change.entry ?? change.title, title: change.title });
      else if (change.op === "emit") effects.events.push({ event: change.event, payload: change.payload });
      else if (change.op === "propose")
        effects.events.push({ event: "proposal", payload: { title: change.title, reason: change.reason, files: change.files } });
      else if (change.op === "answered") effects.gates.push({ title: asked(step).title ?? step.name, calls: [], form: true });
      else if (change.op === "decided") {
        effects.gates.push({
          title: asked(step).title ?? `Allow ${call?.tool}?`,
          calls: asked(step).calls ?? (acts && call !== null ? [call] : []),
        });
        if (change.decision !== "rejected") approved.push(...change.calls.map((one) => callsKey([one])));
      }
    }
    if (acts && call !== null) act(step, call);
  }
  effects.entries = [...entries.values()];
  return effects;

  function added(entry: Entry): void {
    entries.set(entry.id, entryEffect(entry));
    const { voids } = entry.tags;
    if (entry.status === "voided" && voids !== undefined && !entries.has(voids)) effects.changed[voids] = "voided";
  }

  function changed(id: string, to: (entry: EntryEffect) => EntryEffect | null, otherwise: Entry["status"]): void {
    const own = entries.get(id);
    const next = own === undefined ? null : to(own);
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

const LANDING: ReadonlySet<Change["op"]> = new Set(["entries", "status", "remove", "file", "review", "emit", "propose"]);
const isCommit = ({ changes }: Step): boolean => changes.some((change) => change.op === "committed");

/** An entry as effects tell it. */
export function entryEffect({ id, date, status, description, tags, postings }: Entry): EntryEffect {
  const legs = postings.map(({ account, amount, currency }) => ({ account, amount, currency }));
  return { id, date, status, description, evidence: tags["ev"] ?? "", legs };
}

/** What a control call asks a person, if it does. */
function asked(step: Step): { title?: string; calls?: Call[] } {
  if (step.effect !== "control") return {};
  const { title, calls, reason } = JSON.parse(step.params) as { title?: string; calls?: Call[]; reason?: string };
  const named = title ?? reason;
  return { ...(named === undefined ? {} : { title: named }), calls: calls ?? [] };
}

/** The call as approvals name it, defaults and all. */
async function callOf(step: Step, knows: Pick<Callable, "primitive">): Promise<Call> {
  const raw = JSON.parse(step.params) as Json;
  if (step.effect !== "external" && step.effect !== "notify") return { tool: step.name, params: raw };
  const primitive = await knows.primitive(step.name);
  const params = primitive.params.safeParse(raw);
  return params.success
    ? (primitive.call?.(params.data) ?? { tool: step.name, params: params.data as Json })
    : { tool: step.name, params: raw };
}
