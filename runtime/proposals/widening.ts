/**
 * What a change widens: more rights, fewer gates, milder rules. Computed from the two trees, never declared, and nothing is executed; each
 * is one line with its place. What cannot be compared is told as widened. Also what trust.yaml demands of whoever decides on it.
 */
import { type Ladder, ladderSchema, strictest } from "../policy/levels.ts";
import type { Tree } from "../ports.ts";
import { readYaml } from "../sandbox/yaml-text.ts";
import { type Config, type Trust, parseConfig } from "../workspace/config.ts";
import { AGENTS, CASES, CONFIG, IMPORTERS, POLICIES, SCRIPTS } from "../workspace/layout.ts";
import { parsePack } from "../workspace/policies.ts";
import { type Around, type Program, programAt } from "./program.ts";
import type { Report, Widening } from "./types.ts";
import { configWidening } from "./widening-config.ts";
import { policyWidening } from "./widening-policy.ts";
import { programWidening } from "./widening-scripts.ts";

// As in the starter config.yaml, where a workspace sets none.
const AUTO_CONFIRM = 0.95;

/** Every widening between two trees, of the files that differ: `paths`. In the order of the paths. */
export async function wideningOf(base: Tree, tree: Tree, paths: readonly string[], around: Around): Promise<Widening[]> {
  const configs = await Promise.all([base, tree].map((one) => configAt(one, around)));
  const ladder = configs[1]?.policy ?? configs[0]?.policy ?? ladderSchema.parse({});
  const confirm = Number(configs[0]?.thresholds["auto_confirm"] ?? AUTO_CONFIRM);
  const found: Widening[] = [];
  const touched = new Set(paths);
  for (const path of paths) {
    const [was, now] = [await base.blob(path), await tree.blob(path)];
    if (was === now) continue;
    if (path === CONFIG) found.push(...(await settings(configs[0] ?? null, configs[1] ?? null, tree)));
    else if (isPack(path)) found.push(...(await policy(base, tree, path, ladder, around)));
    else if (isScript(path)) found.push(...(await script(base, tree, path, around, confirm)));
    else if (path.startsWith(CASES)) found.push(...retired(path, was, now));
    else if (path.startsWith(IMPORTERS) && was !== null)
      found.push({ kind: "setting", text: `how statements are read by ${path} changes`, at: { file: path } });
  }
  found.push(...(await orphans(base, tree, touched, around)));
  return once(found);
}

const isScript = (path: string): boolean => /^(?:agents\/[^/]+|scripts\/.+)\.ts$/.test(path);
const isPack = (path: string): boolean => path.startsWith(POLICIES) && path.endsWith(".yaml");

async function configAt(tree: Tree, { cache }: Around): Promise<Config | null> {
  try {
    return parseConfig((await tree.read(CONFIG)) ?? "", cache);
  } catch {
    return null; // told as a setting that cannot be compared; the check of the config says what is wrong
  }
}

async function settings(was: Config | null, now: Config | null, tree: Tree): Promise<Widening[]> {
  if (was === null || now === null)
    return [{ kind: "setting", text: "config.yaml cannot be compared: compare by hand", at: { file: CONFIG } }];
  const yaml = readYaml((await tree.read(CONFIG)) ?? "", { file: CONFIG, code: "CONFIG_INVALID", maxLength: 262_144 });
  return configWidening(was, now, (key) => yaml.at(key.split(".")).line);
}

async function policy(base: Tree, tree: Tree, path: string, ladder: Ladder, around: Around): Promise<Widening[]> {
  const [before, after] = [await base.read(path), await tree.read(path)];
  const name = path.slice(POLICIES.length, -".yaml".length);
  if (before === null) return [];
  if (after === null) return [{ kind: "policy", text: `the policy ${name} is removed with all its rules`, at: { file: path } }];
  try {
    const read = (text: string) => parsePack(text, path, ladder, around.cache);
    const lines = after.split("\n");
    const lineOf = (word: string) => lines.findIndex((line) => new RegExp(`\\b${RegExp.escape(word)}\\b`).test(line)) + 1 || undefined;
    return policyWidening(read(before), read(after), ladder, lineOf);
  } catch {
    // A pack with an error is refused by its own check; here it only must not pass as unchanged.
    return [{ kind: "policy", text: `the policy ${name} cannot be compared: compare by hand`, at: { file: path } }];
  }
}

