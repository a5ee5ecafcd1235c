/**
 * One owner process per workspace at a time. The lease is a row with an epoch: taking it over raises the epoch, and every write
 * of the old owner is refused from then on (database.ts). A dead owner on this machine is replaced at once, a silent one after LEASE_MS.
 */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Database } from "./database.ts";
import type { Clock } from "../ports.ts";
import { ClearedError } from "../errors.ts";

/** An owner that has not beaten for so long may be replaced although its process exists (stopped, swapped out). */
const LEASE_MS = 10_000;
const BEAT_MS = 2_000;

export interface Lease {
  /** @throws OWNER_FENCED once another process has taken over; called before anything leaves this process. */
  check(): void;
  release(): void;
}

interface Row {
  owner: string;
  pid: number;
  epoch: number;
  beat: number;
}

/**
 * Takes the workspace. `onLost` is called once when a beat finds it gone.
 * @throws OWNER_BUSY naming the process that holds it
 */
export function takeLease(database: Database, clock: Clock, onLost: () => void): Lease {
  const identity = `${processIdentity(process.pid)}/${randomUUID()}`;
  database.epoch = null;
  const epoch = database.write(() => {
    const held = database.get<Row>("SELECT owner, pid, epoch, beat FROM lease");
    if (held !== undefined && held.owner !== "" && isAlive(held) && clock.now() - held.beat < LEASE_MS) {
      throw new ClearedError("OWNER_BUSY", `Process ${held.pid} owns this workspace.`, { data: { pid: held.pid } });
    }
    const next = (held?.epoch ?? 0) + 1;
    database.run("INSERT OR REPLACE INTO lease VALUES (1, ?, ?, ?, ?)", identity, process.pid, next, clock.now());
    return next;
  });
  database.epoch = epoch;
  const beat = setInterval(() => {
    try {
      database.write(() => database.run("UPDATE lease SET beat = ? WHERE epoch = ?", clock.now(), epoch), true);
    } catch (error) {
      if (error instanceof ClearedError && error.code === "OWNER_FENCED") {
        clearInterval(beat);
        onLost();
      }
      // Any other failure (disk full, busy) is met by the next write of a run, which reports it; the beat tries again.
    }
  }, BEAT_MS);
  beat.unref();
  return {
    check: () => database.write(() => undefined, true),
    release() {
      clearInterval(beat);
      if (database.db.isOpen) database.run("UPDATE lease SET owner = '', beat = 0 WHERE epoch = ?", epoch);
      database.epoch = null;
    },
  };
}

/** pid and start time: a pid alone may have been given to another process since. */
function processIdentity(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" ? `${pid}:dead` : `${pid}:${fields[19]}`; // killed, not yet reaped by its parent
  } catch {
    return `${pid}:`; // not Linux: the pid has to do
  }
}

function isAlive(held: Row): boolean {
  try {
    process.kill(held.pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
  }
  return held.owner.startsWith(`${processIdentity(held.pid)}/`);
}
