/**
 * The history of one claimed run: the recorded steps, those still buffered in memory, and the flush that makes them durable.
 * Invariants: steps are numbered 0.. and events 1.., without gaps; an answer is in `steps` before the script gets it. Reads, writes and
 * control are buffered; an intent is durable before its call acts.
 */
import type { Json, Outcome, Released, RunEvent, RunLog, RunRecord, Sealer, Signal, Step, WaitReason } from "../../kernel/ports.ts";
import { CRASH, DECIDING, crashCards, isOvertaken, metaText, openCard } from "./cards.ts";
import { type Database, pack } from "./database.ts";
import { keepEmitted } from "./emitted.ts";
import { type RunRow, type StepRow, readSteps } from "./rows.ts";
import type { Seal } from "./seals.ts";

/** Takes the next `count` event numbers of a run and returns the first. Inside the caller's transaction. */
function takeEvents(database: Database, rid: number, count = 1): number {
  const sql = "UPDATE runs SET events = events + ? WHERE rid = ? RETURNING events - ? + 1 AS first";
  return database.get<{ first: number }>(sql, count, rid, count)?.first ?? 0;
}

export function addEvent(
  database: Database,
  rid: number,
  type: RunEvent["type"],
  at: number,
  body: Json,
  event = takeEvents(database, rid),
): void {
  database.run("INSERT INTO events VALUES (?, ?, ?, ?, ?)", rid, event, type, at, JSON.stringify(body));
}

/** Queues the run for another execution; `from` says why. Inside the caller's transaction. */
export function queueRun(database: Database, rid: number, at: number, from: string): void {
  database.run(
    "UPDATE runs SET status = 'queued', reason = NULL, waits_for = NULL, wake_at = NULL, error = NULL, ended_at = NULL WHERE rid = ?",
    rid,
  );
  addEvent(database, rid, "status", at, { status: "queued", from });
}

export function readSignals(database: Database, rid: number, gate: string): Signal[] {
  return database
    .all<{ key: string; payload: string; at: number }>(
      "SELECT key, payload, at FROM signals WHERE rid = ? AND gate = ? ORDER BY n",
      rid,
      gate,
    )
    .map((row) => ({ gate, key: row.key, payload: JSON.parse(row.payload) as Json, at: row.at }));
}

const GATE = "json_extract(document, '$.gate')";

/** Opens cards, closes those whose decision the run has used, and puts events into the outbox; an existing key changes nothing. */
function release(database: Database, run: string, at: number, items: Released[], seal: Sealer | null): void {
  const withdrawn = new Set(items.flatMap((item) => (item.kind === "withdrawn" ? [item.key] : [])));
  for (const item of items) {
    if (item.kind === "withdrawn" || withdrawn.has("key" in item ? item.key : "")) continue;
    if (item.kind === "card") {
      if (isOvertaken(database, run, item.card.gate, item.seen ?? 0)) continue;
      // A run asks one question at a time. A question that other code dropped is opened again when it is asked again.
      if (item.card.gate !== null) closeGates(database, run, at, "the run asks something else now", item.key);
      openCard(database, item.key, item.card, at);
    } else if (item.kind === "decided") {
      database.run(
        `UPDATE cards SET decision = ? WHERE run = ? AND decision IS NULL AND ${GATE} = ?`,
        ...[JSON.stringify(item.decision), run, item.gate],
      );
    } else keepEmitted(database, run, at, item, seal);
  }
}

/** Closes the run's gates and the card of its crash, which need no answer any more, except one whose answer is being carried out. */
export function closeGates(database: Database, run: string, at: number, reason: string, except = ""): void {
  const decision = { decision: "expired", by: "runtime", at, reason };
  database.run(
    `UPDATE cards SET decision = json_set(?, '$.card', id) WHERE run = ? AND decision IS NULL AND key != ? AND (${GATE} IS NOT NULL OR key = ?)
     AND NOT EXISTS (SELECT 1 FROM facts WHERE name = ? || cards.id)`,
    ...[JSON.stringify(decision), run, except, CRASH + run, DECIDING],
  );
}

/** True when the gate's card has its decision: later answers change nothing. */
export function isDecided(database: Database, run: string, gate: string): boolean {
  return database.get(`SELECT 1 FROM cards WHERE run = ? AND decision IS NOT NULL AND ${GATE} = ?`, run, gate) !== undefined;
}

