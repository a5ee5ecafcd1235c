/** Work on many items, a few or one at a time. */

/**
 * Works on items, `slots` at a time; results in the order of the items; `done` is called with the number finished. After a failure no new
 * item begins, those under way finish, and the first failure is thrown.
 */
export async function inSlots<T, R>(
  items: readonly T[],
  slots: number,
  work: (item: T) => Promise<R>,
  done?: (count: number, total: number) => void,
): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  let through = 0;
  const slot = async (): Promise<void> => {
    try {
      for (let at = next++; at < items.length; at = next++) {
        results[at] = await work(items[at] as T);
        done?.(++through, items.length);
      }
    } catch (error) {
      next = items.length;
      throw error;
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: Math.min(slots, items.length) }, slot));
  for (const one of ended) if (one.status === "rejected") throw one.reason;
  return results;
}

/** Runs at most `size` at a time, in the order of the calls. */
export function createSlots(size: number): <R>(work: () => Promise<R>) => Promise<R> {
  let free = size;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (free > 0) free--;
    else await new Promise<void>((next) => waiting.push(next));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free++;
      else next();
    }
  };
}

/** One at a time: for work that takes so much memory that two at once are too many. */
export const createTurns = () => createSlots(1);

/** One at a time for each key. */
export function createKeyedTurns(): <R>(key: string, work: () => Promise<R>) => Promise<R> {
  const turns = new Map<string, Promise<unknown>>();
  return async (key, work) => {
    const turn = (turns.get(key) ?? Promise.resolve()).then(work, work);
    turns.set(key, turn);
    try {
      return await turn;
    } finally {
      if (turns.get(key) === turn) turns.delete(key);
    }
  };
}
