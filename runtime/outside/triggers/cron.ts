/**
 * Plain schedules: node-cron rings at the minute, croner says which ticks are due, were missed and come next. A tick's key is its minute,
 * so that it starts one run however often it is heard (a restart within the minute, two processes). Both packages are loaded when a
 * schedule needs them.
 */
import type { Cron } from "croner";
import type { ScheduledTask } from "node-cron";

export interface Schedule {
  agent: string;
  /** Five fields, cron. */
  expression: string;
  /** IANA name. */
  timezone: string;
}

/** The next tick after a moment, or null when there is none, as for an expression that is not cron. */
export function nextTick(schedule: Schedule, after: number): Promise<number | null> {
  return asked(schedule, null, (cron) => cron.nextRun(new Date(after))?.getTime() ?? null);
}

/** Why a schedule never starts anything, as a sentence; null when it has a next tick. */
export async function scheduleProblem(schedule: Schedule, after: number): Promise<string | null> {
  return (await nextTick(schedule, after)) === null ? neverComes(schedule) : null;
}

const neverComes = ({ expression }: Schedule): string =>
  `schedule: "${expression}" never comes: it is not a cron expression, or no calendar has such a day. Write five fields: minute hour day month weekday, for example "0 6 * * *".`;

/** The last `count` ticks until a moment (inclusive), oldest first. */
export function lastTicks(schedule: Schedule, until: number, count: number): Promise<number[]> {
  return asked(schedule, [], (cron) =>
    // croner counts whole seconds and leaves out the one it is given.
    cron
      .previousRuns(count + 1, new Date(until + 1000))
      .map((tick) => tick.getTime())
      .filter((tick) => tick <= until)
      .slice(0, count)
      .reverse(),
  );
}

async function asked<T>({ expression, timezone }: Schedule, none: T, ask: (cron: Cron) => T): Promise<T> {
  const { Cron } = await import("croner");
  if (!isFiveFields(expression)) return none;
  try {
    return ask(new Cron(expression, { timezone, paused: true }));
  } catch {
    return none; // `set` has told what is wrong with it
  }
}

/** What makes a tick unique: the schedule as it is written and the minute. */
export function tickKey(expression: string, at: Date): string {
  return `${expression}@${at.toISOString().slice(0, 16)}`;
}

export interface Ticking {
  /** Replaces the schedules that changed and leaves the others alone. Answers a sentence for each that is not cron. */
  set(schedules: Schedule[]): Promise<string[]>;
  stop(): void;
}

export function createCron(onTick: (agent: string) => void): Ticking {
  const tasks = new Map<string, ScheduledTask>();
  const keyOf = (one: Schedule) => `${one.agent}\n${one.expression}\n${one.timezone}`;
  return {
    async set(schedules) {
      const wanted = new Map(schedules.map((one) => [keyOf(one), one]));
      for (const [key, task] of tasks) {
        if (wanted.has(key)) continue;
        void task.destroy();
        tasks.delete(key);
      }
      const wrong: string[] = [];
      for (const [key, one] of wanted) {
        if (tasks.has(key)) continue;
        const { schedule, validate } = await import("node-cron");
        const problem = validate(one.expression) ? await scheduleProblem(one, Date.now()) : neverComes(one);
        if (problem !== null) {
          wrong.push(`agents/${one.agent}.ts: ${problem}`);
          continue;
        }
        tasks.set(
          key,
          schedule(one.expression, () => onTick(one.agent), { timezone: one.timezone, suppressMissedWarning: true }),
        );
      }
      return wrong;
    },
    stop() {
      for (const task of tasks.values()) void task.destroy();
      tasks.clear();
    },
  };
}

// A sixth field would mean seconds: no business process of one run a second.
function isFiveFields(expression: string): boolean {
  return expression.trim().split(/\s+/).length === 5;
}
