/**
 * The check of synthesized tools: each one that a change reaches must compute from its parameters alone, give exactly the results of its cases,
 * keep its properties on generated inputs, and match its declaration; a tool that scripts call must not be removed. Runs the tools, and
 * nothing else: they are pure.
 */
import { tsType } from "../../kernel/derive.ts";
import { canonicalJson } from "../../kernel/canonical.ts";
import { type Tool, type ToolsAround, pureContext, readTools, toolFinding } from "../../engine/tool-scripts.ts";
import { CODES, didYouMean, toWire } from "../../kernel/errors.ts";
import type { Finding, Json, Tree } from "../../kernel/ports.ts";
import { callPrimitive, type Primitive } from "../../kernel/primitive.ts";
import { count } from "../../kernel/text.ts";
import type { ToolField, ToolHeader } from "../../scripts/tool-header.ts";
import { AGENTS, SCRIPTS, TOOLS, toolFile, toolOf } from "../../workspace/layout.ts";
import { inOrder } from "./lint.ts";
import { type Looked, type Subject, findingsIn } from "./findings.ts";
import { readScripts } from "./read-scripts.ts";
import { INPUTS, inputsFor, shown, tryProperty } from "./tool-properties.ts";
import { typecheck, typesOf } from "./typecheck.ts";

/** The result of one case of a tool; failure null: it passed. */
export interface CaseResult {
  tool: string;
  case: string;
  failure: string | null;
}

type Given = Pick<Subject, "base" | "tree" | "paths" | "registry" | "sandbox">;

// For all calls of one tool together: somebody is waiting for the check.
const PATIENCE_MS = 20_000;

/** The check "tools": tools that a change reaches; if nothing has changed, those that the agents under check call. */
export async function lookAtTools(subject: Subject): Promise<Looked> {
  const { findings, tools, cases } = await tryTools(subject, subject.paths.length === 0 ? await calledBy(subject) : undefined);
  const gone = await missing(subject);
  const passed = cases.filter(({ failure }) => failure === null).length;
  const says = tools.length === 0 ? "no tool is touched" : `${count(tools.length, "tool")}, cases ${passed}/${cases.length}`;
  return { says, findings: inOrder([...findings, ...gone]), skipped: tools.length === 0 && findings.length + gone.length === 0 };
}

/** All findings about the tools a change reaches; `only`: about these files instead. */
export async function tryTools(
  { tree, paths, registry, sandbox }: Given,
  only?: readonly string[],
): Promise<{ tools: Tool[]; findings: Finding[]; cases: CaseResult[] }> {
  const builtin = registry.all().filter(({ tool }) => tool === undefined);
  const around: ToolsAround = { sandbox, primitives: builtin.map(({ name }) => name), primitive: registry.get };
  const read = await readTools(tree, around);
  const wanted = only ?? paths;
  const findings = read.findings.filter(({ at }) => wanted.includes(at.file));
  const cases: CaseResult[] = [];
  const tools: Tool[] = [];
  for (const tool of Object.values(read.tools)) {
    try {
      const { callees } = await tool.prepare();
      const below = only === undefined ? await allBelow(Object.keys(callees), read.tools) : [];
      if (![tool.header.file, ...below].some((file) => wanted.includes(file))) continue;
      tools.push(tool);
      const tried = await tryTool(tool);
      findings.push(...tried.findings);
      cases.push(...tried.cases);
    } catch (error) {
      if (wanted.includes(tool.header.file)) findings.push(...findingsIn(error, tool.header.file));
    }
  }
  const texts = tools.map(({ header, source, primitive }) => {
    return { file: header.file, source, input: tsType(primitive.params, "out", new Map()) };
  });
  return { tools, findings: [...findings, ...(await typecheck(texts, typesOf(registry)))], cases };
}

/** Files of the tools called by the agents under check. */
async function calledBy(subject: Subject): Promise<string[]> {
  const { agents } = await readScripts(subject);
  const calls = agents.flatMap(({ scripts }) => scripts ?? []).flatMap((one) => one.calls.map(({ name }) => name));
  return [...new Set(calls)].filter((name) => name.startsWith("compute_")).map(toolFile);
}

/** Files of the tools that these tools call, at any depth. */
async function allBelow(names: readonly string[], tools: Record<string, Tool>): Promise<string[]> {
  const found = names.flatMap((name) => (Object.hasOwn(tools, name) ? [tools[name] as Tool] : []));
  const deeper = await Promise.all(found.map(async (one) => allBelow(Object.keys((await one.prepare()).callees), tools)));
  return [...found.map(({ header }) => header.file), ...deeper.flat()];
}

type Answer = { value: Record<string, Json> } | { code: string; message: string };

