/** How a run is shown, on the status page and on its own: its status in words, its steps, its error. */
import { correctForm, legsView } from "./card-view.ts";
import type { RunMetadata } from "../rules/answers/mutations.ts";
import { startedBy } from "../engine/process.ts";
import { formatAt, kindOf, type WireError } from "../kernel/errors.ts";
import type { Card, Entry, Json, RunEvent, RunRecord } from "../kernel/ports.ts";
import type { StepFact } from "../app/look.ts";
import { duration, facts, frame, type Html, html, nothing, plain, type Times } from "./html.ts";
import { actsUnread, causeDetail, summaryOf, toldBy } from "./story.ts";

/** Failed first, then waiting, running and finished ones; newest first within each. */
const ORDER = { failed: 0, diverged: 0, waiting: 1, running: 2, queued: 3, done: 4, canceled: 4 } as const;

export function byUrgency(runs: readonly RunRecord[]): RunRecord[] {
  return [...runs].sort((a, b) => ORDER[a.status] - ORDER[b.status] || b.createdAt - a.createdAt);
}

const WAITING: Record<NonNullable<RunRecord["reason"]>, string> = {
  approval: "waits for approval",
  input: "waits for an answer",
  escalation: "waits for a decision",
  timer: "waits for its time",
  child: "waits for another run",
  in_doubt: "waits: did it happen?",
  slow_call: "waits for a slow call",
  remote: "waits for an agent elsewhere",
  remote_gate: "waits for people elsewhere",
  user_edit: "waits for your edit",
  paused: "paused",
};

/** A word and a tone: bad, attention, busy, good or quiet. The word is sufficient; the color repeats it. */
export function statusOf(run: Pick<RunRecord, "status" | "outcome"> & { reason?: RunRecord["reason"] }): { word: string; tone: string } {
  if (run.status === "failed" || run.status === "diverged") return { word: run.status, tone: "bad" };
  if (run.status === "waiting") return { word: run.reason ? WAITING[run.reason] : "waiting", tone: "attention" };
  if (run.status === "running" || run.status === "queued") return { word: run.status, tone: "busy" };
  if (run.status === "canceled") return { word: "canceled", tone: "quiet" };
  const outcome = run.outcome ?? "completed";
  return outcome === "completed" ? { word: "done", tone: "good" } : { word: outcome, tone: "quiet" };
}

export function badge(status: { word: string; tone: string }): Html {
  return html`<span class="badge ${status.tone}">${status.word}</span>`;
}

export function errorView(error: WireError): Html {
  const words =
    kindOf(error.code) === "internal" && error.code === "INTERNAL"
      ? "A bug in Cleared. `cleared doctor` and the log have details."
      : error.message;
  return html`<div class="error"><p><code>${error.at ? `${plain(formatAt(error.at))} ` : nothing}${plain(error.code)}</code></p><p class="words">${plain(words)}</p></div>`;
}

/** A run's name in lists: its agent, and what it is about. */
export function runName(run: RunRecord): Html {
  const summary = summaryOf(run);
  return html`<span class="name">${plain(run.agent, 100)}</span>${summary === "" ? nothing : html` <bdi class="summary">${plain(summary, 160)}</bdi>`}`;
}

/** How long a run took, or has been executing. */
export function took(run: RunRecord, now: number): string {
  return run.startedAt === null ? "" : duration((run.endedAt ?? now) - run.startedAt);
}

/** cards: those of the run; they show who decided and at which level. */
export function stepList(steps: readonly StepFact[], cards: readonly Card[], times: Times): Html {
  if (steps.length === 0) return html`<p class="faint">No step is recorded yet.</p>`;
  return html`<ol class="steps">${steps.map((step) => {
    const { states, notes } = toldBy(step, cards, times.text);
    return html`<li value="${step.seq}"><div class="step"><span class="seq" aria-hidden="true">${step.seq}</span><code class="call"><b>${step.name}</b> ${plain(step.params, 700)}</code></div>
${step.error ? errorView(step.error) : step.result === null ? html`<p class="answer attention">started, no outcome yet</p>` : html`<p class="answer"><code>${plain(step.result, 700)}</code></p>`}
${notes.map(({ tone, text }) => html`<p class="told ${tone}"><bdi>${plain(text, 500)}</bdi></p>`)}
${states.map((state) => html`<p class="state">${badge({ word: state, tone: "quiet" })}</p>`)}
<p class="when">${step.effect} · ${times.at(step.at)}</p></li>`;
  })}</ol>`;
}

/** Ids of entries booked by the steps, up to a limit. */
export function bookedBy(steps: readonly StepFact[]): string[] {
  const adding = steps.filter(({ name }) => name.startsWith("journal_add"));
  return adding.flatMap(({ result }) => [...(result ?? "").matchAll(BOOKED)].map(([, id = ""]) => id)).slice(0, MOST_BOOKED);
}

