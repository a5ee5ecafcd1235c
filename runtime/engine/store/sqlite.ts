/**
 * The embedded engine: the Engine port on one SQLite file. It stores and finds runs; worker.ts and run.ts execute them.
 * Invariants: (cause, agent, key) starts one run; a signal is stored before its run is woken; only the lease holder writes.
 */
import { ClearedError } from "../../kernel/errors.ts";
import { canonicalJson } from "../../kernel/canonical.ts";
import type { Archive, Clock, Engine, Json, RunQuery, RunRecord, RunSpec, RunStatus, Sealer } from "../../kernel/ports.ts";
import { createHistories } from "./archive.ts";
import { leftBy, openCard } from "./cards.ts";
import type { Database } from "./database.ts";
import { addEvent, closeGates, forgetFailure, isDecided, queueRun, readSignals, storeStep, wakeParent } from "./history.ts";
import { OPEN, type RunRow, WRONG, createWatch, newRunId, readSteps, toRecord } from "./rows.ts";
import { createSeal } from "./seals.ts";
import { createWorker } from "./worker.ts";

const ENDED: readonly RunStatus[] = ["done", "failed", "diverged", "canceled"];

// For a store in memory, or one that is only read.
const JUST_HERE: Sealer = (...parts) => JSON.stringify(parts);

/**
 * The engine on an open store. `onError` receives failures that belong to no run (a fenced owner, a full disk).
 * `work` queues again the runs that a dead owner left running. `archive`: where closed histories are stored.
 * `seal`: keyed by this user, for stores that last.
 */
