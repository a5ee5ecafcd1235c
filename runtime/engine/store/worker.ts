/**
 * Claims queued runs and executes them, at most `concurrency` at a time. A waiting run costs a row and nothing else.
 * A run with a slow call under way frees its place; when the call has returned, the run is queued again.
 */
import { ClearedError } from "../../kernel/errors.ts";
import type { Clock, RunLog, Sealer, Working } from "../../kernel/ports.ts";
import type { Database } from "./database.ts";
import { addEvent, openLog, queueRun } from "./history.ts";
import { pauseOf, pauseWords } from "./pauses.ts";
import { OPEN, type RunRow, type Watch, toRecord } from "./rows.ts";
import { createSeal } from "./seals.ts";

const LONGEST_DELAY_MS = 30_000;

/** How an execution ended for the worker: finished, or waiting for a call that continues in this process. */
export type Execution = void | { later: Promise<void> };

export function createWorker(database: Database, clock: Clock, watch: Watch, onError: (error: unknown) => void, seal: Sealer) {
  const active = new Map<string, AbortController>();
  let pump: (() => void) | null = null;
  const nothing = () => undefined;
  let claimNow = (_: string): (() => void) => nothing;

  const firstQueued = (): RunRow | undefined =>
    database.get<RunRow>(
      `SELECT * FROM runs WHERE ${OPEN} AND status = 'queued' AND (not_before IS NULL OR not_before <= ?) ORDER BY priority DESC, rid LIMIT 1`,
      clock.now(),
    );
  // Relaxed on purpose: if it is lost, the run is still queued and nothing has happened yet. A run of a paused agent waits instead.
  const claim = (): RunRow | undefined =>
    database.write(() => {
      const row = firstQueued();
      if (row === undefined) return undefined;
      const pause = row.mode === "live" ? pauseOf(database, row.agent) : null;
      if (pause !== null) {
        const words = pauseWords(pause);
        database.run("UPDATE runs SET status = 'waiting', reason = 'paused', waits_for = ? WHERE rid = ?", words, row.rid);
        addEvent(database, row.rid, "status", clock.now(), { status: "waiting", reason: "paused", waits_for: words });
        return { ...row, status: "waiting" };
      }
      const startedAt = row.started_at ?? clock.now();
      const begun = database.get<{ events: number }>(
        "UPDATE runs SET status = 'running', reason = NULL, waits_for = NULL, wake_at = NULL, attempt = attempt + 1, started_at = ?, events = events + 1 WHERE rid = ? RETURNING events",
        ...[startedAt, row.rid],
      );
      addEvent(database, row.rid, "status", clock.now(), { status: "running", attempt: row.attempt + 1 }, begun?.events);
      return { ...row, status: "running", reason: null, waits_for: null, attempt: row.attempt + 1, started_at: startedAt };
    }, true);

  const queueAgain = (rows: { rid: number }[], from: string) => {
    if (rows.length === 0) return;
    database.write(() => {
      for (const { rid } of rows) queueRun(database, rid, clock.now(), from);
    });
  };

  /** Queues again runs whose execution is gone, to continue from their history: with null all that a dead owner left, else one of ours. */
  const recover = (rid: number | null) =>
    queueAgain(
      database.all(
        `SELECT rid FROM runs WHERE ${OPEN} AND (status = 'running' OR (status = 'waiting' AND reason = 'slow_call')) AND rid = ifnull(?, rid)`,
        rid,
      ),
      "recovery",
    );
  const due = () => queueAgain(database.all("SELECT rid FROM runs WHERE status = 'waiting' AND wake_at <= ?", clock.now()), "timer");

  return {
    /** Called when there may be something to claim. */
    wake: (): void => pump?.(),
    /** Claims the first run in the queue, most likely `run`, in the caller's transaction, if a place is free. Call the result after the commit. */
    claim: (run: string): (() => void) => claimNow(run),
    abort: (run: string): void => active.get(run)?.abort(),
    work(execute: (log: RunLog) => Promise<Execution>, { concurrency }: { concurrency: number }): Working {
      recover(null);
      let free = concurrency;
      let stopping = false;
      const under = new Set<Promise<void>>();
      // Runs that failed here, by when they are executed again; a cause that lasts is tried less and less often.
      const stranded = new Map<number, { at: number; delay: number }>();
      const strand = (rid: number): void => {
        const delay = Math.min(2 * (stranded.get(rid)?.delay ?? 250), LONGEST_DELAY_MS);
        stranded.set(rid, { at: performance.now() + delay, delay });
      };
      // A full disk may refuse everything for a while, so the same error is reported once a minute.
      let reported = { text: "", at: 0 };
      const report = (error: unknown) => {
        const now = { text: error instanceof Error ? error.message : String(error), at: performance.now() };
        if (now.text === reported.text && now.at - reported.at < 60_000) return;
        reported = now;
        onError(error);
      };

      const one = async (row: RunRow) => {
        const controller = new AbortController();
        active.set(row.id, controller);
        try {
          const log = openLog(database, row.rid, toRecord(row), {
            now: () => clock.now(),
            changed: (id) => watch.changed(id),
            paused: () => pauseOf(database, row.agent) !== null,
            abort: controller.signal,
            seal: createSeal(database, row, seal),
            sealer: seal,
          });
          const execution = await execute(log);
          // A later execution of the run may have failed meanwhile, and is still to be tried again.
          if (active.get(row.id) === controller) stranded.delete(row.rid);
          if (execution !== undefined) {
            free += 1;
            pump?.();
            await execution.later.finally(() => {
              free -= 1;
            });
          }
        } catch (error) {
          report(error);
          // A failure of this process, so the run stays as recorded. It is executed again, unless another process owns the workspace now, or
          // a decision has continued it meanwhile.
          if (error instanceof ClearedError && error.code === "OWNER_FENCED") stopping = true;
          else if (active.get(row.id) === controller) strand(row.rid);
        } finally {
          // The run may have been claimed again already, once its slow call had returned.
          if (active.get(row.id) === controller) active.delete(row.id);
          free += 1;
          pump?.();
        }
      };

      const hasPlace = () => !stopping && free > 0 && database.db.isOpen;
      const begin = (row: RunRow) => {
        if (row.status === "waiting") return watch.changed(row.id);
        free -= 1;
        // Something else has continued it: a second execution would act beside this one.
        const failed = stranded.get(row.rid);
        if (failed !== undefined) failed.at = Number.POSITIVE_INFINITY;
        const promise: Promise<void> = one(row).finally(() => under.delete(promise));
        under.add(promise);
      };
      claimNow = (run) => {
        const row = hasPlace() ? claim() : undefined;
        if (row === undefined) return nothing;
        return () => {
          begin(row);
          // Another run came first: there may be a place for both.
          if (row.id !== run) pump?.();
        };
      };
      pump = () => {
        try {
          // Queried first: most of the time nothing is queued, and a transaction costs ten times as much as the query.
          while (hasPlace() && firstQueued() !== undefined) {
            const row = claim();
            if (row === undefined) return;
            begin(row);
          }
        } catch (error) {
          report(error);
        }
      };
      const tick = () => {
        try {
          due();
          for (const [rid, failed] of stranded) {
            if (failed.at > performance.now()) continue;
            recover(rid);
            failed.at = Number.POSITIVE_INFINITY;
          }
        } catch (error) {
          report(error);
        }
        pump?.();
      };
      // For deadlines and not_before only; everything else calls `wake`.
      const timer = setInterval(tick, 500);
      tick();

      return {
        async stop(graceMs) {
          stopping = true;
          clearInterval(timer);
          pump = null;
          claimNow = () => nothing;
          await Promise.race([Promise.all(under), new Promise((resolve) => setTimeout(resolve, graceMs).unref())]);
          for (const controller of active.values()) controller.abort();
          await Promise.race([Promise.all(under), new Promise((resolve) => setTimeout(resolve, 1000).unref())]);
          return under.size === 0;
        },
      };
    },
  };
}
