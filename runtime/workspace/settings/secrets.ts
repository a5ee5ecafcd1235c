/**
 * Secrets of tool servers and mail, in one file encrypted with age; the one door to age-encryption. The identity is .cleared/secrets.key
 * (made at the first `set`), or the file CLEARED_AGE_IDENTITY names: age identities, or a passphrase on a single line. Values are never logged. The user's state folder
 * has the hash of the file: one that came with the folder counts only once a person has confirmed it with trust.yaml.
 */
import { hash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { chmod, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ClearedError, didYouMean } from "../../kernel/errors.ts";
import { SECRETS, SECRETS_KEY } from "../layout.ts";
import { CONFIRMED, ifThere, keepFor, keptFor } from "../own-folders.ts";

const SECRET_NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
// A shorter value would occur by chance in amounts and names, and redacting it from answers would change them.
const SHORTEST = 8;
const LONGEST = 65_536;

type Identity = { keys: string[] } | { passphrase: string };

const FOLDER = "secrets";
interface Own {
  /** Hashes of secrets.age as this user has stored or confirmed it. */
  files: string[];
}

/** Takes the stored secrets for this user's own: a person has seen their names and confirmed them. @throws FOLDER_UNSAFE */
export const adoptSecrets = (dir: string): void => {
  const file = join(dir, SECRETS);
  keepFor(FOLDER, dir, { files: existsSync(file) ? [hash("sha256", readFileSync(file))] : [] } satisfies Own);
};

/** True for secrets that this user has neither stored nor confirmed: whoever made the folder knows them. @throws FOLDER_UNSAFE */
function isForeign(dir: string, sealed: Buffer): boolean {
  const kept = keptFor<Own>(FOLDER, dir);
  if (kept !== null) return !kept.files.includes(hash("sha256", sealed));
  // A confirmation by an older version includes them.
  if (keptFor(CONFIRMED, dir) === null) return true;
  adoptSecrets(dir);
  return false;
}

/** The present values by name. @throws SECRET_MISSING, now if they cannot be read, or later for an unknown name */
export async function readSecrets(dir: string): Promise<(name: string) => string> {
  const values = await openSecrets(dir).all();
  return (name) => mustHave(values, name);
}

export function openSecrets(dir: string) {
  const [file, keyFile] = [join(dir, SECRETS), process.env["CLEARED_AGE_IDENTITY"] ?? join(dir, SECRETS_KEY)];

  const identity = async (): Promise<Identity | null> => {
    const text = (await readIf(keyFile))?.toString("utf8");
    if (text === undefined) return null;
    const keys = text.split("\n").filter((line) => line.startsWith("AGE-SECRET-KEY-"));
    if (keys.length > 0) return { keys: keys.map((key) => key.trim()) };
    const passphrase = text.trim();
    if (passphrase === "" || passphrase.includes("\n")) throw missing(`${keyFile} holds neither an age identity nor a passphrase.`);
    return { passphrase };
  };

  const read = async (foreign = false): Promise<Map<string, string>> => {
    const sealed = await readIf(file);
    if (sealed === null) return new Map();
    if (!foreign && isForeign(dir, sealed))
      throw missing(
        `${SECRETS} came with this folder, and whoever made it knows the values, so they are not used. \`cleared trust\` names them and asks.`,
      );
    const who = await identity();
    if (who === null) throw missing(`${SECRETS} cannot be read: ${keyFile} does not exist.`);
    const { Decrypter } = await import("age-encryption");
    const opener = new Decrypter();
    if ("keys" in who) for (const key of who.keys) opener.addIdentity(key);
    else opener.addPassphrase(who.passphrase);
    try {
      const values: unknown = JSON.parse(await opener.decrypt(sealed, "text"));
      return new Map(Object.entries(values as Record<string, string>));
    } catch (cause) {
      throw missing(`${SECRETS} cannot be read with ${keyFile}; it was written for another identity, or is damaged.`, cause);
    }
  };

  const write = async (values: Map<string, string>): Promise<void> => {
    const { Encrypter, generateX25519Identity, identityToRecipient } = await import("age-encryption");
    let who = await identity();
    if (who === null) {
      const key = await generateX25519Identity();
      await writeFile(keyFile, `# Reads ${SECRETS}. Keep it: without it they are lost.\n${key}\n`, { mode: 0o600, flag: "wx" });
      who = { keys: [key] };
    }
    const sealer = new Encrypter();
    if ("keys" in who) for (const key of who.keys) sealer.addRecipient(await identityToRecipient(key));
    else sealer.setPassphrase(who.passphrase);
    const sealed = await sealer.encrypt(JSON.stringify(Object.fromEntries(values)));
    const aside = `${file}.new`;
    await writeFile(aside, sealed, { mode: 0o600, flush: true });
    await chmod(aside, 0o600);
    // Both until the file is in its place: a crash in between leaves readable secrets.
    const before = await readIf(file);
    keepFor(FOLDER, dir, { files: [sealed, ...(before === null ? [] : [before])].map((one) => hash("sha256", one)) } satisfies Own);
    await rename(aside, file);
    adoptSecrets(dir);
  };

  return {
    /** Values by name. @throws SECRET_MISSING when the file cannot be read */
    all: () => read(),
    names: async () => [...(await read()).keys()].sort(),
    /** Names of secrets that came with the folder and that nobody has confirmed; null if there are none. Empty if they cannot be read. */
    foreign: async (): Promise<string[] | null> => {
      const sealed = await readIf(file);
      if (sealed === null || !isForeign(dir, sealed)) return null;
      return read(true).then(
        (values) => [...values.keys()].sort(),
        () => [],
      );
    },
    /** @throws USAGE for a name or value that cannot be stored */
    set: async (name: string, value: string): Promise<void> => {
      if (!SECRET_NAME.test(name)) throw new ClearedError("USAGE", `"${name}" cannot name a secret: use letters, digits, - and _.`);
      const size = `${SHORTEST} to ${LONGEST} characters`;
      if (value.length < SHORTEST || value.length > LONGEST)
        throw new ClearedError("USAGE", `A secret has ${size}: a shorter one could not be distinguished from ordinary text.`);
      await write((await read()).set(name, value));
    },
    /** @throws SECRET_MISSING */
    remove: async (name: string): Promise<void> => {
      const values = await read();
      mustHave(values, name);
      values.delete(name);
      await write(values);
    },
  };
}

function mustHave(values: Map<string, string>, name: string): string {
  const value = values.get(name);
  if (value !== undefined) return value;
  throw missing(`There is no secret "${name}".${didYouMean(name, values.keys())} Store it with \`cleared secrets set ${name}\`.`);
}

const missing = (message: string, cause?: unknown): ClearedError => new ClearedError("SECRET_MISSING", message, { cause });

const readIf = (path: string): Promise<Buffer | null> =>
  ifThere(readFile(path)).catch((error: Error) => {
    throw missing(`${path} cannot be read: ${error.message}`);
  });
