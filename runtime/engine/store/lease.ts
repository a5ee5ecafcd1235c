/**
 * One owner process per workspace at a time. The lease is a row with an epoch: taking it over raises the epoch, and every later write of
 * the old owner is refused (database.ts). A dead owner on this machine is replaced at once, a silent one after LEASE_MS. A replaced owner
 * that is still alive may be in the middle of an act outside, so it is remembered until it has ended.
 */
import { randomUUID } from "node:crypto";
import { ClearedError } from "../../kernel/errors.ts";
import type { Clock } from "../../kernel/ports.ts";
import { identityOf, lives, standsStill } from "../../kernel/processes.ts";
import { getFact, setFact } from "./facts.ts";
import type { Database } from "./database.ts";

/** An owner without a heartbeat for this long may be replaced although its process exists (stopped, swapped out). */
export const LEASE_MS = 10_000;
const BEAT_MS = 2_000;
// After the machine slept or its clock changed, a healthy owner looks silent until its next heartbeat.
const LOOK_MS = BEAT_MS + 500;

export type Lease = ReturnType<typeof takeLease>;

interface Row {
  /** Process identity and a unique number; "" when nobody has the lease. */
  owner: string;
  pid: number;
  epoch: number;
  /** ms */
  beat: number;
}

/** An owner that was replaced while it was alive. */
interface Replaced {
  owner: string;
  at: number;
}

const REPLACED = "replaced owners";
const HELD = "SELECT owner, pid, epoch, beat FROM lease";

/** The process that the store names as its owner. */
export const ownerPid = (database: Database): number | undefined => database.get<Row>(HELD)?.pid;

/** The last silent owner seen, and since when by this process's own clock. */
let silence = { owner: "", beat: 0, since: 0 };

/**
 * Takes the lease. `onLost` is called once when a heartbeat finds it gone.
 * @throws OWNER_BUSY naming the process that holds it; a later call replaces a holder that stayed silent
 */
export function takeLease(database: Database, clock: Clock, onLost: () => void) {
  const identity = `${identityOf(process.pid)}/${randomUUID()}`;
  database.epoch = null;
  const take = () =>
    database.write(() => {
      const held = database.get<Row>(HELD);
      if (held !== undefined && !isReplaceable(held, clock.now()))
        throw new ClearedError("OWNER_BUSY", `Process ${held.pid} owns this workspace.`, { data: { pid: held.pid } });
      const next = (held?.epoch ?? 0) + 1;
      if (held !== undefined && held.owner !== "") keepReplaced(database, [...replaced(database), { owner: held.owner, at: clock.now() }]);
      database.run("INSERT OR REPLACE INTO lease VALUES (1, ?, ?, ?, ?)", identity, process.pid, next, clock.now());
      return next;
    });
  const epoch = endingHolder(database, clock, take);
  database.epoch = epoch;
  const beat = setInterval(() => {
    try {
      database.write(() => database.run("UPDATE lease SET beat = ? WHERE epoch = ?", clock.now(), epoch), true);
    } catch (error) {
      if (error instanceof ClearedError && error.code === "OWNER_FENCED") {
        clearInterval(beat);
        onLost();
      }
      // Any other failure (disk full, busy) is reported by the next write of a run; the heartbeat just tries again.
    }
  }, BEAT_MS);
  beat.unref();
  return {
    /** @throws OWNER_FENCED once another process has taken over; called before anything leaves this process. */
    check: (): void => database.assertOwner(),
    /** Process id of an earlier owner that is alive and may still be executing what was begun before this time (ms), or null. */
    predecessor(at: number): number | null {
      const still = replaced(database).find((one) => one.at >= at && isAlive(one.owner));
      return still === undefined ? null : Number.parseInt(still.owner, 10);
    },
    /** `idle`: nothing is executing in this process any more. */
    release(idle: boolean): void {
      clearInterval(beat);
      database.epoch = null;
      if (!database.db.isOpen) return;
      database.run("UPDATE lease SET owner = '', beat = 0 WHERE epoch = ?", epoch);
      const others = replaced(database).filter((one) => one.owner !== identity);
      if (idle && others.length < replaced(database).length) keepReplaced(database, others);
    },
  };
}

/** A process that was stopped in the middle of a write locks the store, and only its end can free it. */
function endingHolder<T>(database: Database, clock: Clock, take: () => T): T {
  try {
    return take();
  } catch (error) {
    const held = database.get<Row>(HELD);
    const isLocked = error instanceof ClearedError && error.code === "OWNER_BUSY" && error.cause !== undefined;
    const pid = held === undefined || !isAlive(held.owner) ? 0 : Number.parseInt(held.owner, 10);
    if (!isLocked || held === undefined || !isReplaceable(held, clock.now()) || !standsStill(pid)) throw error;
    process.kill(pid, "SIGKILL");
    for (let n = 0; n < 200 && isAlive(held.owner); n++) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    return take();
  }
}

function isReplaceable({ owner, pid, beat }: Row, now: number): boolean {
  if (owner === "" || !isAlive(owner)) return true;
  if (Math.abs(now - beat) < LEASE_MS) return false;
  if (standsStill(pid) || pid === process.pid) return true;
  if (silence.owner !== owner || silence.beat !== beat) silence = { owner, beat, since: performance.now() };
  return performance.now() - silence.since >= LOOK_MS;
}

function isAlive(owner: string): boolean {
  return lives(owner.split("/")[0] ?? "");
}

function replaced(database: Database): Replaced[] {
  return JSON.parse(getFact(database, REPLACED) ?? "[]") as Replaced[];
}

function keepReplaced(database: Database, owners: readonly Replaced[]): void {
  const alive = owners.filter((one) => isAlive(one.owner));
  setFact(database, REPLACED, JSON.stringify(alive));
}
