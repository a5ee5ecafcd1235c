/**
 * The differences of a change, and which of them widen: more rights, fewer gates, less strict rules. Computed from the two trees, never declared,
 * and nothing is executed; each is one line with its place. What cannot be compared counts as widening. Also what trust.yaml requires of
 * whoever decides.
 */
import { type Ladder, ladderSchema, strictest } from "../../rules/policy/levels.ts";
import type { Json, Tree } from "../../kernel/ports.ts";
import { ClearedError } from "../../kernel/errors.ts";
import { namedUpTo } from "../../kernel/text.ts";
import { readCase } from "../evidence/case-file.ts";
import { keptLines } from "../evidence/kept.ts";
import { cut } from "../../scripts/header.ts";
import { readYaml } from "../../scripts/yaml-text.ts";
import { type Config, type Trust, parseConfig } from "../../workspace/settings/config.ts";
import { AGENTS, CASES, CONFIG, IMPORTERS, KNOWLEDGE, MAIN_JOURNAL, POLICIES, SCRIPTS } from "../../workspace/layout.ts";
import { parseMain } from "../../workspace/books/main-journal.ts";
import { parsePack } from "../../workspace/settings/policies.ts";
import { treeOver } from "../../workspace/git/tree.ts";
import { type Around, type Program, programAt } from "./program.ts";
import { type AskedFor, type Changed, GRAVE, type Report, type TextChange, type Widening } from "../proposal-types.ts";
import { type Say, codeWidening } from "./widening-code.ts";
import { headerLeaves, headerWidening } from "./widening-header.ts";
import { policyWidening, proseTaken } from "./widening-policy.ts";
import type { Asked } from "./widening-rows.ts";
import { type SettingLine, configWidening, dialectWidening, policyRest, textWidening } from "./widening-settings.ts";

// As in the starter config.yaml, for a workspace that sets none.
const AUTO_CONFIRM = 0.95;

type Line = TextChange & { widens: boolean };

/** All differences of the files `paths` between `base` and `tree`, in the order of the paths. */
export async function changesOf(base: Tree, tree: Tree, paths: readonly string[], around: Around): Promise<Changed> {
  const configs = await Promise.all([base, tree].map((one) => configAt(one, around)));
  const ladder = configs[1]?.policy ?? configs[0]?.policy ?? ladderSchema.parse({});
  const autoConfirm = Number(configs[0]?.thresholds["auto_confirm"] ?? AUTO_CONFIRM);
  const chart = parseMain((await tree.read(MAIN_JOURNAL)) ?? "").byWord;
  const asked: Judging = { ...around, autoConfirm, ladder, account: (word) => chart.get(word)?.name ?? null };
  const found: Line[] = [];
  const moved = await movedIn(base, tree, paths);
  for (const path of paths) {
    if ((await base.blob(path)) === (await tree.blob(path))) continue;
    const [was, now] = [await base.read(path), await tree.read(path)];
    if (path === CONFIG) found.push(...settings(configs[0] ?? null, configs[1] ?? null, now));
    else if (path.startsWith(POLICIES)) found.push(...policy(path, was, now, ladder, around));
    else if (isScript(path))
      found.push(...(now === null && [...moved.values()].includes(path) ? [] : await script(base, tree, path, asked, moved)));
    else if (path.startsWith(CASES)) found.push(...retired(path, was, now));
    else if (path.startsWith(IMPORTERS)) found.push(...dialect(path, was, now));
    else if (path.startsWith(KNOWLEDGE)) found.push(...placed(textWidening(path, was, now), path, now));
  }
  found.push(...(await orphans(base, tree, new Set(paths), around)));
  const all = once(found);
  const told = ({ widens: _, ...one }: Line) => one;
  return {
    widening: all
      .filter(({ widens }) => widens)
      .sort((a, b) => rank(a) - rank(b))
      .map((one) => told(one) as Widening),
    changes: all.filter(({ widens }) => !widens).map(told),
  };
}

const rank = ({ kind }: Line): number => GRAVE.indexOf(kind) >>> 0;
const isScript = (path: string): boolean => /^(?:agents\/[^/]+|scripts\/.+)\.ts$/.test(path);
const widening = (kind: Widening["kind"], text: string, file: string): Line => ({ kind, widens: true, text, at: { file } });
const codeLine = (text: string, file: string): Line => ({ kind: "code", widens: false, text, at: { file } });
/** Lines count from 1; 0 means the whole file. */
const placeAt = (file: string, line = 0): NonNullable<Line["at"]> => (line > 0 ? { file, line } : { file });

async function configAt(tree: Tree, { cache }: Around): Promise<Config | null> {
  try {
    return parseConfig((await tree.read(CONFIG)) ?? "", cache);
  } catch {
    return null; // reported as a setting that cannot be compared; the config check reports the error
  }
}