async function tryTool({ header, primitive }: Tool): Promise<{ findings: Finding[]; cases: CaseResult[] }> {
  const { file, tool, lines } = header;
  const findings: Finding[] = [];
  const say = (message: string, line?: number) => findings.push(toolFinding(line === undefined ? { file } : { file, line }, message));
  const cases: CaseResult[] = [];
  const began = Date.now();
  const known = new Map<string, Promise<Answer>>();
  const ask = (params: Json): Promise<Answer> =>
    known.getOrInsertComputed(canonicalJson(params), () =>
      callPrimitive(primitive, params, pureContext()).then((value) => ({ value: value as Record<string, Json> }), refusal),
    );
  for (const [i, one] of header.cases.entries()) {
    const failure = failureOf(one, await ask(one.params as Json), header);
    cases.push({ tool, case: `cases[${i}] ${shown(one.params as Json)}`, failure });
    if (failure !== null) say(`cases[${i}]: ${failure}`, lines.cases[i] ?? 1);
  }
  for (const message of uncovered(header)) say(message, lines.cases[0] ?? 1);
  // A tool that fails its cases need not be tried on other inputs.
  if (findings.length > 0) return { findings, cases };

  const inputs = [...header.cases.map(({ params }) => params as Record<string, Json>), ...inputsFor(header)];
  const held = header.properties.map(() => 0);
  const broken = new Set<number>();
  let refused = 0;
  for (const [tried, params] of inputs.entries()) {
    if (Date.now() - began > PATIENCE_MS) {
      say(
        `The tool is too slow: ${tried} of ${inputs.length} inputs took ${PATIENCE_MS / 1000} s. Simplify it, or let params: allow less.`,
      );
      return { findings, cases };
    }
    const answer = await ask(params);
    if ("code" in answer) {
      refused++;
      if (!isFault(answer)) continue;
      say(`with ${shown(params)}: ${answer.message}`);
      return { findings, cases };
    }
    for (const [i, property] of header.properties.entries()) {
      if (broken.has(i)) continue;
      const found = await tryProperty(property, params, answer.value, header, async (other) => {
        const again = await ask(other);
        return "value" in again ? again.value : null;
      });
      if (found === true) held[i] = (held[i] ?? 0) + 1;
      if (typeof found !== "string") continue;
      broken.add(i);
      say(`properties[${i}] (${Object.keys(property)[0]}) does not hold: ${found}.`, lines.properties[i] ?? 1);
    }
  }
  if (refused > header.cases.length + INPUTS / 2)
    say(`The tool refuses ${refused} of ${inputs.length} inputs that params: allows. Say there what it takes: min, max, enum.`);
  for (const [i, times] of held.entries())
    if (times === 0 && !broken.has(i))
      say(`properties[${i}] could be tried on no input: each was refused, or lacks the parameter.`, lines.properties[i] ?? 1);
  return { findings, cases };
}

/** Two tools with one declaration on the same inputs: the first result in which they differ, and how many are equal. */
export async function compareTools({ header, primitive }: Tool, other: Tool) {
  const inputs = [...header.cases.map(({ params }) => params as Record<string, Json>), ...inputsFor(header)];
  const ends = Date.now() + PATIENCE_MS;
  const same = (a: Json, b: Json) => a === b || canonicalJson(plainFigures(a)) === canonicalJson(plainFigures(b));
  let alike = 0;
  for (const params of inputs) {
    if (Date.now() > ends) break;
    const ask = (each: Primitive) => callPrimitive(each, params, pureContext()).catch(() => null) as Promise<Record<string, Json> | null>;
    const [one, two] = await Promise.all([ask(primitive), ask(other.primitive)]);
    // Refusing an input is a decision, not a result.
    if (one == null || two == null) continue;
    const key = Object.keys(header.returns).find((name) => !same(one[name] ?? null, two[name] ?? null));
    if (key !== undefined) {
      const differs = `with ${shown(params)} ${key} is ${shown(one[key] ?? null)}, not ${shown(two[key] ?? null)}`;
      return { differs, alike, tried: inputs.length };
    }
    alike++;
  }
  return { differs: null, alike, tried: inputs.length };
}

/** 2.50 equals 2.5, and doubles are compared by nine digits. */
function plainFigures(value: Json): Json {
  if (Array.isArray(value)) return value.map(plainFigures);
  if (typeof value === "number") return Number(value.toPrecision(9));
  if (typeof value === "string") return isFigure(value) && value.includes(".") ? value.replace(/\.?0+$/, "") : value;
  return typeof value === "object" && value !== null
    ? Object.fromEntries(Object.entries(value).map(([key, one]) => [key, plainFigures(one)]))
    : value;
}

