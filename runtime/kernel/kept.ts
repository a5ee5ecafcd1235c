/** What can be made again from its key alone, kept while it is in use: a map that is emptied when it is full. */
export class Kept<K, V> extends Map<K, V> {
  readonly #most: number;

  constructor(most: number) {
    super();
    this.#most = most;
  }

  override set(key: K, value: V): this {
    if (this.size >= this.#most && !this.has(key)) this.clear();
    return super.set(key, value);
  }

  /** The value of a key, made by the first who asks. One that fails is made again by the next. */
  of(key: K, make: () => V): V {
    const found = this.get(key);
    if (found !== undefined) return found;
    const made = make();
    this.set(key, made);
    if (made instanceof Promise) made.catch(() => this.delete(key));
    return made;
  }
}
