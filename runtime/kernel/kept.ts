/** What can be made again from its key alone: a map that forgets what was used longest ago once its values weigh too much. What was set last stays. */
export class Kept<K, V> extends Map<K, V> {
  readonly #most: number;
  readonly #weigh: (value: V) => number;
  #weight = 0;

  constructor(most: number, weigh: (value: V) => number = () => 1) {
    super();
    this.#most = most;
    this.#weigh = weigh;
  }

  override get(key: K): V | undefined {
    const value = super.get(key);
    if (value !== undefined && super.delete(key)) super.set(key, value);
    return value;
  }

  override set(key: K, value: V): this {
    this.delete(key);
    super.set(key, value);
    this.#weight += this.#weigh(value);
    for (const oldest of this.keys()) {
      if (this.#weight <= this.#most || oldest === key) break;
      this.delete(oldest);
    }
    return this;
  }

  override delete(key: K): boolean {
    const old = super.get(key);
    if (old !== undefined) this.#weight -= this.#weigh(old);
    return super.delete(key);
  }

  override clear(): void {
    super.clear();
    this.#weight = 0;
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

  /** The same where the value, by which it is weighed, is waited for; who asks in the meantime makes it as well. */
  async load(key: K, make: () => Promise<V>): Promise<V> {
    const found = this.get(key);
    if (found !== undefined) return found;
    const made = await make();
    this.set(key, made);
    return made;
  }
}

// A few hundred: accounts, currencies, runs, names of tags.
const MOST_TEXTS = 2000;
const texts = new Map<string, string>();

/** An equal text, one for all who ask: for what each entry of a long history repeats, so that it is kept and hashed once. */
export function sharedText(text: string): string {
  const known = texts.get(text);
  if (known !== undefined) return known;
  if (texts.size >= MOST_TEXTS) texts.clear();
  // A key is a copy: a part of a file's text would keep all of that in memory.
  const [own = text] = Object.keys({ [text]: 0 });
  texts.set(own, own);
  return own;
}