/** Inserts a step with its event number; with null, updates the row of its intent, which has one. */
export function storeStep(database: Database, rid: number, step: Step, event: number | null = takeEvents(database, rid)): void {
  const values = [
    step.name,
    step.effect,
    pack(step.params),
    step.state,
    step.result === null ? null : pack(step.result),
    step.error === null ? null : JSON.stringify(step.error),
    step.changes.length === 0 ? null : pack(JSON.stringify(step.changes)),
    step.at,
    step.attempts,
  ] as const;
  if (event === null)
    database.run(
      "UPDATE steps SET name=?, effect=?, params=?, state=?, result=?, error=?, changes=?, at=?, attempts=? WHERE rid = ? AND seq = ?",
      ...[...values, rid, step.seq],
    );
  else
    database.run(
      "INSERT INTO steps (name, effect, params, state, result, error, changes, at, attempts, rid, seq, event) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
      ...[...values, rid, step.seq, event],
    );
}

/**
 * A run that failed at a call may try it again: the failed step at the end of its history is deleted. If the call may have acted outside,
 * the step becomes a call in doubt instead, which keeps its error and is settled like any other. The event of the failure stays.
 */
export function forgetFailure(database: Database, rid: number): void {
  const last = database.get<StepRow & { event: number }>("SELECT * FROM steps WHERE rid = ? ORDER BY seq DESC LIMIT 1", rid);
  if (last?.state !== "error") return;
  if ((last.effect === "external" || last.effect === "notify") && last.attempts > 0) {
    database.run("UPDATE steps SET state = 'intent', result = NULL, changes = NULL WHERE rid = ? AND seq = ?", rid, last.seq);
    return;
  }
  database.run("DELETE FROM steps WHERE rid = ? AND seq = ?", rid, last.seq);
  addEvent(database, rid, "step", last.at, { step: last.seq, name: last.name, effect: last.effect, state: last.state }, last.event);
}

function hasEnded(database: Database, run: string): boolean {
  return database.get("SELECT 1 FROM runs WHERE id = ? AND ended_at IS NOT NULL", run) !== undefined;
}

/** Queues the run that waits for this child. In the transaction in which the child ends, so that neither can miss the other. */
export function wakeParent(database: Database, child: string, at: number): void {
  const parent = database.get<{ rid: number }>(
    `SELECT p.rid FROM runs c JOIN runs p ON p.id = c.parent
     WHERE c.id = ? AND c.cause_kind = 'agent' AND p.status = 'waiting' AND p.reason = 'child'`,
    child,
  );
  if (parent !== undefined) queueRun(database, parent.rid, at, "child");
}

interface LogHooks {
  now(): number;
  /** Called after each durable change of the run's status. */
  changed(id: string): void;
  /** Whether the run's agent is paused at this moment. */
  paused(): boolean;
  abort: AbortSignal;
  seal: Seal;
  sealer: Sealer;
}

type Pending =
  | { kind: "step"; step: Step }
  | { kind: "event"; type: RunEvent["type"]; body: Json }
  | { kind: "release"; items: Released[] };