function refusal(error: unknown): { code: string; message: string } {
  const { code, message, data } = toWire(error);
  const inner = data?.["code"];
  return { code: typeof inner === "string" ? `${code} ${inner}` : code, message };
}

/** A tool may refuse inconsistent inputs with a message; hitting a limit or returning an invalid result is a fault. */
const isFault = ({ code }: { code: string }): boolean => code.startsWith("COMPUTE_TOOL") && code !== "COMPUTE_TOOL SCRIPT_ERROR";

function failureOf(one: ToolHeader["cases"][number], answer: Answer, header: ToolHeader): string | null {
  if (one.error !== undefined) {
    if (!Object.hasOwn(CODES, one.error)) return `"${one.error}" is not an error code.${didYouMean(one.error, Object.keys(CODES))}`;
    if ("value" in answer) return `it answers ${shown(answer.value)}, and the case says that it fails with ${one.error}`;
    return answer.code.split(" ")[0] === one.error
      ? null
      : `it fails with ${answer.code} (${answer.message}), and the case says ${one.error}`;
  }
  if ("code" in answer) return `it fails with ${answer.code}: ${answer.message}`;
  const expected = one.result as Record<string, Json>;
  const wrong = [...new Set([...Object.keys(header.returns), ...Object.keys(expected)])].filter(
    (key) => canonicalJson(expected[key] ?? null) !== canonicalJson(answer.value[key] ?? null),
  );
  if (wrong.length === 0) return null;
  return wrong.map((key) => `${key} is ${shown(answer.value[key] ?? null)}, and the case says ${shown(expected[key] ?? null)}`).join("; ");
}

/** Inputs that the declaration allows and no case covers: zero, a negative number, an empty list. */
function uncovered({ params, cases }: ToolHeader): string[] {
  const allowed = flat(Object.values(params));
  const given = cases.flatMap((one) => leaves(one.params as Json));
  const figures = allowed.filter(({ unit }) => unit !== undefined);
  const asks: [boolean, (value: Json) => boolean, string][] = [
    [
      figures.some(({ min = -1, max = 1 }) => Number(min) <= 0 && Number(max) >= 0),
      (value) => isFigure(value) && Number(value) === 0,
      "a zero",
    ],
    [figures.some(({ min = -1 }) => Number(min) < 0), (value) => isFigure(value) && Number(value) < 0, "a figure below zero"],
    [allowed.some(({ type, min = 0 }) => type === "list" && Number(min) === 0), (value) => Array.isArray(value), "an empty list"],
  ];
  return asks
    .filter(([may, fits]) => may && !given.some(fits))
    .map(([, , what]) => `params: allows ${what}, and no case tries it. Add a case, or forbid it with min.`);
}

const isFigure = (value: Json): boolean => typeof value === "number" || (typeof value === "string" && /^-?\d+(\.\d+)?$/.test(value));

const flat = (fields: readonly ToolField[]): ToolField[] =>
  fields.flatMap((one) => [one, ...flat([...(one.of === undefined ? [] : [one.of]), ...Object.values(one.fields ?? {})])]);

/** Scalars in a value, and its empty lists. */
function leaves(value: Json): Json[] {
  if (Array.isArray(value)) return value.length === 0 ? [value] : value.flatMap(leaves);
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(leaves) : [value];
}

/** Calls, in all scripts of the candidate, of tools that no longer exist. */
async function missing({ base, tree }: Given): Promise<Finding[]> {
  const names = async (of: Tree) => (await of.list(TOOLS)).flatMap(({ path }) => toolOf(path) ?? []);
  const left = new Set(await names(tree));
  const gone = (await names(base)).filter((name) => !left.has(name));
  if (gone.length === 0) return [];
  const says = (name: string) =>
    `${name} is called here, and its file is removed. Keep the tool, or change this script in the same proposal.`;
  return (await callersOf(gone, tree)).map(({ name, ...at }) => toolFinding(at, says(name)));
}

/** Where scripts of a tree name tools. Comments count: whoever removes a tool should know. */
export async function callersOf(names: readonly string[], tree: Tree): Promise<{ name: string; file: string; line: number }[]> {
  const files = (await Promise.all([AGENTS, SCRIPTS].map((folder) => tree.list(folder)))).flat();
  const found = files.map(async ({ path }) => {
    const lines = ((await tree.read(path)) ?? "").split("\n");
    return lines.flatMap((text, i) =>
      names
        .filter((name) => new RegExp(`\\b${name}\\b`).test(text) && toolOf(path) !== name)
        .map((name) => ({ name, file: path, line: i + 1 })),
    );
  });
  return (await Promise.all(found)).flat();
}
