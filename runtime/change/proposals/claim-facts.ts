/**
 * The effects of a change as facts to compare claims with: files, headers, settings, rows and values of scripts, widened rights, and effects
 * on recorded runs. Computed from the two trees and the backtests; nothing is executed here.
 */
import type { Json, Tree } from "../../kernel/ports.ts";
import { plainForm } from "../../scripts/form-marks.ts";
import type { Header } from "../../scripts/header.ts";
import { type YamlText, readYaml } from "../../scripts/yaml-text.ts";
import { AGENTS, CONFIG, POLICIES, SCRIPTS, TOOLS } from "../../workspace/layout.ts";
import { readableHeader } from "../checks/reached.ts";
import { shortAccount } from "../evidence/partings.ts";
import type { BacktestReport } from "../evidence/types.ts";
import { codeDifference } from "../widening/code-difference.ts";
import { lastOf } from "../widening/code-names.ts";
import { leafChanges, named } from "../widening/leaves.ts";
import { type Around, type Program, programAt } from "../widening/program.ts";
import type { Changed, ClaimKind } from "../proposal-types.ts";
import type { Given } from "../widening/stated-values.ts";

/** Something that the change does, in the terms of claims. */
export interface Fact {
  kind: ClaimKind;
  file: string;
  /** The names by which a claim may refer to it. */
  subjects: string[];
  /** Values before and after; a claim may state any of them. */
  from: string[];
  to: string[];
  count?: number;
  amount?: string;
  /** Its sentence, if that is all there is to compare with. */
  text?: string;
  /** Lines it is on now, and was on before; undefined if unknown. */
  lines: number[];
  gone?: number[] | undefined;
}

/** The change and what is known about it. */
export interface Judged {
  base: Tree;
  tree: Tree;
  paths: readonly string[];
  changed: Changed;
  backtests: readonly BacktestReport[];
  mended: readonly string[];
}

export async function factsOf({ base, tree, paths, changed, backtests, mended }: Judged, around: Around): Promise<Fact[]> {
  const found: Fact[] = [];
  for (const path of paths) {
    const [was, now] = [await base.read(path), await tree.read(path)];
    if (was === now) continue;
    found.push(...fileFacts(path, was, now));
    if (path.startsWith(AGENTS)) found.push(...headerFacts(path, headerIn(was, path), headerIn(now, path), [was, now]));
    if (/\.yaml$/.test(path)) found.push(...settingFacts(path, was, now));
    if (was !== null && now !== null && path.endsWith(".ts")) found.push(...(await codeFacts(path, [base, tree], [was, now], around)));
  }
  for (const { kind, text, at } of [...changed.widening, ...changed.changes.filter((one) => one.kind === "gate")]) {
    const lines = at?.line === undefined ? [] : [at.line];
    found.push({ ...plainFact, ...about(at?.file ?? ""), kind: kind as ClaimKind, text, lines });
  }
  found.push(...mended.map((run): Fact => ({ kind: "run_mended", file: "", subjects: [run], ...plainFact })));
  return [...found, ...backtests.flatMap(runFacts)];
}

/** `ingest` of agents/ingest.ts. */
export const nameOf = (path: string): string => path.replace(/^(?:agents|policies|scripts\/tools|scripts|importers)\/|\.(?:ts|yaml)$/g, "");
const about = (file: string, ...more: string[]): Pick<Fact, "file" | "subjects"> => ({ file, subjects: [file, nameOf(file), ...more] });
const plainFact = { from: [], to: [], lines: [] };

function fileFacts(path: string, was: string | null, now: string | null): Fact[] {
  const title = headerIn(now ?? was, path)?.name;
  const names = about(path, ...(title === undefined ? [] : [title]), ...(path.startsWith(TOOLS) ? [`compute_${nameOf(path)}`] : []));
  if (path.startsWith(AGENTS))
    return [{ ...plainFact, ...names, kind: was === null ? "agent_added" : now === null ? "agent_removed" : "agent_changed" }];
  if (was === null && path.startsWith(POLICIES)) return [{ ...plainFact, ...names, kind: "policy" }];
  return was === null && path.startsWith(SCRIPTS) ? [{ ...plainFact, ...names, kind: "tool_added" }] : [];
}

function headerIn(text: string | null, path: string): Header | null {
  return text === null || !path.startsWith(AGENTS) ? null : readableHeader(text, path);
}

function headerFacts(path: string, was: Header | null, now: Header | null, texts: (string | null)[]): Fact[] {
  if (now === null) return [];
  const names = about(path, now.name);
  const fact = (kind: ClaimKind, key: string, from: string | undefined, to: string | undefined): Fact[] => {
    if (from === to) return [];
    const [gone, lines] = texts.map((text) => [(text ?? "").split("\n").findIndex((line) => line.startsWith(key)) + 1]);
    return [{ kind, ...names, from: from === undefined ? [] : [from], to: to === undefined ? [] : [to], lines: lines ?? [], gone }];
  };
  const uses = (one: Header | null) => one?.uses ?? [];
  return [
    ...fact("schedule", "schedule:", was?.schedule, now.schedule),
    ...fact("trigger", "trigger:", was?.trigger.join(", "), now.trigger.join(", ")),
    ...uses(now).flatMap((one) => (uses(was).includes(one) ? [] : fact("capability", "uses:", undefined, one))),
    ...uses(was).flatMap((one) => (uses(now).includes(one) ? [] : fact("capability", "uses:", one, undefined))),
  ];
}

