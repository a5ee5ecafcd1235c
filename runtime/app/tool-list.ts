/** Synthesized tools in the work tree: parameters, results, cases, and who calls them. */
import { callersOf, tryTools, type CaseResult } from "../change/checks/tools.ts";
import { describe, mayBeAbsent } from "../kernel/derive.ts";
import { readTools, withTools, type Tool } from "../engine/tool-scripts.ts";
import { ClearedError, didYouMean } from "../kernel/errors.ts";
import type { Finding } from "../kernel/ports.ts";
import type { Property } from "../scripts/tool-header.ts";
import { toolFile } from "../workspace/layout.ts";
import { treeOver } from "../workspace/git/tree.ts";
import type { Host } from "./host.ts";

export interface ToolFact {
  name: string;
  file: string;
  description: string;
  /** `hours`, `list of decimal, required`, `hours of each day` */
  params: [name: string, type: string, about: string][];
  returns: [name: string, type: string, about: string][];
  cases: number;
  properties: string[];
  source: string;
  callers: { file: string; line: number }[];
}

export interface ToolList {
  tools: ToolFact[];
  /** Of files that are not tools, and with `test` of tools that fail. */
  findings: Finding[];
  /** With `test`: each case. */
  cases: CaseResult[];
}

/** files: differences to HEAD; names: of tools or their primitives, all by default. @throws FILE_MISSING for an unknown name */
export async function listTools(
  host: Host,
  { files, names, test }: { files: Record<string, string | null>; names: readonly string[]; test: boolean },
): Promise<ToolList> {
  const base = host.git.tree(await host.git.head());
  const tree = treeOver(base, new Map(Object.entries(files)));
  const builtin = await host.registry.whole();
  const { sandbox } = host;
  const read = await readTools(tree, { sandbox, primitives: builtin.names(), primitive: builtin.get });
  const known = [...Object.values(read.tools).map(({ header }) => header.file), ...read.findings.map(({ at }) => at.file)];
  const wanted = names.length === 0 ? known : names.map((name) => toolFile(name.replace(/^.*\/|\.ts$/g, "")));
  const lost = wanted.find((file) => !known.includes(file));
  if (lost !== undefined)
    throw new ClearedError("FILE_MISSING", `There is no ${lost}.${didYouMean(lost, known)} \`cleared tools\` lists them.`);
  const callers = await callersOf(Object.keys(read.tools), tree);
  const tools = Object.values(read.tools)
    .filter(({ header }) => wanted.includes(header.file))
    .map((one) => factOf(one, callers));
  if (!test) return { tools, findings: read.findings.filter(({ at }) => wanted.includes(at.file)), cases: [] };
  const registry = await withTools(builtin, tree, sandbox);
  const { findings, cases } = await tryTools({ base, tree, paths: [], registry, sandbox }, wanted);
  return { tools, findings, cases };
}

function factOf({ header, primitive }: Tool, callers: Awaited<ReturnType<typeof callersOf>>): ToolFact {
  const rows = (shape: typeof primitive.params.shape, side: "in" | "out"): ToolFact["params"] =>
    Object.entries(side === "in" ? header.params : header.returns).map(([name, one]) => [
      name,
      [
        one.of === undefined ? one.type : `list of ${one.of.type}${one.of.unit === undefined ? "" : ` in ${one.of.unit}`}`,
        ...(side === "in" && !mayBeAbsent(shape[name], "in") ? ["required"] : []),
      ].join(", "),
      describe(shape[name]),
    ]);
  return {
    name: primitive.name,
    file: header.file,
    description: header.description,
    params: rows(primitive.params.shape, "in"),
    returns: rows((primitive.returns as typeof primitive.params).shape, "out"),
    cases: header.cases.length,
    properties: header.properties.map(inWords),
    source: header.source,
    callers: callers.filter(({ name }) => name === primitive.name).map(({ file, line }) => ({ file, line })),
  };
}

function inWords({ scales, monotone, zero, sums, nonnegative }: Property): string {
  if (scales !== undefined) return `${scales.result} scales with ${scales.param}`;
  if (monotone !== undefined) return `${monotone.result} ${monotone.falling ? "falls" : "rises"} with ${monotone.param}`;
  if (zero !== undefined) return `${zero.result} is zero where ${zero.param} is`;
  if (sums !== undefined) return `${sums.of.join(" + ")} = ${sums.to}`;
  return `${nonnegative} is never below zero`;
}
