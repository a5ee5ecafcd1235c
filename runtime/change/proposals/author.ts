/**
 * Who made a proposal, as far as that is proven: by a seal where it was made in this folder, else by its person's signature in its change. The
 * names in a change prove nothing, because anybody who may write or push its refs can put them there.
 */
import { hash } from "node:crypto";
import type { Database } from "../../engine/store/database.ts";
import { getFact, setFact } from "../../engine/store/facts.ts";
import { isSigned } from "../../engine/signature.ts";
import type { Git, Json } from "../../kernel/ports.ts";
import { NOBODY } from "../../kernel/text.ts";
import type { Trust } from "../../workspace/settings/config.ts";
import { sealerOf } from "../../workspace/settings/confirmation.ts";
import type { Proposal } from "../proposal-types.ts";

type Place = { dir: string; database: Database };
type Objected = { git: Pick<Git, "objects"> };

/** The last line of a change's message. */
export const SIGNATURE = "Proposer-signature";

export interface Signing {
  /** The signature of this person over a document; undefined if their key is not here. */
  sign?(by: string, text: Json): string | undefined;
}

const AUTHOR = "proposal author ";
const sealOf = (dir: string, id: string, commit: string): string => sealerOf(dir)("author", id, commit);

/** Called before the change is visible, by whoever makes it here. */
export const sealAuthor = ({ dir, database }: Place, id: string, commit: string): void =>
  setFact(database, `${AUTHOR}${id}`, sealOf(dir, id, commit));

/** What a person signs as the author: their whole commit (files, base, time, message), as it is without the line of the signature. */
const authorText = (commit: Buffer): Json => ({ change: hash("sha256", commit) });

/** The signature of whoever proposes, if their key is here, over a commit whose message lacks only that line. */
export async function signAuthor({ sign, git }: Signing & Objected, by: string, commit: string): Promise<string | undefined> {
  const object = await git.objects.find(commit);
  return object === null ? undefined : sign?.(by, authorText(object.bytes));
}

/** The person, agent or NOBODY who counts as having made it. */
export async function authorOf(
  { dir, database, git, trust: { people } }: Place & Objected & { trust: Pick<Trust, "people"> },
  proposal: Omit<Proposal, "number">,
): Promise<string> {
  const { id, commit, by, starter = null, signature = null } = proposal;
  if (getFact(database, `${AUTHOR}${id}`) === sealOf(dir, id, commit)) return starter ?? by;
  const person = people.find(({ name }) => name === by);
  // Who started the run of an agent is known only where it ran.
  if (person === undefined || starter !== null || signature === null) return NOBODY;
  const bytes = (await git.objects.find(commit))?.bytes ?? Buffer.of();
  const line = Buffer.from(`${SIGNATURE}: ${signature}\n`);
  const isLast = bytes.subarray(-line.length).equals(line);
  return isLast && isSigned(authorText(bytes.subarray(0, -line.length)), signature, person.key) ? by : NOBODY;
}