/** Lines with their place in the current text: that of the last part of the key. */
function placed(lines: readonly SettingLine[], file: string, text: string | null): Line[] {
  const rows = (text ?? "").split("\n");
  return lines.map(({ key, ...one }) => {
    const word = key.startsWith("thresholds.")
      ? key.slice("thresholds.".length)
      : (/\[([^\]]+)\][^[]*$/.exec(key)?.[1] ?? key.split(".").at(-1) ?? key);
    const line = rows.findIndex((row) => new RegExp(`(?:^|[^\\w])${RegExp.escape(word)}(?:$|[^\\w])`).test(row)) + 1;
    return { ...one, at: placeAt(file, line) };
  });
}

function settings(was: Config | null, now: Config | null, text: string | null): Line[] {
  if (was === null || now === null) return [widening("setting", "config.yaml cannot be compared: compare by hand", CONFIG)];
  const yaml = readYaml(text ?? "", { file: CONFIG, code: "CONFIG_INVALID", maxLength: 262_144 });
  return configWidening(was, now).map(({ key, ...one }) => {
    return { ...one, at: placeAt(CONFIG, yaml.at(key.replace(/\[.*/, "").split(".")).line) };
  });
}

/** from: the old path, if another policy replaces it. */
function policy(path: string, was: string | null, now: string | null, ladder: Ladder, { cache }: Around, from = path): Line[] {
  const name = path.slice(POLICIES.length).replace(/\.yaml$/, "");
  if (now === null) return was === null ? [] : [widening("policy", `the policy ${name} is removed with all its rules`, path)];
  try {
    if (was === null) return placed(proseTaken(parsePack(now, path, ladder, cache), []), path, now);
    const [before, after] = [parsePack(was, from, ladder, cache), parsePack(now, path, ladder, cache)];
    const read = (text: string) => readYaml(text, { file: path, code: "POLICY_INVALID", maxLength: 262_144 }).value as Json;
    const milder = policyWidening(before, after, ladder);
    return placed([...milder, ...policyRest(name, read(was), read(now), new Set(milder.map(({ key }) => key)))], path, now);
  } catch {
    // The pack's own check refuses an invalid pack; here it only must not pass as unchanged.
    return was === null ? [] : [widening("policy", `the policy ${name} cannot be compared: compare by hand`, path)];
  }
}

function dialect(path: string, was: string | null, now: string | null): Line[] {
  const name = path.slice(IMPORTERS.length).replace(/\.yaml$/, "");
  const read = (text: string | null) =>
    text === null ? null : (readYaml(text, { file: path, code: "CONFIG_INVALID", maxLength: 262_144 }).value as Json);
  try {
    return placed(dialectWidening(name, read(was), read(now)), path, now);
  } catch {
    return [widening("setting", `how statements are read by ${name} cannot be compared: compare by hand`, path)];
  }
}

/** Renamed scripts with their old path: the same name, or half of the lines. */
export async function movedIn(base: Tree, tree: Tree, paths: readonly string[]): Promise<Map<string, string>> {
  const texts = await Promise.all(
    paths.filter(isScript).map(async (path) => ({ path, was: await base.read(path), now: await tree.read(path) })),
  );
  const linesOf = (text: string) => text.split("\n").filter((line) => line.trim().length > 3);
  const isLike = (was: string, now: string): boolean => {
    const [old, fresh] = [linesOf(was), new Set(linesOf(now))];
    const name = /^name:.*$/m.exec(was)?.[0];
    return (name !== undefined && fresh.has(name)) || old.filter((line) => fresh.has(line)).length * 2 > old.length;
  };
  return new Map(
    texts.flatMap(({ path, was, now }) => {
      if (was !== null || now === null) return [];
      const from = texts.find((one) => one.was !== null && one.now === null && isLike(one.was, now));
      return from === undefined ? [] : [[path, from.path] as const];
    }),
  );
}

type Judging = Asked & { ladder: Ladder };

async function script(base: Tree, tree: Tree, path: string, asked: Judging, moved: ReadonlyMap<string, string>): Promise<Line[]> {
  const now = await programAt(tree, path, asked);
  const from = moved.get(path);
  const then = await programAt(from === undefined ? base : treeOver(base, new Map([[path, await base.read(from)]])), path, asked);
  const was = then === null || "problem" in then ? null : then;
  if (now === null) {
    const starts = was?.header?.trigger.length ? ": nothing starts it now" : "";
    return was === null ? [] : [codeLine(`${was.title} is removed${starts}`, path)];
  }
  if ("problem" in now)
    return [widening("command", `${path} cannot be read, so it is not known what it may do: ${now.problem.slice(0, 200)}`, path)];
  const found: Line[] = [];
  if (from !== undefined && was !== null) found.push(codeLine(`${was.title} moves from ${from} to ${path}`, path));
  // The old name: a new one could say anything.
  const title = (was ?? now).title;
  const line = (key: string) => now.source.split("\n").findIndex((row) => new RegExp(`^[\\s*]*${key}\\s*:`).test(row)) + 1;
  if (now.header !== null)
    await headerWidening(was?.header ?? null, now.header, asked, ({ text, ...one }, key) => {
      found.push({ ...one, text: `${title}: ${text}`, at: placeAt(path, line(key)) });
    });
  const [before, after] = [was?.header?.process, now.header?.process].map((one) => one && `${POLICIES}${one}.yaml`);
  if (before !== undefined && after !== undefined && before !== after)
    found.push(...policy(after, await base.read(before), await tree.read(after), asked.ladder, asked, before).filter((one) => one.widens));
  if (path.startsWith(SCRIPTS) && was !== null)
    for (const { text, kind, widens } of headerLeaves(headerText(was), headerText(now)))
      found.push({ kind, widens, text: `${title}: ${text}`, at: placeAt(path, line("input")) });
  const say: Say = (kind, widens, text, { file, line }) =>
    void found.push({ kind, widens, text: `${title}: ${text}`, at: placeAt(file, line) });
  codeWidening(was, now, asked, say, path.startsWith(SCRIPTS) && was !== null ? await callersOf(path, tree, asked) : []);
  return found;
}

/** The header of an agent's script or a tool as written; its own check reports errors. */
function headerText({ source, file }: Program): Json {
  try {
    return readYaml(cut(source, file).text, { file, code: "SCRIPT_HEADER", maxLength: 65_536 }).value as Json;
  } catch {
    return source;
  }
}

/** The agents that use a script. */
async function callersOf(path: string, tree: Tree, asked: Asked): Promise<Program[]> {
  const agents = await Promise.all(
    (await tree.list(AGENTS)).filter((one) => isScript(one.path)).map((one) => programAt(tree, one.path, asked)),
  );
  return agents.flatMap((one) => (one !== null && !("problem" in one) && one.files.has(path) ? [one] : []));
}

function retired(path: string, was: string | null, now: string | null): Line[] {
  if (was !== null)
    return [widening("case", `the case ${path} is ${now === null ? "retired" : "changed"}: what it froze is no longer checked`, path)];
  const one = readCase(now ?? "", path);
  if (one instanceof ClearedError) return [];
  return keptLines(one.keeps).map((text) => ({
    kind: "case",
    widens: false,
    text: `from now on every change must keep of ${one.from.run}: ${text}`,
    at: { file: path },
  }));
}

/** Agents and scripts that are removed while others still call them or wait for their events. */
async function orphans(base: Tree, tree: Tree, touched: ReadonlySet<string>, around: Around): Promise<Line[]> {
  const gone: string[] = [];
  for (const path of touched) if (isScript(path) && (await base.blob(path)) !== null && (await tree.blob(path)) === null) gone.push(path);
  if (gone.length === 0) return [];
  const callers = new Map<string, string[]>(gone.map((path) => [path, []]));
  for (const { path } of [...(await tree.list(AGENTS)), ...(await tree.list(SCRIPTS))]) {
    const program = isScript(path) ? await programAt(tree, path, around) : null;
    if (program !== null && !("problem" in program)) for (const [lost, all] of callers) if (calls(program, lost)) all.push(path);
  }
  return [...callers].flatMap(([path, all]) => {
    return all.length === 0 ? [] : [widening("command", `${path} is gone while ${namedUpTo(all, 5)} still call it`, path)];
  });
}

function calls({ calls: all, header }: Program, lost: string): boolean {
  const name = lost.replace(/^(?:agents|scripts)\/|\.ts$/g, "");
  if (lost.startsWith(AGENTS)) return header?.uses.includes(`agent:${name}`) === true;
  return all.some((call) => call.name === "script_run" && (call.given[""] ?? call.given["name"]) === name);
}

/** A script that several agents use is reported once. */
function once(found: readonly Line[]): Line[] {
  const seen = new Set<string>();
  return found.filter(({ kind, text, at }) => {
    const key = `${kind} ${at?.file}:${at?.line} ${isScript(at?.file ?? "") ? text.slice(text.indexOf(": ") + 1) : text}`;
    return seen.has(key) ? false : seen.add(key);
  });
}

/**
 * Who must decide on a change, by trust.yaml `changes:`; `any` applies to every change, including one that widens nothing, `tainted` to one
 * whose author, a model, had read text from outside of the business.
 */
export function demandsOf(
  widened: readonly Widening[],
  trust: Pick<Trust, "changes">,
  ladder: Ladder,
  asked: AskedFor | null = null,
): Pick<Report, "level" | "levels" | "approvals"> {
  const { levels, approvals, two_people_for } = trust.changes;
  const kinds = new Set(widened.map(({ kind }) => kind));
  const demanded = Object.entries(levels).flatMap(([kind, level]) =>
    kind === "any" || (kind === "tainted" ? asked !== null && asked.outside.length > 0 : kinds.has(kind as Widening["kind"]))
      ? [level]
      : [],
  );
  return { ...strictest(ladder, demanded), approvals: Math.max(approvals, two_people_for.some((kind) => kinds.has(kind)) ? 2 : 1) };
}
