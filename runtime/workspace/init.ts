/**
 * A new workspace: the starter files in a new git repository, a key for the first person, a launcher, the first commit, and the hook that
 * checks a person's commits. All or nothing: if something fails, a folder that was empty before is empty again.
 */
import { chmod, cp, lstat, mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { ClearedError, didYouMean, toWire } from "../kernel/errors.ts";
import { parseConfig, parseTrust } from "./settings/config.ts";
import { git, gitFailed, tryGit } from "./git/git-process.ts";
import { keepConfirmation, lookAtTrust } from "./settings/confirmation.ts";
import {
  agentFile,
  AGENTS,
  CONFIG,
  IMPORT,
  IMPORTERS,
  LAUNCHER,
  LAUNCHERS,
  MAIN_JOURNAL,
  policyFile,
  scriptFile,
  SCRIPTS,
  STATE,
  TRUST,
} from "./layout.ts";
import { ifThere, keepKey, personKey, readIfThere } from "./own-folders.ts";
import { parseHeader } from "../scripts/header.ts";
import { commandEnv, SETTINGS } from "./git/environment.ts";

export interface InitOptions {
  /** Name of the business. */
  name: string;
  /** The product's own folder, whose top level is laid out like a workspace. */
  from: string;
  /** The agents it starts with, including everything they use. Default: all that come with the product. */
  agents?: readonly string[];
  /** The first person, who may approve. Default: user.name of git, else the user of this machine. */
  person?: string;
  /** Writes other files of the first commit. */
  prepare?: (dir: string) => Promise<void>;
}

const FOLDERS = [AGENTS, SCRIPTS, IMPORTERS, "policies/"];

const GITIGNORE = `# Run store, socket, keys and generated types of this machine.
.cleared/
# Statements stay out of git; their receipts are in.
import/*
!import/.gitkeep
!import/receipts/
# The launcher holds a path of this machine.
/cleared
/cleared.cmd
node_modules/
`;

// Journal text is compared byte by byte, so its line ends must be the same on every machine.
const GITATTRIBUTES = "* text=auto eol=lf\n";

/**
 * Makes a workspace in a new or empty folder.
 * @throws WORKSPACE_EXISTS, USAGE for a name that cannot be one, GIT_FAILED
 */
export async function initWorkspace(dir: string, options: InitOptions): Promise<void> {
  const target = resolve(dir);
  const existed = await assertEmpty(target);
  const person =
    options.person?.trim() ||
    (await tryGit(process.cwd(), ["config", "user.name"])).stdout.toString().trim() ||
    userInfo().username ||
    "owner";
  // An invalid name is refused before anything is written.
  const files = await fill(options, person);
  await mkdir(target, { recursive: true });
  try {
    await write(target, files, options);
    await options.prepare?.(target);
    const { branch } = parseConfig(await readFile(join(target, CONFIG), "utf8"));
    await makeRepository(target, branch, person, `bootstrap: books of ${options.name.replace(/\s+/g, " ").trim()}`);
    keepKey(files.half, files.key);
    // The user who made the workspace has written its trust.yaml, so it needs no confirmation.
    keepConfirmation(target, lookAtTrust(target));
  } catch (error) {
    for (const name of existed ? await readdir(target) : []) await rm(join(target, name), { recursive: true, force: true });
    if (!existed) await rm(target, { recursive: true, force: true });
    throw error;
  }
}

/** True when the folder exists and is empty, false when it does not exist. */
async function assertEmpty(target: string): Promise<boolean> {
  const found = await ifThere(stat(target)).catch((error: Error) => {
    throw new ClearedError("WORKSPACE_EXISTS", `${target} cannot be used: ${error.message}. Choose a new folder.`, { cause: error });
  });
  if (found === null) return false;
  if (!found.isDirectory()) throw new ClearedError("WORKSPACE_EXISTS", `${target} is a file. Choose a new or empty folder.`);
  const [first] = await readdir(target);
  if (first !== undefined)
    throw new ClearedError("WORKSPACE_EXISTS", `${target} is not empty (it has ${first}). Choose a new or empty folder.`);
  return true;
}

/**
 * Makes `dir` a repository and commits everything in it, with simple-git, because no other process writes to it yet. The committer is that of
 * the user's git configuration; without one, `person` is set in the repository's, so that the person's own commits work too.
 * @throws GIT_FAILED with the message of git, STORE_FULL
 */
async function makeRepository(dir: string, branch: string, person: string, message: string): Promise<void> {
  // Imported here because no other command needs it.
  const { simpleGit } = await import("simple-git");
  const env = commandEnv({});
  const git = simpleGit({
    baseDir: dir,
    config: SETTINGS.map(([key, value]) => `${key}=${value}`),
    allowEnvironment: Object.keys(env),
    // simple-git refuses these settings by default; here they switch programs off: hooks, monitor, editor, pager, prompts, most protocols.
    unsafe: {
      allowUnsafeHooksPath: true,
      allowUnsafeFsMonitor: true,
      allowUnsafeEditor: true,
      allowUnsafePager: true,
      allowUnsafeAskPass: true,
      allowUnsafeProtocolOverride: true,
      allowUnsafeConfigPaths: true, // it also refuses PREFIX, which git does not read
    },
  }).env(env);
  try {
    await git.init(["-q", "-b", branch]);
    for (const [key, value] of Object.entries({ "user.name": person, "user.email": "cleared@localhost" }))
      if (((await git.getConfig(key)).value ?? "").trim() === "") await git.addConfig(key, value);
    await git.add("-A");
    await git.commit(message, { "-q": null, "--no-gpg-sign": null });
  } catch (error) {
    throw gitFailed("The first commit", error instanceof Error ? error.message : String(error));
  }
}

/**
 * The starter's two settings files with the business, this machine's time zone and the person filled in; and the person's key pair: the
 * public half (`half`) as trust.yaml has it, the private one as PEM.
 */
async function fill({ from, name }: InitOptions, person: string) {
  const { half, key } = personKey();
  const config = (await readFile(join(from, CONFIG), "utf8"))
    .replace(/^ {2}name: .*?(?= +#|$)/m, () => `  name: ${JSON.stringify(name.trim())}`)
    .replace(/^timezone: \S+/m, () => `timezone: ${new Intl.DateTimeFormat().resolvedOptions().timeZone}`);
  const trust = (await readFile(join(from, TRUST), "utf8")).replace(
    /^people: \[\].*$/m,
    () => `people:\n  - name: ${JSON.stringify(person)}\n    key: ${half}`,
  );
  // Parsed again, so that no name can mean something else as YAML.
  if (asGiven(() => parseConfig(config)).business.name !== name.trim())
    throw new ClearedError("CONFIG_INVALID", `The starter's ${CONFIG} has no place for the business's name.`);
  if (asGiven(() => parseTrust(trust)).people[0]?.key !== half)
    throw new ClearedError("CONFIG_INVALID", `The starter's ${TRUST} has no place for the first person.`);
  return { config, trust, half, key };
}

/** What is wrong in the new files is wrong with what was given for them, and no line of a file that there is. @throws USAGE */
function asGiven<T>(parse: () => T): T {
  try {
    return parse();
  } catch (cause) {
    throw new ClearedError("USAGE", `${toWire(cause).message.replace(/^\S+:\d+: /, "")}. Nothing was made.`, { cause });
  }
}

async function write(target: string, { config, trust }: Awaited<ReturnType<typeof fill>>, { from, agents }: InitOptions): Promise<void> {
  const wanted = agents === undefined ? null : new Set(partsOf(from, agents).files);
  // Dialects belong to no process: statements of every known bank can be read.
  const isWanted = (path: string) => wanted === null || path.startsWith(IMPORTERS) || !path.includes(".") || wanted.has(path);
  for (const folder of FOLDERS) {
    const source = join(from, folder);
    if (existsSync(source))
      await cp(source, join(target, folder), {
        recursive: true,
        filter: (path) =>
          !/(?:^|[/\\])\.(?!gitkeep)[^/\\]*$/.test(path.slice(source.length)) && isWanted(relative(from, path).replaceAll("\\", "/")),
      });
  }
  await cp(join(from, MAIN_JOURNAL), join(target, MAIN_JOURNAL));
  await mkdir(join(target, IMPORT), { recursive: true });
  await mkdir(join(target, STATE), { recursive: true, mode: 0o700 });
  const settings = { [CONFIG]: config, [TRUST]: trust };
  const files = { ...settings, ".gitignore": GITIGNORE, ".gitattributes": GITATTRIBUTES, [`${IMPORT}.gitkeep`]: "" };
  for (const [path, text] of Object.entries(files)) await writeFile(join(target, path), text);
  for (const [path, text] of Object.entries(launchersOf(from))) await writeFile(join(target, path), text);
  await chmod(join(target, LAUNCHER), 0o755);
}

/** `./cleared` and `cleared.cmd` call the product by its absolute path, so that a workspace needs only node in PATH. */
function launchersOf(product: string): Record<string, string> {
  const program = join(resolve(product), "bin", "cleared.js");
  const call = `exec node '${program.replaceAll("'", "'\\''")}' "$@"`;
  return {
    [LAUNCHER]: `#!/bin/sh\n# Runs Cleared for this workspace; made by cleared init.\n${call}\n`,
    [`${LAUNCHER}.cmd`]: `@echo off\r\nnode "${program.replaceAll("%", "%%")}" %*\r\n`,
  };
}

/** Launchers in a workspace that start something else than this product. */
export function foreignLaunchers(dir: string, product: string): string[] {
  const ours = launchersOf(product);
  return LAUNCHERS.filter((name) => existsSync(join(dir, name)) && readIfThere(join(dir, name)) !== ours[name]);
}

/** The processes that come with the product. */
export function starterAgents(product: string): string[] {
  return readdirSync(join(product, AGENTS))
    .flatMap((name) => (name.endsWith(".ts") ? [name.slice(0, -3)] : []))
    .sort();
}

/**
 * Everything these agents use: their scripts, the sub-scripts and agents they call, their policies (the paths are the same in the product and
 * in a workspace), and the tools that they call (SERVER/NAME). Read from the texts of the product's own folder, which are trusted.
 * @throws USAGE for a process that does not come with Cleared
 */
export function partsOf(product: string, agents: readonly string[]): { files: string[]; tools: string[] } {
  const all = starterAgents(product);
  const queue = agents.map((name) => {
    if (!all.includes(name))
      throw new ClearedError(
        "USAGE",
        `Cleared brings no process "${name}".${didYouMean(name, all)} \`cleared add\` without a name lists ${all.join(", ")}.`,
      );
    return agentFile(name);
  });
  const files = new Set<string>();
  const tools = new Set<string>();
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    if (files.has(path)) continue;
    files.add(path);
    const text = readFileSync(join(product, path), "utf8");
    for (const [, name = ""] of text.matchAll(/\bscript_run\(\s*"([a-z0-9_]+)"/g)) queue.push(scriptFile(name));
    for (const [, tool = ""] of text.matchAll(/"([a-z][a-z0-9_-]*\/[a-z][a-z0-9_]*)"/g)) tools.add(tool);
    for (const [, name = ""] of text.matchAll(/\bpolicy: "([a-z0-9_]+)"/g)) files.add(policyFile(name));
    if (!path.startsWith(AGENTS)) continue;
    const { process: named, uses } = parseHeader(text, path);
    for (const use of uses) if (use.startsWith("agent:")) queue.push(agentFile(use.slice("agent:".length)));
    const policy = policyFile(named ?? path.slice(AGENTS.length, -3));
    if (existsSync(join(product, policy))) files.add(policy);
  }
  return { files: [...files].sort(), tools: [...tools].sort() };
}

/**
 * Writes .git/hooks/pre-commit, `file`, with `line`, unless one exists. `program`: absolute path of the launcher. Status "there": the hook
 * already calls it; "foreign": a hook of the user's own, which is never touched, or hooks are kept elsewhere.
 */
export async function installHook(dir: string, program: string) {
  const line = `node '${program.replaceAll("'", "'\\''")}' check --staged`;
  const elsewhere = await hooksPath(dir);
  const folder = elsewhere ?? join(resolve(dir, (await git(dir, ["rev-parse", "--git-common-dir"])).toString().trim()), "hooks");
  const file = join(folder, "pre-commit");
  const own = readIfThere(file);
  if (own?.includes(line) === true) return { file, line, status: "there" as const };
  // A link to a missing file is the user's own hook, too, and through a linked folder a file would be made elsewhere.
  const linked = (await lstat(folder).catch(() => null))?.isSymbolicLink() === true;
  if (own !== null || elsewhere !== null || linked || (await lstat(file).catch(() => null)) !== null)
    return { file, line, status: "foreign" as const };
  await mkdir(dirname(file), { recursive: true });
  const about = "Checks what is about to be committed; made by cleared init --hooks. Once without: git commit --no-verify";
  await writeFile(file, `#!/bin/sh\n# ${about}\nexec ${line}\n`, { flag: "wx" });
  await chmod(file, 0o755);
  return { file, line, status: "made" as const };
}

/** Where the user's own git configuration puts hooks, if not .git/hooks. The setting that our own git commands pass does not count. */
async function hooksPath(dir: string): Promise<string | null> {
  const { stdout } = await tryGit(dir, ["config", "--show-scope", "--type=path", "--get-all", "core.hooksPath"]);
  const own = /^(?!command\t)\w+\t(.*)$/m.exec(stdout.toString())?.[1];
  return own === undefined ? null : resolve(dir, own);
}