function settingFacts(path: string, was: string | null, now: string | null): Fact[] {
  const read = (text: string | null) => readYaml(text ?? "", { file: path, code: "CONFIG_INVALID", maxLength: 262_144 });
  let changes: ReturnType<typeof leafChanges>;
  let texts: [YamlText, YamlText];
  try {
    texts = [read(was), read(now)];
    changes = leafChanges((texts[0].value ?? {}) as Json, (texts[1].value ?? {}) as Json);
  } catch {
    return []; // its own check reports the error
  }
  const shown = (value: Json | undefined): string[] =>
    value === undefined ? [] : typeof value === "object" && value !== null && !Array.isArray(value) ? cellsOf(value) : [textOf(value)];
  return changes.map(({ key, was: from, now: to }) => ({
    kind: path === CONFIG || !/^rules\b|\[/.test(key) ? "threshold" : "rule",
    ...about(path, key, `${nameOf(path)}.${key}`, ...(/\[([^\]]+)\]/.exec(key)?.slice(1) ?? [key.split(".").at(-1) ?? key])),
    from: shown(from),
    to: shown(to),
    lines: placesOf(texts[1], key, to),
    gone: placesOf(texts[0], key, from),
  }));
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));
const cellsOf = (cells: object): string[] => [...Object.values(cells).map(textOf), JSON.stringify(cells)];

/** Lines of a key's value, or of a list item, in the notation of leaves.ts, including nested ones. */
function placesOf(yaml: YamlText, key: string, value: Json | undefined): number[] {
  if (value === undefined) return [];
  let node = yaml.value as Json | undefined;
  const path: string[] = [];
  for (const [word, name] of key.matchAll(/\[([^\]]*)\]|[^.[\]]+/g)) {
    const at = name !== undefined && Array.isArray(node) ? String([...named(node).keys()].indexOf(name)) : word;
    path.push(at);
    node = (node as Record<string, Json> | null | undefined)?.[at];
  }
  if (Array.isArray(node) && !Array.isArray(value)) path.push(String(node.indexOf(value)));
  else if (JSON.stringify(node) !== JSON.stringify(value)) return [];
  const under = (one: Json, at: readonly string[]): (number | undefined)[] => [
    yaml.at(at).line,
    ...(typeof one === "object" && one !== null ? Object.entries(one).flatMap(([name, inner]) => under(inner, [...at, name])) : []),
  ];
  return under(value, path).filter((line) => line !== undefined);
}

async function codeFacts(path: string, trees: [Tree, Tree], texts: [string, string], around: Around): Promise<Fact[]> {
  const [was, now] = await Promise.all(trees.map((one) => programAt(one, path, around)));
  const isRead = (one: typeof was): one is Program => one != null && !("problem" in one);
  if (!isRead(was) || !isRead(now)) return [];
  // The reverse difference gives the lines of the old text; lines that only moved have equal text.
  const back = differenceFacts(path, now, was);
  const [before, after] = texts.map((text) => text.split("\n")) as [string[], string[]];
  const means = ({ kind, subjects }: Fact, from: string[], to: string[]) => JSON.stringify([kind, subjects[2], from, to]);
  return differenceFacts(path, was, now).map((fact) => {
    const twins = back.filter((one) => means(one, one.to, one.from) === means(fact, fact.from, fact.to));
    const moved = before.indexOf(after[(fact.lines[0] ?? 0) - 1] ?? "") + 1;
    return { ...fact, gone: twins.length > 0 ? twins.flatMap((one) => one.lines) : moved > 0 ? [moved] : undefined };
  });
}

function differenceFacts(path: string, was: Program, now: Program): Fact[] {
  const { rows, values, names } = codeDifference(was, now);
  const shown = (given: Given | null): string[] => (given === null ? [] : ["literal" in given ? textOf(given.literal) : given.shown]);
  const own = <T extends { file: string }>(all: readonly T[]) => all.filter(({ file }) => file === path);
  return [
    ...own(rows).map(({ near, change, cells, line }): Fact => {
      const values = cellsOf(cells);
      const [from, to] = [change === "new" ? [] : values, change === "gone" ? [] : values];
      return { kind: "rule", ...about(path, near), from, to, lines: [line] };
    }),
    ...own(values).map(({ near, path: at, was: from, now: to, line }): Fact => {
      const names = [near ?? "", lastOf(plainForm(at)), plainForm(at)].filter((one) => one !== "");
      return { kind: near === null ? "threshold" : "rule", ...about(path, ...names), from: shown(from), to: shown(to), lines: [line] };
    }),
    ...own(names).map(({ name, was: from, now: to, line }): Fact => {
      const values = (one: string | null) => (one === null ? [] : [one]);
      return { kind: "threshold", ...about(path, name), from: values(from), to: values(to), lines: [line] };
    }),
  ];
}

function runFacts({ agent, entries, moves, acts = [] }: BacktestReport): Fact[] {
  const file = `${AGENTS}${agent}.ts`;
  const accounts = (name: string) => [name, shortAccount(name)];
  return [
    { kind: "entries_changed", ...about(file), ...plainFact, count: entries },
    ...moves.map(({ from, to, entries: count, amount }): Fact => {
      return { kind: "entries_changed", ...about(file), from: accounts(from), to: accounts(to), count, amount, lines: [] };
    }),
    ...acts.flatMap(({ kind, what, was, now, differ }): Fact[] => {
      if (kind !== "call" && kind !== "notice") return [];
      const count = differ + Math.abs(now.count - was.count);
      const told = { from: [String(was.count)], to: [String(now.count)], count, ...(now.sum === null ? {} : { amount: now.sum }) };
      return [{ kind: kind === "call" ? "calls_changed" : "notices_changed", ...about(file, what), ...told, lines: [] }];
    }),
  ];
}
