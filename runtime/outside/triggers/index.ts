/**
 * Automatic starts of runs: schedules, files, events. All follow HEAD of the configured branch, so a change of an agent by plain git takes
 * effect within seconds; while nothing can be committed (another branch, a merge) they wait and report it once.
 */
import { toWire } from "../../kernel/errors.ts";
import { quoted } from "../../kernel/text.ts";
import { createTurns } from "../../kernel/turns.ts";
import { type Planned, createBell, forgetOthers, scheduleProblem, startDue } from "./cron.ts";
import { type EventPorts, deliverEvents, listensTo, watchedFolder } from "./events.ts";
import { type FilePorts, startForFiles, createWatch } from "./files.ts";

export interface TriggerPorts extends EventPorts, FilePorts {
  now(): number;
  dir: string;
  timezone(): Promise<string>;
  head(): Promise<string>;
  /** Who is paused, as text: when it changes, watched folders are scanned. */
  paused(): string;
  /** Null, or a sentence that says why nothing can be committed now. */
  blockedBy(): Promise<string | null>;
  /** Queues the runs whose obstacle (a person's edit, another branch) is gone. */
  wakeWaiting(): Promise<void>;
  /** Brings cards of entries in line with changed books. False while a run is executing, whose own cards come with its commit. */
  reconcile(): Promise<boolean>;
  /** Does the work unless a manual import is about to start, after which the folder is scanned anyway. */
  inTurn<T>(work: () => Promise<T>): Promise<T | null>;
  /** Moves away statement files whose import is complete. */
  tidy(): Promise<void>;
  /** What was found in the import folder since the last call, one sentence each. */
  found(): string[];
}

const LOOK_MS = 500;
const RETURNED = "came back because its import was undone. `cleared import` imports it again; move it away if it shall not be.";
// The timer signals each minute. What it missed (a sleeping machine, a clock change) is found a little later.
const BELL_MS = 5000;

export type Triggers = ReturnType<typeof startTriggers>;