/** The RunLog of a run this process has claimed. */
export function openLog(database: Database, rid: number, run: RunRecord, hooks: LogHooks): RunLog {
  const steps = readSteps(database, rid);
  // Steps stored as an intent: their outcome replaces the row and keeps its event.
  let intents: ReadonlySet<number> = new Set(steps.filter((step) => step.state === "intent").map((step) => step.seq));
  let pending: Pending[] = [];
  const { seal } = hooks;
  const flush = (also?: () => void, relaxed = false) => {
    const batch = pending;
    if (batch.length === 0 && also === undefined) return;
    const stored = new Set(intents);
    database.write(() => {
      const isNew = batch.map((item) => {
        if (item.kind !== "step") return item.kind === "event";
        const known = stored.has(item.step.seq);
        if (item.step.state === "intent") stored.add(item.step.seq);
        return !known;
      });
      const count = isNew.filter(Boolean).length;
      let event = count === 0 ? 0 : takeEvents(database, rid, count);
      for (const [i, item] of batch.entries()) {
        if (item.kind === "step") storeStep(database, rid, item.step, isNew[i] ? event++ : null);
        else if (item.kind === "event") addEvent(database, rid, item.type, hooks.now(), item.body, event++);
        else release(database, run.id, hooks.now(), item.items, log.ours ? hooks.sealer : null);
      }
      if (log.ours && batch.some(({ kind }) => kind === "step")) seal.put(steps);
      also?.();
    }, relaxed);
    // Only after the write: if it is refused, everything stays for the next flush.
    pending = [];
    intents = stored;
  };

  const put = (step: Step) => {
    steps[step.seq] = step;
    pending.push({ kind: "step", step });
  };

  const putDurably = (step: Step) => {
    put(step);
    flush();
  };

  // The outcome of an act outside. If a power cut loses it, the act is in doubt, as after a cut in the middle of it. So it is made durable
  // within a few ms, before any other act and before the run waits or commits, but nothing waits for it: often the run ends sooner.
  const putSoon = (step: Step) => {
    put(step);
    flush(undefined, true);
    void database.synced(true).catch(() => undefined);
  };

  // A run canceled by another caller stays canceled, whatever its execution does before it notices.
  const canceled = () => database.get<{ status: string }>("SELECT status FROM runs WHERE rid = ?", rid)?.status === "canceled";

  const setStatus = (status: RunRecord["status"], reason: WaitReason | null, waitsFor: string | null, wakeAt: number | null) => {
    if (canceled()) return;
    database.run("UPDATE runs SET status = ?, reason = ?, waits_for = ?, wake_at = ? WHERE rid = ?", status, reason, waitsFor, wakeAt, rid);
    addEvent(database, rid, "status", hooks.now(), { status, reason, waits_for: waitsFor });
    Object.assign(run, { status, reason, waitsFor });
  };

  const log: RunLog = {
    run,
    steps,
    ours: seal.isOn(steps),
    here: seal.isHere(steps),
    abort: hooks.abort,
    record: (step, durable) => (durable === true ? putDurably : put)(step),
    intent: putDurably,
    settle: putSoon,
    event: (type, body) => void pending.push({ kind: "event", type, body }),
    flush: () => {
      flush();
      database.syncAll();
    },
    signals: (gate) => readSignals(database, rid, gate),
    openedAt(seq) {
      // In its first execution a run has opened no gate before.
      if (run.attempt === 1) return null;
      const sql = "SELECT min(at) AS at FROM cards WHERE run = ? AND key GLOB ?";
      return database.get<{ at: number | null }>(sql, run.id, `${run.id}/${seq}/*`)?.at ?? null;
    },
    release: (items) => void (items.length > 0 && pending.push({ kind: "release", items })),
    wait(reason, waitsFor, options = {}) {
      flush(() => {
        // A signal, or the end of the pause, may have come since the run checked for it: then the run must not wait.
        const answered =
          (options.gate !== undefined && readSignals(database, rid, options.gate).length > (options.seen ?? 0)) ||
          (options.child !== undefined && hasEnded(database, options.child)) ||
          (reason === "paused" && !hooks.paused());
        if (answered) setStatus("queued", null, null, null);
        else setStatus("waiting", reason, waitsFor, options.until ?? null);
      });
      hooks.changed(run.id);
    },
    end(end) {
      // Relaxed: after a power cut the run would end again the same way. Whoever waits for its result gets it once it is durable.
      flush(() => {
        if (canceled()) return;
        // An answer arrived while the run was expiring for lack of one: it continues with that answer.
        if (end.status === "done" && end.unanswered != null && isDecided(database, run.id, end.unanswered))
          return setStatus("queued", null, null, null);
        const at = hooks.now();
        const [outcome, result, error]: [Outcome | null, string | null, string | null] =
          end.status === "done" ? [end.outcome, JSON.stringify(end.result), null] : [null, null, JSON.stringify(end.error)];
        const meta = metaText(run, steps, end);
        const ended = database.get<RunRow>(
          "UPDATE runs SET status = ?, reason = NULL, waits_for = NULL, wake_at = NULL, outcome = ?, result = ?, meta = ?, error = ?, ended_at = ?, events = events + 1 WHERE rid = ? RETURNING *",
          ...[end.status, outcome, result, meta, error, at, rid],
        );
        if (end.status === "failed") release(database, run.id, at, crashCards(run, end.error), null);
        if (end.status === "done") {
          closeGates(database, run.id, at, end.outcome === "expired" ? "nobody decided in time" : "the run has ended");
        }
        if (ended !== undefined) seal.end(steps, ended, log.ours);
        if (run.parent !== undefined) wakeParent(database, run.id, at);
        const code = end.status === "done" ? {} : { code: end.error.code };
        addEvent(database, rid, "ended", at, { status: end.status, outcome, ...code }, ended?.events);
        const shown = end.status === "done" ? { result: end.result } : { error: end.error };
        Object.assign(run, { status: end.status, outcome, endedAt: at, meta: meta === null ? null : (JSON.parse(meta) as Json), ...shown });
      }, true);
      database.syncNow();
      hooks.changed(run.id);
    },
    requeue() {
      flush(() => setStatus("queued", null, null, null));
      hooks.changed(run.id);
    },
  };
  return log;
}
