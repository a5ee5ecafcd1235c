/**
 * Reads an agent or script, with all scripts it calls, from a tree as what it can do: its calls with their role, and what its source shows.
 * Nothing is executed; code that does not compile is reported, never guessed.
 */
import { accessOf, classByName, toolClassIn } from "../checks/states.ts";
import type { Access, Compiled, Deed, Effect, Sandbox, Survey, SurveyTest, ToolClass, Tree } from "../../kernel/ports.ts";
import type { Registry } from "../../kernel/registry.ts";
import type { DiskCache } from "../../scripts/disk-cache.ts";
import { type Header, parseHeader } from "../../scripts/header.ts";
import type { Trust } from "../../workspace/settings/config.ts";
import { AGENTS, SCRIPTS, scriptFile } from "../../workspace/layout.ts";
import { toWire } from "../../kernel/errors.ts";

/** What widening needs of the runtime; Host provides all but `nextTick` (outside/triggers/cron.ts). */
export interface Around {
  sandbox: Sandbox;
  registry: { whole(): Promise<Registry> };
  trust: Trust;
  cache?: DiskCache;
  /** The next tick of a schedule after a time, ms; null if there is none. */
  nextTick(schedule: { agent: string; expression: string; timezone: string }, after: number): Promise<number | null>;
}

/** The purpose of a call in comparisons: acts outside or notifies, starts agents, writes, asks a person, requests a review, consults a policy. */
export type Role = "acts" | "emits" | "writes" | "asks" | "reviews" | "judges";

export interface Site extends Deed {
  /** Name of the primitive, or `script_run NAME`. */
  what: string;
  role: Role;
  file: string;
}

export interface Program {
  file: string;
  /** Its title on a card. */
  title: string;
  header: Header | null;
  source: string;
  sites: Site[];
  /** reads: it only reads records or files. */
  calls: (Compiled["calls"][number] & { effect: Effect | null; reads: boolean })[];
  literals: (Survey["literals"][number] & { file: string })[];
  /** By `FILE:NAME`, as in forms. */
  names: Map<string, Survey["names"][string]>;
  fields: (Survey["fields"][number] & { file: string })[];
  puts: (Survey["puts"][number] & { file: string })[];
  built: { file: string; line: number }[];
  files: ReadonlySet<string>;
}

/** A tool's class by trust.yaml and its name; a tool that may write counts as writing, even if its server could say otherwise. */
export function classIn(trust: Pick<Trust, "mcp">): (tool: string) => { class: ToolClass; why: string } {
  const known = toolClassIn(trust);
  return (tool) => known(tool) ?? classByName(tool);
}

