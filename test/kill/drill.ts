/** Drills: a part of the day held while somebody is killed or stopped, a lock is left about, the disk is full. By number, the same each time. */
import { execFileSync } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync, rmSync, writeSync } from "node:fs";
import { open as openFile } from "node:fs/promises";
import { join } from "node:path";
import { type Workspace, madeOf, remove } from "../engine/harness.ts";
import { ACTS, type Act, type Day, open, sleep } from "./day.ts";
import { leftBy } from "./left.ts";
import { patiently } from "../patience.ts";
import { below, commandOf, seeded, signal } from "./processes.ts";

// Longer than the lease of an owner (10 s).
const STOPPED_MS = 13_000;

/** A short drill holds one of these, a long one the day. */
const SHORT: readonly Act[] = ["import", "pay", "send", "wire", "undo", "confirm", "import", "send", "wire", "propose"];
const WHOLE_DAY: readonly Act[] = ["import", "pay", "confirm", "send", "propose", "wire", "undo"];

const VICTIMS: Record<string, (pid: number) => boolean> = {
  launcher: (pid) => /bin\/cleared\.js/.test(commandOf(pid)),
  host: (pid) => /cli\/main\.ts start/.test(commandOf(pid)),
  git: (pid) => /^git |git-core/.test(commandOf(pid)),
  sandbox: (pid) => /sandbox\/child/.test(commandOf(pid)),
  compiler: (pid) => /compile-child/.test(commandOf(pid)),
  checker: (pid) => /--api/.test(commandOf(pid)),
  all: () => true,
};

const LOCKS = ["refs/heads/main.lock", "HEAD.lock", "index.lock", "packed-refs.lock", "config.lock"];

export interface Drill {
  number: number;
  /** `kill host`, `stop all`, `lock HEAD.lock`, `slow writer`, `full disk`. */
  what: string;
  part: readonly Act[];
}

// As often as each has ways to go wrong.
export const KINDS = [
  ..."kill host,kill git,kill all,stop host,kill sandbox,kill host,lock,kill launcher,kill all,kill git,stop sandbox,kill checker".split(
    ",",
  ),
  ..."kill host,slow writer,kill compiler,stop git,lock,kill all,full disk,kill host,stop all,kill git,stop checker,kill sandbox".split(
    ",",
  ),
  ..."lock,stop launcher,kill host,stop host,kill all,stop compiler,kill launcher".split(","),
];

export function drill(number: number, whole: boolean): Drill {
  const random = seeded(number);
  const kind = KINDS[number % KINDS.length] as string;
  const what = kind === "lock" ? `lock ${LOCKS[Math.floor(random() * LOCKS.length)]}` : kind;
  const any = SHORT[Math.floor(random() * SHORT.length)] as Act;
  // Only a change makes somebody read and check a script that nobody has read before.
  const act = /compiler|checker/.test(what) ? "propose" : kind === "slow writer" ? "import" : any;
  return { number, what, part: whole ? WHOLE_DAY : [act] };
}

/** Holds the part in peace; answers what it leaves and how long it took. */
export async function calm(template: Workspace, part: readonly Act[]): Promise<{ left: unknown; ms: number }> {
  const one = madeOf(template);
  const day = await open(one);
  const began = performance.now();
  for (const act of part) await ACTS[act](day);
  const ms = performance.now() - began;
  const left = await end(day);
  remove(one);
  return { left, ms };
}

async function end(day: Day): Promise<unknown> {
  await day.careful.until;
  await day.until(async () => {
    const waits = (await day.runs()).filter(
      (run) => run.status === "queued" || run.status === "running" || (run.status === "waiting" && run.reason !== "approval"),
    );
    return day.ready() && waits.length === 0 && !day.cards().some((card) => card.kind === "in_doubt");
  });
  // What follows the last commit, such as the cards of its entries, follows within half a second of a quiet machine.
  for (let [seen, since] = ["", Date.now()]; Date.now() - since < patiently(1500); await day.until(() => true)) {
    const now = day
      .cards(true)
      .map((card) => `${card.id} ${card.decision?.decision}`)
      .join();
    if (now !== seen) [seen, since] = [now, Date.now()];
    await sleep(100);
  }
  await day.stop();
  return leftBy(day);
}

