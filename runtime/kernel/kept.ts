/** A cache of values that can be made again from their key: drops the least recently used once they weigh over `most`, never the last one set. */
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

  /** The value of a key, made by the first caller. A promise that rejects is made again by the next caller. */
  of(key: K, make: () => V): V {
    const found = this.get(key);
    if (found !== undefined) return found;
    const made = make();
    this.set(key, made);
    if (made instanceof Promise) made.catch(() => this.delete(key));
    return made;
  }

  /** Like `of`, but stores the resolved value, because it is weighed; concurrent callers each make it. */
  async load(key: K, make: () => Promise<V>): Promise<V> {
    const found = this.get(key);
    if (found !== undefined) return found;
    const made = await make();
    this.set(key, made);
    return made;
  }
}

// A workspace has a few hundred such texts: accounts, currencies, runs, names of tags.
const MOST_TEXTS = 2000;
const texts = new Map<string, string>();

/** One shared copy of equal texts: for text that each entry of a long history repeats, so that it is stored and hashed once. */
export function sharedText(text: string): string {
  const known = texts.get(text);
  if (known !== undefined) return known;
  if (texts.size >= MOST_TEXTS) texts.clear();
  // An object key is a copy: a slice of a file's text would keep the whole file in memory.
  const [own = text] = Object.keys({ [text]: 0 });
  texts.set(own, own);
  return own;
}