/** The entries booked by the steps, as they are now; a confirmed one with a button for correcting it. */
function bookedList(booked: ReadonlyMap<string, Entry>, token: string): Html {
  if (booked.size === 0) return nothing;
  return html`<section aria-labelledby="booked"><h2 id="booked">Booked</h2><ol class="cards">${[...booked.values()].map(
    (entry) =>
      html`<li class="card"><h3><bdi>${plain(entry.description, 200)}</bdi></h3><p class="faint">${entry.date} · ${entry.status.replaceAll("-", " ")} · <code>${entry.id}</code></p>${legsView(entry)}${entry.status === "pending-review" ? nothing : correctForm(entry.id, token, entry.status === "user-corrected")}</li>`,
  )}</ol></section>`;
}

const BOOKED = /"entry_id":"(\d{6}-[0-9a-z]{10})","known":false/g;
// A person corrects an entry they have just seen; any other by its id with `cleared correct`.
const MOST_BOOKED = 50;

export interface RunPage {
  run: RunRecord;
  token: string;
  /** The entries booked by these steps, as they are in the books now. */
  booked: ReadonlyMap<string, Entry>;
  steps: StepFact[];
  cards: readonly Card[];
  events: RunEvent[];
  /** First step of the next page, or null. */
  next: number | null;
  times: Times;
  now: number;
}

/** `/runs/ID`: everything recorded about one run, oldest first. */
export function runPage({ run, token, booked, steps, cards, events, next, times, now }: RunPage): Html {
  const first = steps[0]?.seq ?? 0;
  const summary = summaryOf(run);
  return frame(
    plain(run.agent),
    html`${badge(statusOf(run))} <code>${plain(run.id)}</code>${summary === "" ? nothing : html` <bdi>${plain(summary, 500)}</bdi>`}`,
    html`<section aria-labelledby="about"><h2 id="about">This run</h2>
${run.error ? errorView(run.error) : nothing}
${run.waitsFor ? html`<p class="attention-text">Waits for: ${plain(run.waitsFor)}</p>` : nothing}
<dl class="facts">
<div><dt>Started by</dt><dd><bdi>${cause(run)}</bdi></dd></div>
<div><dt>Code</dt><dd><code>agents/${plain(run.agent)}.ts</code> at <code>${plain(run.pin.commit.slice(0, 9))}</code></dd></div>
<div><dt>Created</dt><dd>${times.at(run.createdAt)}</dd></div>
${run.endedAt === null ? nothing : html`<div><dt>Ended</dt><dd>${times.at(run.endedAt)}, after ${took(run, now)}</dd></div>`}
<div><dt>Attempts</dt><dd>${run.attempt}</dd></div>
</dl>
${run.meta === null ? nothing : metaView(run.meta, steps, times)}</section>
<section aria-labelledby="steps"><h2 id="steps">Steps</h2>${stepList(steps, cards, times)}
${first > 0 || next !== null ? html`<p class="pages">${first > 0 ? html`<a href="/runs/${encodeURIComponent(run.id)}">First steps</a>` : nothing} ${next === null ? nothing : html`<a href="/runs/${encodeURIComponent(run.id)}?from=${next}">Steps from ${next} on</a>`}</p>` : nothing}
</section>
${bookedList(booked, token)}
<section aria-labelledby="events"><h2 id="events">Events</h2>
<details class="brief"><summary>${events.length} as they were recorded</summary><div class="inside"><ol class="events">${events.map((event) => html`<li value="${event.seq}"><span class="kind">${event.type}</span> <div>${facts(event.body)}</div> <span class="when">${times.at(event.at)}</span></li>`)}</ol></div></details></section>`,
    run.id,
  );
}

/** What accompanies a result: who approved, what was written, through which states. */
function metaView(meta: Json, steps: readonly StepFact[], times: Times): Html {
  const {
    process,
    policy,
    rejected,
    writes,
    approvals = [],
    states = [],
  } = meta as unknown as Partial<RunMetadata> & { states?: string[] };
  const unread = actsUnread(steps);
  const written = [
    ...((writes?.n ?? 0) === 0 ? [] : [`${writes?.n} ${writes?.n === 1 ? "write" : "writes"}, ${writes?.verified} verified`]),
    ...(unread === 0 ? [] : [`${unread} ${unread === 1 ? "act" : "acts"} outside that ${unread === 1 ? "is" : "are"} not read back`]),
  ];
  const fact = (name: string, value: Html | string) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`;
  const people = approvals.map(
    ({ by, at, level, self }) =>
      html`<div><bdi>${plain(by, 100)}</bdi>${level ? ` as ${plain(level, 60)}` : ""}, ${times.at(at)}${self === true ? " (their own request)" : ""}</div>`,
  );
  return html`<dl class="facts">${process === undefined || policy === undefined ? nothing : fact("Policy", html`${policy.toLowerCase()} <span class="faint">${plain(process, 100)}</span>`)}
${rejected === undefined ? nothing : fact("Rejected", plain(rejected, 500))}${people.length === 0 ? nothing : fact("Approved by", html`${people}`)}
${written.length === 0 ? nothing : fact("Outside", written.join("; "))}${states.length === 0 ? nothing : fact("States", states.join(" → "))}</dl>`;
}

export function cause(run: RunRecord): string {
  const detail = causeDetail(run.cause);
  return `${plain(startedBy(run), 500)}${detail === "" ? "" : `: ${plain(detail, 200)}`}`;
}