/** Holds the drill; answers what it left, or null where this machine cannot hold it. Leaves the workspace when `keep` says so of that. */
export async function hold(
  { number, what, part }: Drill,
  template: Workspace,
  calmMs: number,
  keep: (left: unknown) => boolean,
): Promise<unknown> {
  const random = seeded(number + 1000);
  const place = what === "full disk" ? smallDisk(template, number) : undefined;
  if (place === null) return null;
  const one = madeOf(template, place);
  try {
    const day = await open(one, [], what === "slow writer" ? slowly(random) : undefined);
    let over = false;
    const disturbing = disturb(day, what, random, random() * calmMs, () => over, place ?? "");
    // It is waited for below: what it says is heard then.
    disturbing.catch(() => undefined);
    for (const act of part) await ACTS[act](day);
    over = true;
    await disturbing;
    const left = await end(day);
    if (!keep(left)) remove(one);
    return left;
  } finally {
    if (place !== undefined) execFileSync("umount", ["-l", place], { stdio: "ignore" });
  }
}

/** `over`: the acts are done; who has not been met by then is met no more. */
async function disturb(day: Day, what: string, random: () => number, after: number, over: () => boolean, place: string): Promise<void> {
  const [verb, whom = ""] = what.split(" ");
  await sleep(after);
  if (verb === "lock") return lock(join(day.dir, ".git", whom), 300 + random() * 5000);
  if (verb === "full") return fill(join(place, "ballast"), 1500);
  const victim = VICTIMS[whom];
  if (victim === undefined) return;
  const found = () => [day.pid(), ...below(day.pid())].filter(victim);
  while (found().length === 0) {
    if (over()) return;
    // Only a git is gone again in a moment, and looking costs.
    await sleep(whom === "git" ? 10 : 50);
  }
  await sleep(random() * 30);
  const pids = found();
  if (verb === "kill") for (const pid of pids) signal(pid, "SIGKILL");
  else await stop(day, pids, whom === "host" || whom === "all");
}

async function stop(day: Day, pids: number[], isOwner: boolean): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  day.careful.until = promise;
  for (const pid of pids) signal(pid, "SIGSTOP");
  const [again] = await Promise.all([isOwner ? day.command("run", "quick") : null, sleep(STOPPED_MS)]);
  for (const pid of pids.toReversed()) signal(pid, "SIGCONT");
  // It may be in the middle of what it had begun; then it finds that it is replaced.
  setTimeout(resolve, 4000);
  if (again !== null && again.code !== 0) throw new Error(`nobody took over from a stopped owner: ${again.said}`);
}

/** Somebody's own lock: it must still be there when they take it away. */
async function lock(file: string, ms: number): Promise<void> {
  for (;;) {
    try {
      closeSync(openSync(file, "wx"));
      break;
    } catch {
      // A git has it at this moment.
      await sleep(1);
    }
  }
  await sleep(ms);
  if (!existsSync(file)) throw new Error(`${file} was somebody's and is gone`);
  rmSync(file);
}

async function fill(file: string, ms: number): Promise<void> {
  const handle = openSync(file, "w");
  try {
    for (const size of [1 << 20, 4096]) {
      try {
        for (;;) if (writeSync(handle, Buffer.alloc(size)) < size) break;
      } catch {
        // full
      }
    }
    await sleep(ms);
  } finally {
    closeSync(handle);
    rmSync(file);
  }
}

/** Writes a piece now and then, as a slow download does. */
function slowly(random: () => number) {
  return async (path: string, text: string): Promise<void> => {
    if (existsSync(path)) return;
    const file = await openFile(path, "w");
    for (let at = 0; at < text.length; at += 90) {
      await file.write(text.slice(at, at + 90));
      await sleep(50 + random() * 150);
    }
    await file.close();
  };
}

/** A disk of its own, or null where nobody may mount one. */
function smallDisk(template: Workspace, number: number): string | null {
  const place = join(template.dir, `../disk ${number}`);
  mkdirSync(place, { recursive: true });
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=40m", "tmpfs", place], { stdio: "ignore" });
    return place;
  } catch {
    return null;
  }
}
