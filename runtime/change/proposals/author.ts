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
import type { Proposal, ProposalDraft } from "../proposal-types.ts";

type Place = { dir: string; database: Database };

export interface Signing {
  /** The signature of this person over a document; undefined if their key is not here. */
  sign?(by: string, text: Json): string | undefined;
}

const AUTHOR = "proposal author ";
const sealOf = (dir: string, id: string, commit: string): string => sealerOf(dir)("author", id, commit);

/** Called before the change is visible, by whoever makes it here. */
export const sealAuthor = ({ dir, database }: Place, id: string, commit: string): void =>
  setFact(database, `${AUTHOR}${id}`, sealOf(dir, id, commit));

type Told = Pick<Proposal, "id" | "base" | "by" | "despite">;

/** What a person signs as the author: the files as they become, by hash. */
function authorText({ id, base, by, despite }: Told, files: readonly (readonly [path: string, text: string | null])[]): Json {
  const hashes = files.map(([path, text]) => [path, text === null ? null : hash("sha256", text)] as const);
  return { proposal: id, base, by, despite, files: Object.fromEntries(hashes) };
}

/** The signature of whoever proposes, if their key is here. */
export const signAuthor = (
  { sign }: Signing,
  [id, base]: readonly [id: string, base: string],
  { by, despite }: Pick<ProposalDraft, "by" | "despite">,
  files: Record<string, string | null>,
): string | undefined => sign?.(by, authorText({ id, base, by, despite: despite ?? null }, Object.entries(files)));

/** The person, agent or NOBODY who counts as having made it. */
export async function authorOf(
  { dir, database, git, trust: { people } }: Place & { git: Pick<Git, "tree">; trust: Pick<Trust, "people"> },
  proposal: Omit<Proposal, "number">,
): Promise<string> {
  const { id, commit, by, starter = null, signature = null, files } = proposal;
  if (getFact(database, `${AUTHOR}${id}`) === sealOf(dir, id, commit)) return starter ?? by;
  const person = people.find(({ name }) => name === by);
  // Who started the run of an agent is known only where it ran.
  if (person === undefined || starter !== null || signature === null) return NOBODY;
  const tree = git.tree(commit);
  const texts = await Promise.all(files.map(async ({ path }) => [path, await tree.read(path)] as const));
  return isSigned(authorText(proposal, texts), signature, person.key) ? by : NOBODY;
}
