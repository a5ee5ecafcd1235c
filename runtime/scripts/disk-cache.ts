/**
 * Results of reading or compiling, cached on disk for the next process. Only a shortcut: an entry that is torn, changed or older
 * than the code that made it is ignored. Its seal is keyed by the user and includes the folder it was made in: what others wrote, or what came with a
 * clone or a copy, is ignored too.
 */
import { createHash, createHmac } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";

export interface DiskCache {
  /** The text stored under these words, or null. */
  get(...key: string[]): string | null;
  /** Stores it if the disk accepts it; nothing depends on that. */
  put(text: string, ...key: string[]): void;
}

// A workspace has some hundred scripts and versions of its config; more entries are old ones.
const MAX_ENTRIES = 2000;

/** `userKey`: known to this user only. */
export function createDiskCache(folder: string, userKey: string): DiskCache {
  let seal: string | null = null;
  // Device, inode and creation time of this folder cannot be known in advance elsewhere.
  const sealOf = (): string => {
    if (seal !== null) return seal;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const { dev, ino, birthtimeNs } = statSync(folder, { bigint: true });
    seal = digest(codeVersion(), String(dev), String(ino), String(birthtimeNs));
    return seal;
  };
  const lineOf = (body: string, key: string[]): string =>
    createHmac("sha256", userKey)
      .update(digest(sealOf(), ...key, body))
      .digest("hex");
  const fileOf = (key: string[]) => join(folder, digest(sealOf(), ...key));
  return {
    get(...key) {
      codeVersion(); // outside the try: a source file it does not find is our bug, not a disk error
      try {
        const text = readFileSync(fileOf(key), "utf8");
        const body = text.slice(text.indexOf("\n") + 1);
        return text.startsWith(`${lineOf(body, key)}\n`) ? body : null;
      } catch {
        return null; // not stored, or not readable: made again
      }
    },
    put(body, ...key) {
      codeVersion();
      try {
        const file = fileOf(key);
        const aside = `${file}.${process.pid}`;
        writeFileSync(aside, `${lineOf(body, key)}\n${body}`, { mode: 0o600 });
        renameSync(aside, file);
        const kept = readdirSync(folder);
        if (kept.length > MAX_ENTRIES) for (const name of kept) rmSync(join(folder, name), { force: true });
      } catch {
        // A full or read-only disk: the next process makes it again.
      }
    },
  };
}

function digest(...parts: string[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(`${part.length}:${part}`);
  return hash.digest("hex");
}

let version: string | null = null;

/** Changes whenever the code that reads scripts, its parsers or Node change. */
function codeVersion(): string {
  if (version !== null) return version;
  const here = dirname(fileURLToPath(import.meta.url));
  const hash = createHash("sha256").update(process.version);
  const extension = extname(fileURLToPath(import.meta.url));
  // kernel/text.ts decides what the language lint refuses; compile-child.ts how a source is processed.
  const others = ["kernel/text", "sandbox/compile-child"].map((name) => `../${name}${extension}`);
  const names = [...readdirSync(here).sort(), ...others];
  for (const name of names) hash.update(name).update(readFileSync(join(here, name)));
  hash.update(readFileSync(join(here, "../../package.json")));
  version = hash.digest("hex");
  return version;
}
