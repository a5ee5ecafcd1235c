/** Every path in a user's workspace, in one place. Paths are relative to the workspace root and use forward slashes. */

export const CONFIG = "config.yaml";
export const TRUST = "trust.yaml";
/** The command of a workspace, made by `cleared init`; git-ignored. `cleared.cmd` is that of Windows. */
export const LAUNCHER = "cleared";
/** What a shell may start for `./cleared`, or Windows for `cleared`: with whoever tracks it, a clone would bring their program. */
export const LAUNCHERS = [LAUNCHER, ...["cmd", "bat", "com", "exe", "ps1"].map((ending) => `${LAUNCHER}.${ending}`)];
export const AGENTS = "agents/";
export const SCRIPTS = "scripts/";
/** Synthesized tools: scripts that become primitives. */
export const TOOLS = "scripts/tools/";
export const IMPORTERS = "importers/";
export const POLICIES = "policies/";
/** Cases, `cases/<agent>/<name>.yaml`: what must remain right about recorded runs. */
export const CASES = "cases/";
/** What was learned, as text that agents and models read. */
export const KNOWLEDGE = "knowledge/";
export const IMPORT = "import/";
export const PROCESSED = "import/processed/";
export const RECEIPTS = "import/receipts/";
export const MAIN_JOURNAL = "main.journal";
export const JOURNAL = "journal/";
/** Files of agents: data_read and data_write can access nothing outside. */
export const DATA = "data/";
/** The audit record: one file per line, so that two clones never write the same file. */
export const AUDIT = "audit/";
/** Git-ignored and of this machine alone: run store, socket, secrets, generated types. */
export const STATE = ".cleared/";
export const STORE = ".cleared/store.db";
export const SOCKET = ".cleared/sock";
/** Where older versions stored the person's key; now it is in the user's own folder (own-folders.ts). Nothing uses it where it is. */
export const KEY = ".cleared/person.key";
/** The same of a folder that was not confirmed here: whoever made the folder has the key, too. */
export const FOREIGN_KEY = ".cleared/person.key.foreign";
/** Identifies this copy of the workspace; a confirmation of trust.yaml names it. */
export const ID = ".cleared/id";
/** Values that trust.yaml names as secret:NAME, encrypted with age, and the identity that reads them. */
export const SECRETS = ".cleared/secrets.age";
export const SECRETS_KEY = ".cleared/secrets.key";
/** Statements as they were taken from import/, by the hash of their content. */
export const STATEMENTS = ".cleared/statements/";
export const TYPES = ".cleared/types/";
/** Parsed and compiled files; may be deleted at any time. */
export const CACHE = ".cleared/cache/";

/** Bytes of a file that people and proposals write; others may be larger. */
export const WRITTEN_BYTES = 1_000_000;
export const isWritten = (path: string): boolean => /^(?:(?:agents|scripts|policies|importers)\/|config\.yaml$)/.test(path);

/** `journal/2026/11.journal` of `2026-11-06`. */
export const monthFile = (date: string): string => `${JOURNAL}${date.slice(0, 4)}/${date.slice(5, 7)}.journal`;

/** `agents/ingest.ts` of `ingest`. */
export const agentFile = (name: string): string => `${AGENTS}${name}.ts`;

/** `ingest` of `agents/ingest.ts`. */
export const agentOf = (file: string): string => file.slice(AGENTS.length).replace(/\.ts$/, "");

/** Why no agent can be called as this file in agents/, or null. */
export const misnamed = (file: string): string | null =>
  /^agents\/[a-z][a-z0-9_-]*\.ts$/.test(file)
    ? null
    : `${file} cannot be an agent by this name: use small letters, digits, "-" and "_", directly in ${AGENTS}, such as ${agentFile("monthly-close")}.`;

/** `scripts/round.ts` of `round`. */
export const scriptFile = (name: string): string => `${SCRIPTS}${name}.ts`;

/** `scripts/tools/overtime_split.ts` of the primitive `compute_overtime_split`. */
export const toolFile = (primitive: string): string => `${TOOLS}${primitive.replace(/^compute_/, "")}.ts`;

/** `compute_overtime_split` of `scripts/tools/overtime_split.ts`; null for a path that cannot be a tool. */
export function toolOf(path: string): string | null {
  const name = /^scripts\/tools\/([a-z][a-z0-9]*(?:_[a-z0-9]+)*)\.ts$/.exec(path)?.[1];
  return name === undefined ? null : `compute_${name}`;
}

/** `import/receipts/<hash>.yaml` of a statement's content hash (sha256, hex). */
export const receiptFile = (hash: string): string => `${RECEIPTS}${hash}.yaml`;

/** `policies/payroll.yaml` of `payroll`. */
export const policyFile = (name: string): string => `${POLICIES}${name}.yaml`;

/** `cases/ingest/run_x.yaml` of `ingest` and `run_x`. */
export const caseFile = (agent: string, name: string): string => `${CASES}${agent}/${name}.yaml`;