async function script(base: Tree, tree: Tree, path: string, around: Around, confirm: number): Promise<Widening[]> {
  const now = await programAt(tree, path, around);
  if (now === null) return [];
  if ("problem" in now)
    return [
      { kind: "command", text: `${path} cannot be read, so nobody knows what it may do: ${now.problem.slice(0, 200)}`, at: { file: path } },
    ];
  const was = await programAt(base, path, around);
  return programWidening(was === null || "problem" in was ? null : was, now, around, confirm);
}

function retired(path: string, was: string | null, now: string | null): Widening[] {
  if (was === null) return [];
  return [
    {
      kind: "case",
      text: `the case ${path} is ${now === null ? "retired" : "changed"}: what it froze is no longer checked`,
      at: { file: path },
    },
  ];
}

/** Agents and scripts that are gone while others still call them, or wait for what they tell. */
async function orphans(base: Tree, tree: Tree, touched: ReadonlySet<string>, around: Around): Promise<Widening[]> {
  const gone: string[] = [];
  for (const path of touched) if (isScript(path) && (await base.blob(path)) !== null && (await tree.blob(path)) === null) gone.push(path);
  if (gone.length === 0) return [];
  const callers = new Map<string, string[]>(gone.map((path) => [path, []]));
  for (const { path } of [...(await tree.list(AGENTS)), ...(await tree.list(SCRIPTS))]) {
    const program = isScript(path) ? await programAt(tree, path, around) : null;
    if (program !== null && !("problem" in program)) for (const [lost, all] of callers) if (calls(program, lost)) all.push(path);
  }
  return [...callers].flatMap(([path, all]): Widening[] =>
    all.length === 0
      ? []
      : [
          {
            kind: "command",
            text: `${path} is gone while ${all.slice(0, 5).join(", ")}${all.length > 5 ? ` and ${all.length - 5} more` : ""} still call it`,
            at: { file: path },
          },
        ],
  );
}

function calls({ calls: all, header }: Program, lost: string): boolean {
  const name = lost.replace(/^(?:agents|scripts)\/|\.ts$/g, "");
  if (lost.startsWith(AGENTS)) return header?.uses.includes(`agent:${name}`) === true;
  return all.some((call) => call.name === "script_run" && (call.given[""] ?? call.given["name"]) === name);
}

/** A script that several agents run is told of once. */
function once(found: readonly Widening[]): Widening[] {
  const seen = new Set<string>();
  return found.filter(({ kind, text, at }) => {
    const key = `${kind} ${at?.file}:${at?.line} ${text.slice(text.indexOf(": ") + 1)}`;
    return seen.has(key) ? false : seen.add(key);
  });
}

/** Who must decide on a change, by trust.yaml `changes:`; `any` counts for every change, also one that widens nothing. */
export function demandsOf(
  widening: readonly Widening[],
  trust: Pick<Trust, "changes">,
  ladder: Ladder,
): Pick<Report, "level" | "levels" | "approvals"> {
  const { levels, approvals, two_people_for } = trust.changes;
  const kinds = new Set(widening.map(({ kind }) => kind));
  const demanded = Object.entries(levels).flatMap(([kind, level]) =>
    kind === "any" || kinds.has(kind as Widening["kind"]) ? [level] : [],
  );
  return { ...strictest(ladder, demanded), approvals: Math.max(approvals, two_people_for.some((kind) => kinds.has(kind)) ? 2 : 1) };
}
