/** Values that follow from their key alone, made once while they are in use. Bounded: scripts change, and each commit has its own. */

const MAX_KEPT = 200;

/** Answers the value of a key, made by the first who asks. One that fails is made again by the next. */
export function createMemo<T>(): (key: string, make: () => T) => T {
  const kept = new Map<string, T>();
  return (key, make) => {
    const found = kept.get(key);
    if (found !== undefined) return found;
    const made = make();
    if (kept.size >= MAX_KEPT) kept.clear();
    kept.set(key, made);
    if (made instanceof Promise) made.catch(() => kept.delete(key));
    return made;
  };
}
