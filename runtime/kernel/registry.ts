/**
 * All primitives of a workspace: the built-in ones and those of its plugins. Lookups by an unknown name suggest the nearest one.
 * Plugins are local files or packages that trust.yaml names; they run in the host with all its rights, so nothing else may name one.
 */
import { createHash } from "node:crypto";
import { existsSync, lstatSync, readFileSync, readdirSync, readlinkSync, realpathSync, type Stats, statSync } from "node:fs";
import { createRequire, registerHooks } from "node:module";
import { basename, dirname, extname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { ClearedError, didYouMean } from "./errors.ts";
import { EFFECTS, type Primitive } from "./primitive.ts";
import { ACCESSES } from "./states.ts";

export type Registry = ReturnType<typeof createRegistry>;

/** @throws PLUGIN_INVALID when two primitives have the same name */
export function createRegistry(builtin: readonly Primitive[], plugins: readonly Primitive[] = []) {
  const byName = new Map<string, Primitive>();
  for (const primitive of [...builtin, ...plugins]) {
    const existing = byName.get(primitive.name);
    if (existing !== undefined) {
      const owner = existing.plugin === null ? "a built-in primitive has that name" : `${existing.plugin} also has that name`;
      throw new ClearedError(
        "PLUGIN_INVALID",
        `${primitive.plugin ?? "A built-in file"} exports ${primitive.name}, but ${owner}. Rename it.`,
        { data: { name: primitive.name } },
      );
    }
    byName.set(primitive.name, primitive);
  }
  const all = [...byName.values()];
  return {
    /** @throws PRIMITIVE_UNKNOWN with the nearest name */
    get(name: string): Primitive {
      const found = byName.get(name);
      if (found !== undefined) return found;
      const shown = name.slice(0, 80);
      throw new ClearedError("PRIMITIVE_UNKNOWN", `There is no primitive "${shown}".${didYouMean(shown, byName.keys())}`);
    },
    has: (name: string): boolean => byName.has(name),
    /** In the order of docs/PRIMITIVES.md, plugins last. */
    names: (): string[] => [...byName.keys()],
    /** What `uses:` may name. */
    domains: (): string[] => [...new Set(all.map((one) => one.domain))],
    all: (): readonly Primitive[] => all,
  };
}

/** A plugin as trust.yaml names it: a file of the workspace, or an exact version of a package in its node_modules. */
export type PluginSource = string | { package: string; version: string };

export const pluginName = (source: PluginSource): string => (typeof source === "string" ? source : `${source.package}@${source.version}`);

/** Imports the plugins of a workspace. @throws PLUGIN_INVALID naming the file or package and the reason */
export async function loadPlugins(dir: string, sources: readonly PluginSource[]): Promise<Primitive[]> {
  if (sources.length > 0) holdPlugins();
  const root = realpathSync(dir);
  for (const { path } of pluginFiles(dir, sources)) confirmed.set(pathToFileURL(join(root, path)).href, root);
  return sources.flatMap((source) => loadPlugin(dir, source));
}

/** A file of code in a workspace, by its path in it. `hash`: of its content; of a link also where it leads. */
export interface CodeFile {
  path: string;
  hash: string;
}

// Cleared and its tool servers write there without anybody's confirmation.
export const NO_CODE = "where no code may be. Move it to another folder of the workspace";

/** True for a path in `.cleared`, by its name or by where it leads. */
export function leadsIntoState(root: string, path: string): boolean {
  const at = resolve(root, path);
  const real = behindLink(at) === undefined ? at : realpathSync(at);
  return [at, real].some((one) => /^\.cleared(?:[\\/]|$)/i.test(relative(root, one)));
}

/** The code whose content a person confirms with trust.yaml; a plugin's import of any other file of the workspace fails. */
export function pluginFiles(dir: string, sources: readonly PluginSource[]): CodeFile[] {
  const root = realpathSync(dir);
  return sources.flatMap((source) => {
    const at = typeof source === "string" ? resolve(root, source) : join(root, "node_modules", source.package);
    if (leadsIntoState(root, at)) throw invalid(pluginName(source), `it is in .cleared, ${NO_CODE}`);
    if (typeof source === "string") return codeBeside(root, source);
    return existsSync(at) && realpathSync(at).startsWith(`${root}${sep}`) ? codeBelow(root, relative(root, realpathSync(at))) : [];
  });
}

// Kinds of files that nothing runs or compiles. Every other kind counts as code, because a list of what is code is never complete.
const DATA =
  /\.(?:csv|tsv|jsonl?|ya?ml|journal|ledger|ofx|qfx|qif|mt940|md|rst|txt|pdf|png|jpe?g|gif|webp|heic|tiff?|ico|eml|msg|zip|gz|xlsx?|ods|docx?|odt|log|parquet|(?:db|sqlite3?)(?:-wal|-shm|-journal)?|bak|orig|rej)$|^(?:\.git(?:ignore|attributes|keep|modules)|licen[cs]e|copying|readme|notice|authors|changelog)$/i;
// Without an ending: build files are named like these; any other may be the output of somebody's command.
const BUILD = /^(?:\p{Lu}.*|.*file|w(?:af)?script)$/u;
// Settings in these formats that name code to a program that looks for them.
const SETTINGS =
  /^(?:(?:package|package-lock|npm-shrinkwrap|composer|[tj]sconfig.*|.*config|lerna|nx|turbo|project|deno|import_?map)\.json|(?:taskfile|pnpm-.*|(?:docker-)?compose.*)\.ya?ml|(?:(?:requirements|constraints).*|cmakelists)\.txt)$/i;
// Banks name their statements as they like, and authorities the files they want.
const PROGRAM = /\.(?:[cm]?[jt]sx?|py\w?|pth|rb|pl|pmc?|php|lua\w?|r|[bz]?a?sh|ps\w?1|bat|cmd|exe|dll|so|dylib|node|jar|class|wasm)$/i;

/** The name of a program or of its settings: what agents may not write into data/. */
export const namesProgram = (name: string): boolean => PROGRAM.test(name) || SETTINGS.test(name);

// What editors and file managers write by themselves. Like other data it counts where its name stands in code.
const EDITOR =
  /(?:[\\/]|^)(?:\.[^\\/]+\.sw[a-p]|[^\\/]+~|\.#[^\\/]+|\.DS_Store|Thumbs\.db|desktop\.ini|\.editorconfig)$|^\.(?:idea|vscode)[\\/]/;
function isCode(path: string): boolean {
  const name = basename(path);
  if (MADE.test(path) || PROGRAM.test(name)) return !MADE.test(path);
  if (/^import[\\/]/.test(path) || KEPT.test(path) || EDITOR.test(path)) return false;
  const isHidden = /[\\/]\.(?!git)|^\.(?!git|cleared[\\/])/.test(path);
  const hasEnding = name.replace(/^\./, "").includes(".");
  if (isHidden || path.startsWith(`data${sep}`)) return isHidden || namesProgram(name);
  return SETTINGS.test(name) || (!DATA.test(name) && (hasEnding || BUILD.test(name)));
}

// No person can confirm more at once, and a larger folder holds more than plugins.
const MOST_FILES = 2000;
// What Cleared itself writes, by its names: typings, parsed files, and files that exist for a moment; its store and its keys.
const MADE = /^\.cleared[\\/](?:types[\\/]primitives\.d\.ts|cache[\\/][\da-f]{64}[.\d]*|tmp[\\/]\d+-\w*-[\da-f]+)$/;
const KEPT = /^\.cleared[\\/](?:statements[\\/][\da-f]{64}|store\.db|id|sock|refresh\.json|propose\.json|.*\.(?:pem|key|age))\b[^\\/]*$/;

/** A file of the workspace with the code beside and below it; at the workspace's top only beside it. Empty for a path that is not a file in it. */
export function codeBeside(root: string, file: string): CodeFile[] {
  const at = resolve(root, file);
  const real = behindLink(at)?.isFile() === true ? realpathSync(at) : null;
  if (real === null || !real.startsWith(`${root}${sep}`)) return [];
  const [own, folder] = [relative(root, real), relative(root, dirname(real))];
  if (leadsIntoState(root, own)) return [];
  return [codeFile(root, own), ...codeBelow(root, folder)];
}

/** Code in a folder and below it, without installed packages. `deep`: also below the workspace's top. `others`: gets all other files there. */
export function codeBelow(root: string, folder: string, deep = folder !== "", others: string[] = []): CodeFile[] {
  const found: CodeFile[] = [];
  const walk = (at: string): void => {
    for (const entry of readdirSync(join(root, at), { withFileTypes: true })) {
      const path = join(at, entry.name);
      if (entry.isDirectory() && deep && !MADE.test(path) && !isInstalled(join(root, path))) walk(path);
      else if (!entry.isDirectory() && (isCode(path) || isProgram(root, path))) found.push(codeFile(root, path));
      else if ((entry.isFile() || entry.isSymbolicLink()) && !MADE.test(path) && !KEPT.test(path)) others.push(path.replaceAll("\\", "/"));
      if (found.length > MOST_FILES)
        throw new ClearedError(
          "PLUGIN_INVALID",
          `${folder || "The workspace"} holds more than ${MOST_FILES} files of code, too many for a person to confirm. Move files that are not needed here elsewhere.`,
        );
    }
  };
  walk(folder);
  return found;
}

/** Git's own folder, installed packages, or what Python compiled (which its servers do not load: outside/mcp/stdio.ts): `assertUntracked` refuses a repository that contains such a folder. */
const isInstalled = (path: string): boolean =>
  ["node_modules", "__pycache__", ".git"].includes(basename(path)) || existsSync(join(path, "pyvenv.cfg"));

// Unpacking an archive may have made everything executable, also the run store.
const isProgram = (root: string, path: string): boolean =>
  !path.startsWith(".cleared") && ((lstatSync(join(root, path), { throwIfNoEntry: false })?.mode ?? 0) & 0o111) !== 0;

/** Undefined for a link that leads nowhere, or to itself, and for a text that cannot be a path: words are looked up, too. */
export function behindLink(at: string): Stats | undefined {
  try {
    return statSync(at);
  } catch {
    return undefined;
  }
}

export function codeFile(root: string, path: string): CodeFile {
  const at = join(root, path);
  const found = lstatSync(at);
  const behind = found.isSymbolicLink() ? behindLink(at) : found;
  if (found.isSymbolicLink() && leadsIntoState(root, path))
    throw new ClearedError("PLUGIN_INVALID", `${path} is a link into .cleared, ${NO_CODE}.`);
  if (!found.isSymbolicLink() && !found.isFile()) throw new ClearedError("PLUGIN_INVALID", `${path} is not a file. Remove it.`);
  if (behind?.isFile() === true && behind.size > 2 ** 28)
    throw new ClearedError("PLUGIN_INVALID", `${path} is larger than 256 MiB, too much to confirm. Move it elsewhere.`);
  const hash = createHash("sha256").update(found.isSymbolicLink() ? `-> ${readlinkSync(at)}\n` : "");
  if (behind?.isFile() === true) hash.update(readFileSync(at));
  return { path: path.replaceAll("\\", "/"), hash: hash.digest("hex") };
}

function loadPlugin(dir: string, source: PluginSource): Primitive[] {
  const file = pluginName(source);
  const path = typeof source === "string" ? pluginPath(dir, source) : packageEntry(dir, source);
  const exports = requirePlugin(path, file);
  const entries = Object.entries(exports);
  if (entries.length === 0) throw invalid(file, "it exports no primitive; write `export const domain_verb = definePrimitive({ ... })`");
  return entries.map(([key, value]) => {
    const wrong = wrongWith(value);
    if (wrong !== null) throw invalid(file, `its export "${key}" ${wrong}`);
    const primitive = value as Primitive;
    if (key !== primitive.name) throw invalid(file, `its export "${key}" declares the name "${primitive.name}"; make them equal`);
    return { ...primitive, plugin: file };
  });
}

/** Entry of a package in the workspace's own node_modules, at exactly the confirmed version. */
function packageEntry(dir: string, source: Exclude<PluginSource, string>): string {
  const name = pluginName(source);
  const root = realpathSync(dir);
  const install = `Run \`npm install --save-exact ${name}\` in the workspace`;
  const manifest = join(root, "node_modules", source.package, "package.json");
  let version: unknown;
  try {
    ({ version } = JSON.parse(readFileSync(manifest, "utf8")) as { version?: unknown });
  } catch (error) {
    throw invalid(name, `the workspace's node_modules does not have it. ${install}`, error);
  }
  if (version !== source.version)
    throw invalid(name, `node_modules has version ${String(version)}. ${install}, or read that version and name it in trust.yaml`);
  let entry: string;
  try {
    entry = realpathSync(createRequire(join(root, "package.json")).resolve(source.package));
  } catch (error) {
    throw invalid(name, "its package.json names no entry that can be loaded; it needs main, or exports with a default", error);
  }
  // A link to a folder elsewhere is code that the version number does not identify.
  if (!entry.startsWith(`${root}${sep}`)) throw invalid(name, `it is a link to a place outside the workspace. ${install}`);
  return entry;
}

/** Real path of a plugin inside the workspace: a symlink out of it would run unconfirmed code. */
function pluginPath(dir: string, file: string): string {
  if (isAbsolute(file)) throw invalid(file, "its path is absolute; name a file of the workspace");
  if (![".ts", ".js", ".mjs"].includes(extname(file))) throw invalid(file, "it is not a .ts or .js file");
  const root = realpathSync(dir);
  if (!existsSync(resolve(root, file))) throw invalid(file, "the file does not exist");
  const path = realpathSync(resolve(root, file));
  if (!path.startsWith(`${root}${sep}`)) throw invalid(file, "it lies outside the workspace");
  if (!statSync(path).isFile()) throw invalid(file, "it is not a regular file");
  return path;
}

/** Loaded synchronously: a plugin that awaits something at its top level could keep the host from starting. */
function requirePlugin(path: string, file: string): Record<string, unknown> {
  try {
    return { ...(createRequire(import.meta.url)(path) as Record<string, unknown>) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_REQUIRE_ASYNC_MODULE")
      throw invalid(file, "it awaits something at its top level; await inside run", error);
    throw invalid(file, error instanceof Error ? reasonOf(error) : String(error), error);
  }
}

/** First line of a message that is a sentence; a syntax error's message starts with the excerpt. */
function reasonOf(error: Error): string {
  const lines = error.message.split("\n").map((line) => line.trim());
  return lines.find((line) => /^[\w'"`].* /.test(line)) ?? error.name;
}

/** What is wrong with a plugin's export, or null. A plugin may be written without types. */
function wrongWith(value: unknown): string | null {
  const one = value as Partial<Primitive> | null;
  if (
    typeof one !== "object" ||
    one === null ||
    typeof one.name !== "string" ||
    typeof one.domain !== "string" ||
    typeof one.run !== "function"
  ) {
    return "is not a primitive; declare it with definePrimitive";
  }
  if (!(EFFECTS as readonly unknown[]).includes(one.effect))
    return `has the effect ${JSON.stringify(one.effect)}; it must be one of ${EFFECTS.join(", ")}`;
  if (!ACCESSES.some((access) => access === one.access))
    return `has the access ${JSON.stringify(one.access)}; \`access:\` must be one of ${ACCESSES.join(", ")}`;
  if (typeof one.returns?.safeParse !== "function") return "has no `returns:` schema";
  if (typeof one.summary !== "string" || typeof one.example !== "string" || !Array.isArray(one.errors))
    return "lacks summary, example or errors";
  if ((one.effect === "external" || one.effect === "notify") && typeof one.dryRun !== "function") return "acts outside and has no dryRun";
  return null;
}

function invalid(file: string, why: string, cause?: unknown): ClearedError {
  return new ClearedError("PLUGIN_INVALID", `Plugin ${file}: ${why.replace(/[.]$/, "")}.`, { at: { file }, cause });
}

/** Confirmed files of plugins by URL, each with its workspace. */
const confirmed = new Map<string, string>();
let holding = false;

/** Once per process: `import ... from "cleared"` resolves to runtime/plugin.ts, and a plugin cannot load unconfirmed code of its workspace. */
function holdPlugins(): void {
  if (holding) return;
  holding = true;
  // With our own extension, because compiled output has plugin.js.
  const ours = new URL(`../plugin${extname(import.meta.url)}`, import.meta.url).href;
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier === "cleared") return { url: ours, shortCircuit: true };
      const found = next(specifier, context);
      const root = context.parentURL === undefined ? undefined : confirmed.get(context.parentURL);
      if (root === undefined || confirmed.has(found.url) || !found.url.startsWith(`${pathToFileURL(root).href}/`)) return found;
      if (/\/node_modules\/|\.json$/.test(found.url)) return found;
      const [file = "", parent = ""] = [found.url, context.parentURL ?? ""].map((url) => relative(root, fileURLToPath(url)));
      throw invalid(parent, `it imports ${file}, which lies outside the plugin's own folder and is not confirmed with it; move it there`);
    },
  });
}