/** The agent or script at `file`; null if the tree has none; `problem` says why it cannot be read. */
export async function programAt(tree: Tree, file: string, around: Around): Promise<Program | { problem: string } | null> {
  const source = await tree.read(file);
  if (source === null) return null;
  const registry = await around.registry.whole();
  const isAgent = file.startsWith(AGENTS);
  const parts = new Map<string, { compiled: Compiled; survey: Survey }>();
  let header: Header | null = null;
  try {
    if (isAgent) header = parseHeader(source, file, around.cache);
  } catch (error) {
    return { problem: toWire(error).message };
  }
  for (const queue = [file]; queue.length > 0; ) {
    const path = queue.pop() ?? "";
    const text = parts.has(path) ? null : await tree.read(path);
    if (text === null) continue;
    const options = { file: path, blob: (await tree.blob(path)) ?? "", lint: false, primitives: registry.names(), survey: true as const };
    const { compiled, survey, findings } = await around.sandbox.compile(text, options);
    if (compiled === null || survey === undefined) return { problem: findings[0]?.message ?? "It cannot be read." };
    parts.set(path, { compiled, survey });
    queue.push(...compiled.scripts.map(scriptFile));
  }
  const title = header?.name ?? file.replace(/^scripts\//, "the script ").replace(/\.ts$/, "");
  const all = [...parts];
  const at = <T extends object>(list: (survey: Survey) => T[]) =>
    all.flatMap(([path, one]) => list(one.survey).map((each) => ({ ...each, file: path })));
  return {
    ...{ file, title, header, source, files: new Set(parts.keys()) },
    sites: sitesOf(parts, registry, classIn(around.trust)),
    calls: all.flatMap(([, { compiled }]) =>
      compiled.calls.map((call) => {
        const primitive = registry.has(call.name) ? registry.get(call.name) : null;
        const rows = primitive === null ? [] : accessOf(primitive, call.given, classIn(around.trust)).rows;
        return { ...call, effect: primitive?.effect ?? null, reads: rows.length > 0 && rows.every((row) => row === "read") };
      }),
    ),
    literals: at(({ literals }) => literals),
    names: new Map(all.flatMap(([, { survey }]) => Object.entries(survey.names))),
    fields: at(({ fields }) => fields),
    puts: at(({ puts }) => puts),
    built: at(({ built }) => built.map((line) => ({ line }))),
  };
}

type Parts = ReadonlyMap<string, { compiled: Compiled; survey: Survey }>;

function sitesOf(parts: Parts, registry: Registry, toolClass: (tool: string) => { class: ToolClass; why: string }): Site[] {
  const roles = new Map<string, Role[]>();
  const own = (call: Compiled["calls"][number]): Role | null => {
    if (!registry.has(call.name)) return null;
    const primitive = registry.get(call.name);
    const { rows } = accessOf(primitive, call.given, toolClass);
    if (rows.every((row) => row === "read")) return null;
    return primitive.domain === "queue" && primitive.access === "ask" ? "reviews" : roleOf(primitive.access, primitive.effect);
  };
  /** The roles of a script, including everything it calls. */
  const of = (file: string, above: readonly string[] = []): Role[] => {
    const known = roles.get(file);
    if (known !== undefined || above.includes(file)) return known ?? [];
    const { compiled } = parts.get(file) ?? { compiled: null };
    const found = (compiled?.calls ?? []).flatMap((call) => own(call) ?? []);
    const all = [...new Set([...found, ...(compiled?.scripts ?? []).flatMap((name) => of(scriptFile(name), [...above, file]))])];
    if (above.length === 0) roles.set(file, all);
    return all;
  };
  const siteOf = (call: Compiled["calls"][number], texts: readonly string[]): { what: string; roles: Role[] } => {
    const name = call.name === "script_run" ? (call.given[""] ?? call.given["name"]) : undefined;
    if (name === undefined) return { what: call.name, roles: [own(call) ?? []].flat() };
    const tools = texts.filter((text) => TOOL.test(text));
    const reads = tools.length > 0 && tools.every((tool) => toolClass(tool).class === "read");
    return { what: `${SCRIPTS}${name}`, roles: of(scriptFile(name)).filter((role) => !(reads && role === "acts")) };
  };
  return [...parts].flatMap(([file, { compiled, survey }]) => {
    const asked = new Set<string>();
    return compiled.calls.flatMap((call, index): Site[] => {
      const { deeds = [], texts = [] } = survey.when[index] ?? {};
      const { what, roles: all } = siteOf(call, texts);
      // An earlier question to a person is one of the conditions of an act.
      const after = [...asked].map((one): SurveyTest => ({ form: `after ${one}`, shown: `after ${one}`, kind: "if", line: 0 }));
      if (all.includes("asks") || all.includes("judges")) asked.add(what);
      const line = call.at.line ?? 1;
      const ways = (role: Role) => deeds.map((one) => (role === "acts" ? { ...one, tests: [...one.tests, ...after] } : one));
      return all.flatMap((role) => ways(role).map((one) => ({ ...one, what, role, file, line })));
    });
  });
}

/** `SERVER/NAME`, the name of a tool. */
export const TOOL = /^[\w-]{1,60}\/[\w.-]{1,80}$/;

function roleOf(access: Access, effect: Effect): Role | null {
  if (access === "decide") return "judges";
  if (access === "ask") return "asks";
  if (effect === "external" || effect === "notify") return "acts";
  if (effect === "control" && access === "notify") return "emits";
  return effect === "write" ? "writes" : null;
}