export function createEngine(
  database: Database,
  clock: Clock,
  onError: (error: unknown) => void,
  archive: Pick<Archive, "read"> | null = null,
  seal: Sealer = JUST_HERE,
): Engine {
  const watch = createWatch();
  const histories = createHistories(database, archive);
  const worker = createWorker(database, clock, watch, onError, seal);

  const find = (id: string): RunRow | undefined => database.get<RunRow>("SELECT * FROM runs WHERE id = ?", id);
  const need = (id: string): RunRow => {
    const row = find(id);
    if (row === undefined) throw new ClearedError("RUN_UNKNOWN", `There is no run "${id}". \`cleared runs\` lists them.`);
    return row;
  };
  /** @throws RUN_STATUS where another run undoes what this one wrote (rules/tools/undo.ts): it must not continue as if that were in place */
  const assertNotUndone = (run: string): void => {
    const open = "status <> 'canceled' AND (outcome IS NULL OR outcome = 'completed')";
    const back = database.get<RunRow>(`SELECT * FROM runs WHERE cause_key LIKE 'once undo ' || ? || '/%' AND ${open}`, run);
    if (back === undefined) return;
    const says = `${back.id} (${back.agent}, ${back.status}) takes back what it wrote. Reject that if it waits and is not meant; else`;
    throw new ClearedError("RUN_STATUS", `${run} cannot continue: ${says} start a new run.`);
  };
  /** Inserts a run with its first event and returns its rid; undefined when its cause already started a run. */
  const insert = (spec: RunSpec, id: string, created: Json, at = clock.now()): number | undefined => {
    const { cause, pin } = spec;
    const made = database.get<RunRow>(
      `INSERT INTO runs (id, agent, cause_kind, cause_key, cause_detail, mode, pin_commit, pin_blob, pin_api, input, parent, priority, not_before, given, started_by, status, attempt, events, created_at)
       VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,'queued',0,1,?) ON CONFLICT (cause_kind, agent, cause_key) DO NOTHING RETURNING *`,
      ...[id, spec.agent, cause.kind, cause.key, cause.detail === undefined ? null : JSON.stringify(cause.detail), spec.mode],
      ...[pin.commit, pin.blob, pin.api, JSON.stringify(spec.input), spec.parent ?? null, spec.priority ?? 0, spec.notBefore ?? null],
      ...[spec.given === undefined ? null : JSON.stringify(spec.given), spec.by ?? null, at],
    );
    if (made === undefined) return undefined;
    addEvent(database, made.rid, "created", clock.now(), created, 1);
    const proof = createSeal(database, made, seal);
    if (spec.mode === "live" && spec.elsewhere !== true) proof.begin();
    if (spec.doubted !== true) proof.put([]);
    return made.rid;
  };
  /** A key chosen by a caller identifies one request. @throws RUN_KEY when it is reused with other input */
  const assertSame = async (spec: RunSpec, known: RunRow): Promise<void> => {
    const { id, input, given, bundle } = await histories.whole(known);
    // The input of a run whose archive is lost is unknown, so it cannot be compared.
    if (bundle === 0 || canonicalJson([JSON.parse(input), JSON.parse(given ?? "null")]) === canonicalJson([spec.input, spec.given ?? null]))
      return;
    const next = "Use a new key for another request; repeat the same request unchanged";
    throw new ClearedError("RUN_KEY", `This key started ${id} of ${spec.agent} with other input. Nothing was started. ${next}.`);
  };
  const queue = (row: RunRow, from: string) => queueRun(database, row.rid, clock.now(), from);
  /** Queues a run again, with its history back in the tables. `allow` returns why it continues, or null where it already does. `pin`: on other code. */
  const requeue = async (run: string, allow: (row: RunRow) => string | null, pin?: RunSpec["pin"]): Promise<void> => {
    const away = histories.load(need(run));
    const history = away && (await away);
    database.write(() => {
      const row = need(run);
      const from = allow(row);
      if (from === null) return;
      assertNotUndone(run);
      histories.reopen(row, history);
      const isOurs = createSeal(database, need(run), seal).isOn(readSteps(database, row.rid));
      if (pin !== undefined)
        database.run("UPDATE runs SET pin_commit = ?, pin_blob = ?, pin_api = ? WHERE rid = ?", pin.commit, pin.blob, pin.api, row.rid);
      if (row.status === "failed") forgetFailure(database, row.rid);
      queue(row, from);
      if (isOurs) createSeal(database, need(run), seal).put(readSteps(database, row.rid));
    });
    watch.changed(run);
    worker.wake();
  };
  const record = async (row: RunRow): Promise<RunRecord> => toRecord(await histories.whole(row));

  return {
    async start(spec, also) {
      const fresh = newRunId(clock.now());
      const { agent, cause, pin, mode } = spec;
      const { kind, key } = cause;
      const [id, created, begin] = database.write((): [string, boolean, () => void] => {
        const isNew = insert(spec, fresh, { agent, cause: { kind, key }, commit: pin.commit, mode }) !== undefined;
        const sql = "SELECT id FROM runs WHERE cause_kind = ? AND agent = ? AND cause_key = ?";
        const run = isNew ? fresh : (database.get<{ id: string }>(sql, kind, agent, key)?.id ?? fresh);
        also?.(run);
        return [run, isNew, isNew ? worker.claim(run) : () => undefined];
      }, true);
      begin();
      // Runs that start at once share one sync, or that of their first act outside; once a caller has the id, the run is durable.
      await database.synced(true);
      if (!created && (kind === "command" || kind === "webhook")) await assertSame(spec, need(id));
      return { id, created };
    },

    async signal(run, gate, payload, key, settle) {
      const answer = database.write(() => {
        const row = need(run);
        if (ENDED.includes(row.status)) return "closed" as const;
        const given = readSignals(database, row.rid, gate);
        if (given.some((one) => one.key === key)) return "duplicate" as const;
        if (isDecided(database, run, gate)) return "closed" as const;
        database.run(
          "INSERT INTO signals VALUES (?, ?, ?, ?, ?, ?)",
          ...[row.rid, gate, given.length, key, JSON.stringify(payload), clock.now()],
        );
        addEvent(database, row.rid, "signal", clock.now(), { gate, key });
        settle?.(readSignals(database, row.rid, gate));
        if (row.status === "waiting" && !isUnderWay(row)) queue(row, "signal");
        return "accepted" as const;
      });
      watch.changed(run);
      worker.wake();
      return answer;
    },

    signals: async (run, gate) => histories.signals(need(run), gate),

    async isProven(run) {
      const row = need(run);
      const [whole, steps] = await Promise.all([histories.whole(row), histories.steps(row)]);
      return createSeal(database, whole, seal).isOn(steps);
    },

    async cancel(run, reason) {
      const canceled = database.write(() => {
        const row = need(run);
        if (ENDED.includes(row.status)) return false;
        database.run(
          "UPDATE runs SET status = 'canceled', reason = NULL, waits_for = NULL, wake_at = NULL, ended_at = ? WHERE rid = ?",
          clock.now(),
          row.rid,
        );
        closeGates(database, run, clock.now(), "the run was canceled");
        const left = leftBy(row, readSteps(database, row.rid), reason);
        if (left !== null) openCard(database, left.key, left.card, clock.now());
        wakeParent(database, run, clock.now());
        addEvent(database, row.rid, "ended", clock.now(), { status: "canceled", reason: left?.says ?? reason });
        const [proof, steps] = [createSeal(database, row, seal), readSteps(database, row.rid)];
        proof.end(steps, need(run), proof.isOn(steps));
        return true;
      });
      worker.abort(run);
      watch.changed(run);
      if (!canceled) return false;
      const children = database.all<{ id: string }>(`SELECT id FROM runs WHERE ${OPEN} AND parent = ? AND cause_kind = 'agent'`, run);
      for (const child of children) await this.cancel(child.id, `${run}, which called it, was canceled`);
      worker.wake();
      return true;
    },

    retry: (run) =>
      requeue(run, (row) => {
        if (row.status === "queued" || isUnderWay(row)) return null;
        if (row.status !== "done" && row.status !== "canceled") return "resume";
        throw new ClearedError(
          "RUN_STATUS",
          `${run} is ${row.status}; only failed, diverged and waiting runs can be resumed. Start a new one with \`cleared run ${row.agent}\`.`,
        );
      }),

    async get(id) {
      const row = find(id);
      return row === undefined ? null : record(row);
    },

    async list(query: RunQuery) {
      const where: string[] = [];
      const values: (string | number)[] = [];
      if (query.agent !== undefined) where.push("agent = ?") && values.push(query.agent);
      if (query.cause !== undefined) where.push("cause_kind = ? AND cause_key = ?") && values.push(query.cause.kind, query.cause.key);
      if (query.reason !== undefined) where.push("reason = ?") && values.push(query.reason);
      if (query.before !== undefined) where.push("rid < (SELECT rid FROM runs WHERE id = ?)") && values.push(query.before);
      const limit = query.limit ?? 50;
      const select = (condition: string, statuses: readonly string[]): RunRow[] =>
        database.all<RunRow>(
          `SELECT * FROM runs WHERE ${[condition, ...where].join(" AND ")} ORDER BY rid DESC LIMIT ?`,
          ...[...statuses, ...values, limit],
        );
      // The few open and failed runs have indexes of their own: finding them among a year of finished runs would be slow.
      const groups = [OPEN, WRONG, "status IN ('done', 'canceled')"].flatMap((condition) => {
        const wanted = query.status?.filter((status) => condition.includes(`'${status}'`)) ?? [];
        return wanted.length === 0 ? [] : select(`${condition} AND status IN (${wanted.map(() => "?").join(",")})`, wanted);
      });
      const rows = query.status === undefined ? select("1", []) : groups.sort((a, b) => b.rid - a.rid).slice(0, limit);
      return Promise.all(rows.map(record));
    },

    steps: async (run, from = 0) => histories.steps(need(run), from),

    async *events(run, from, options = {}) {
      for (let next = from; ; ) {
        const row = need(run);
        const ended = ENDED.includes(row.status);
        const batch = await histories.events(row, next);
        for (const event of batch) yield event;
        next = (batch.at(-1)?.seq ?? next - 1) + 1;
        // A batch may not be all of the events.
        if (batch.length > 0) continue;
        if (options.follow !== true || ended || options.abort?.aborted === true) return;
        await watch.next(run, 200);
      }
    },

    async result(run, options = {}) {
      const until = options.timeoutMs === undefined ? Number.POSITIVE_INFINITY : Date.now() + options.timeoutMs;
      for (;;) {
        const row = need(run);
        const continues = row.reason === "slow_call" || row.reason === "timer";
        const settled = ENDED.includes(row.status) || (row.status === "waiting" && options.ended !== true && !continues);
        if (settled) await database.synced();
        if (settled || Date.now() >= until) return record(row);
        await watch.next(run, until - Date.now());
      }
    },

    async fork(run, count, pin, by) {
      const id = newRunId(clock.now());
      const [source, steps] = [await record(need(run)), await histories.steps(need(run))];
      database.write(() => {
        const row = need(run);
        assertNotUndone(run);
        const copy = insert(
          {
            ...source,
            pin: pin ?? source.pin,
            ...(by === undefined ? {} : { by }),
            parent: run,
            cause: {
              kind: "fork",
              key: id,
              detail: { ...(source.cause.detail as { [key: string]: Json } | undefined), run, steps: count },
            },
          },
          id,
          { agent: row.agent, fork_of: run, steps: count },
          row.created_at,
        ) as number;
        for (const step of steps) {
          if (step.seq >= count || step.state === "intent") break;
          // An approval counts only for its own run: a copy keeps a rejection, and the figures a person wrote in.
          const changes = step.changes.flatMap((change) => {
            if (change.op !== "decided" || change.decision === "rejected") return [change];
            return change.decision === "edited"
              ? [{ op: "answered" as const, by: change.by, values: change.calls as unknown as Json }]
              : [];
          });
          storeStep(database, copy, { ...step, changes });
        }
      });
      worker.wake();
      return id;
    },

    migrate: (run, pin) =>
      requeue(
        run,
        (row) => {
          if (row.status === "done" || row.status === "canceled")
            throw new ClearedError("RUN_STATUS", `${run} is ${row.status}; only a run that has not ended can move to other code.`);
          if (isUnderWay(row)) throw new ClearedError("RUN_STATUS", `${run} is executing now. Try again when it waits or has failed.`);
          return `migrated ${row.pin_commit} -> ${pin.commit}`;
        },
        pin,
      ),

    work: (execute, options) => worker.work(execute, options),

    close: async () => database.close(),
  };
}

/** A call of the run may be acting at this moment: nothing may start a second execution. */
function isUnderWay(row: RunRow): boolean {
  return row.status === "running" || row.reason === "slow_call";
}