export function startTriggers(ports: TriggerPorts) {
  let head = "";
  let reconciled = "";
  let paused = ports.paused();
  let lastBlock: string | null = null;
  let lastFailure = "";
  const inTurn = createTurns();
  let stopped = false;
  let folders: string[] = [];
  const told = new Set<string>();
  const served = new Set<string>();

  /** One execution at a time; a failure is reported once and the next execution tries again. */
  const serial = (work: () => Promise<void>): Promise<void> =>
    inTurn(async () => {
      if (stopped) return;
      try {
        await work();
        lastFailure = "";
      } catch (error) {
        const { message } = toWire(error);
        if (message !== lastFailure) ports.note(message);
        lastFailure = message;
      }
    });

  const sayOnce = (message: string, key = message) => {
    if (!told.has(key)) ports.note(message);
    told.add(key);
  };

  const open = async (): Promise<boolean> => {
    const block = await ports.blockedBy();
    if (block !== null && block !== lastBlock) ports.note(`Triggers wait: ${block}`);
    if (block === null && lastBlock !== null) ports.note("Triggers continue.");
    const freed = block === null && lastBlock !== null;
    lastBlock = block;
    if (freed) lookEverywhere();
    return block === null;
  };

  const lookAt = (folder: string): Promise<void> =>
    serial(async () => {
      const { files, waiting } = await ports.look(folder);
      for (const { name, why, kind, tell } of waiting) if (tell) sayOnce(`${folder}${name} ${why}.`, `${folder}${name}\0${kind}`);
      const soon = waiting.flatMap(({ inMs }) => inMs ?? []);
      if (soon.length > 0) watcher.lookAgain(folder, Math.min(...soon));
      const copies: string[] = [];
      const onCopy = (agent: string, name: string) => {
        copies.push(name);
        sayOnce(
          `${folder}${name} has the content of a file that ${agent} has processed, and is not processed again. \`cleared run ${agent} --again ${quoted(name)}\` does that.`,
          `${folder}${name}\0copy ${agent}`,
        );
      };
      const started = (await open()) ? await ports.inTurn(() => startForFiles(ports, folder, files, { onCopy })) : [];
      const returned = (started ?? []).flatMap((one) => one.returned);
      for (const name of returned) sayOnce(`${folder}${name} ${RETURNED}`, `${folder}${name}\0undone`);
      // Each reason is reported once per file; one that returns later is reported again.
      const keys = new Set([...waiting.map(({ name }) => name), ...returned, ...copies].map((name) => `${folder}${name}\0`));
      if (started !== null)
        for (const key of told) if (key.startsWith(folder) && !keys.has(key.slice(0, key.indexOf("\0") + 1))) told.delete(key);
      if (lastBlock !== null) return;
      await ports.tidy();
      for (const sentence of ports.found()) ports.note(sentence);
    });
  const lookEverywhere = () => {
    for (const folder of folders) void lookAt(folder);
  };
  const watcher = createWatch(ports.dir, (folder) => void lookAt(folder));

  let planned: Planned[] = [];
  let nextDue: number | null = null;
  let lookedAt = ports.now();
  const startAllDue = async () => {
    nextDue = ports.now();
    if (planned.length > 0 && !(await open())) return;
    const dues: (number | null)[] = [];
    for (const one of planned) dues.push(await startDue(ports, one));
    nextDue = dues.reduce((a, b) => (a === null || b === null ? (a ?? b) : Math.min(a, b)), null);
  };

  const bell = createBell(() => void serial(startAllDue));

  const followHead = async () => {
    const now = await ports.head();
    if (now === head) return;
    const agents = await ports.agents();
    const timezone = await ports.timezone();
    const schedules: Planned[] = [];
    const watched = new Set<string>();
    for (const { name, header } of agents) {
      if (listensTo(header, "schedule") && header.schedule !== undefined)
        schedules.push({ agent: name, expression: header.schedule, timezone: header.timezone ?? timezone, missed: header.missed });
      if (listensTo(header, "file_watch")) watched.add(watchedFolder(header));
    }
    const ringing: Planned[] = [];
    for (const one of schedules) {
      const problem = await scheduleProblem(one, ports.now());
      if (problem === null) ringing.push(one);
      else sayOnce(`agents/${one.agent}.ts: ${problem}`);
    }
    // A schedule without ticks is no longer due, whatever it was before.
    planned = schedules;
    await bell.set(ringing);
    forgetOthers(
      ports.database,
      // A header that cannot be parsed may contain a schedule, which stays overdue until somebody has seen it.
      agents.filter(({ header }) => header === null || listensTo(header, "schedule")).map(({ name }) => name),
    );
    folders = [...watched];
    await watcher.set(folders);
    // Changed settings or an undone import may make files importable again.
    if (head !== "") lookEverywhere();
    head = now;
    await startAllDue();
  };

  const timer = setInterval(() => {
    void serial(async () => {
      await followHead();
      const now = ports.now();
      const setBack = now < lookedAt;
      lookedAt = now;
      if (setBack || (nextDue !== null && now >= nextDue + BELL_MS)) await startAllDue();
      if (paused !== ports.paused()) {
        paused = ports.paused();
        lookEverywhere();
      }
      if ((ports.emitted().length > 0 || lastBlock !== null) && (await open())) await deliverEvents(ports, served);
      await ports.wakeWaiting();
      if (reconciled !== head && (await ports.reconcile())) reconciled = head;
    });
  }, LOOK_MS);
  void serial(followHead);

  return {
    /** A run is over: files that arrived meanwhile are handled now. */
    rested: lookEverywhere,
    async stop(): Promise<void> {
      stopped = true;
      clearInterval(timer);
      // An execution in progress may still set schedules and watchers.
      await inTurn(async () => undefined);
      bell.stop();
      await watcher.stop();
    },
  };
}
