/**
 * Synthesized tools: scripts/tools/NAME.ts of a commit as the primitive compute_NAME. The body is a script that sees only its parameters and
 * pure primitives, and keeps nothing between calls, so a call is pure by construction. It runs in a slot beside those of runs, at a level
 * above the tools it calls, so no call can wait for its own slot.
 */
import { compute_find, findAmong } from "../../primitives/compute/find.ts";
import { ClearedError, type Code, findingError, formatAt, kindOf, toWire } from "../kernel/errors.ts";
import type { Compiled, Finding, Job, JobEnd, Json, Limits, Sandbox, Tree } from "../kernel/ports.ts";
import { type Primitive, type StepContext, callPrimitive, contextAlone, definePrimitive } from "../kernel/primitive.ts";
import { type Registry, createRegistry } from "../kernel/registry.ts";
import type { DiskCache } from "../scripts/disk-cache.ts";
import { type ToolHeader, parseTool } from "../scripts/tool-header.ts";
import { TOOLS, toolFile, toolOf } from "../workspace/layout.ts";
import { objectOf } from "./tool-fields.ts";

export interface Tool {
  header: ToolHeader;
  source: string;
  blob: string;
  primitive: Primitive;
  /** Compiles the body, and those of the tools it calls; `above`: its chain of callers. @throws COMPUTE_TOOL, the first finding of the language lint */
  prepare(above?: readonly string[]): Promise<Prepared>;
}

export interface Prepared {
  main: Compiled;
  /** The primitives it calls, by name. */
  callees: Record<string, Primitive>;
  /** 0 for a tool that calls no other. */
  level: number;
}

/** What tools are made with: the sandbox, and the primitives that exist without them. */
export interface ToolsAround {
  sandbox: Sandbox;
  /** Names of the built-in primitives and those of plugins. */
  primitives: readonly string[];
  /** @throws PRIMITIVE_UNKNOWN */
  primitive(name: string): Promise<Primitive> | Primitive;
  cache?: DiskCache | undefined;
}

/** Tools by the primitive's name, and why the other files of scripts/tools/ are not tools. */
export interface Tools {
  tools: Record<string, Tool>;
  findings: Finding[];
}

// spec/worker.md 10.2: 64 MB, 250 ms. A tool may call 100 pure functions, each of which has its own limits.
const LIMITS: Limits = {
  source_bytes: 65_536,
  cpu_ms: 250,
  wall_ms: 5000,
  memory_mb: 64,
  calls: 100,
  call_bytes: 1 << 20,
  answer_bytes: 1 << 20,
  total_bytes: 8 << 20,
};
/** A tool that calls a tool that calls a tool: deeper chains are not readable. */
const MAX_LEVEL = 3;

const MENTIONED = /\bcompute_[a-z0-9_]+/g;

/** All tools of a tree. Bodies are compiled when they are first called or prepared. */
export async function readTools(tree: Tree, around: ToolsAround): Promise<Tools> {
  const tools: Record<string, Tool> = {};
  const findings: Finding[] = [];
  for (const { path, blob } of await tree.list(TOOLS)) {
    const name = toolOf(path);
    if (name === null) {
      findings.push(
        toolFinding({ file: path }, `${path} cannot be a tool by this name: use small letters, digits and _, directly in ${TOOLS}.`),
      );
      continue;
    }
    if (around.primitives.includes(name)) {
      findings.push(toolFinding({ file: path, line: 1 }, `${name} is a primitive already. Rename the tool and its file.`));
      continue;
    }
    try {
      const source = (await tree.read(path)) ?? "";
      tools[name] = declare(parseTool(source, path, around.cache), { source, blob }, tools, around);
    } catch (error) {
      const { code, message, at, data } = toWire(error);
      findings.push(...((data?.["findings"] as Finding[] | undefined) ?? [{ code, at: at ?? { file: path }, message }]));
    }
  }
  return { tools, findings };
}

/**
 * The tools of its commit that a script may call, ready to be called; compute_find then knows all of the commit's tools.
 * @param texts of the script and its sub-scripts
 * @param called names of the primitives they call
 * @throws COMPUTE_TOOL when a file is called as a tool and is not a valid one
 */
export async function toolsFor(
  texts: readonly string[],
  called: ReadonlySet<string>,
  tree: Tree,
  around: ToolsAround,
): Promise<Record<string, Primitive>> {
  const declared = (await tree.list(TOOLS)).flatMap(({ path }) => toolOf(path) ?? []);
  const names = new Set(texts.flatMap((text) => text.match(MENTIONED) ?? []));
  const wanted = declared.filter((name) => names.has(name));
  const finds = declared.length > 0 && called.has(compute_find.name);
  if (wanted.length === 0 && !finds) return {};
  const { tools, findings } = await readTools(tree, around);
  const found: Record<string, Primitive> = {};
  for (const name of wanted) {
    const tool = tools[name];
    const [wrong] = findings.filter(({ at }) => at.file === toolFile(name));
    if (tool === undefined && called.has(name)) throw new ClearedError("COMPUTE_TOOL", `${name}: ${wrong?.message}`, { at: wrong?.at });
    if (called.has(name)) await tool?.prepare();
    if (tool !== undefined) found[name] = tool.primitive;
  }
  if (finds) found[compute_find.name] = findAmong(Object.values(tools).map(({ primitive }) => primitive));
  return found;
}

/** The registry with the readable tools of a tree, for lint and typings, which need all primitives. */
export async function withTools(registry: Registry, tree: Tree, sandbox: Sandbox): Promise<Registry> {
  if (!(await tree.list(TOOLS)).some(({ path }) => toolOf(path) !== null)) return registry;
  const { tools } = await readTools(tree, { sandbox, primitives: registry.names(), primitive: registry.get });
  return createRegistry(
    registry.all(),
    Object.values(tools).map(({ primitive }) => primitive),
  );
}

/** A fault of a tool, at its place in the source. */
export const toolFinding = (at: Finding["at"], message: string): Finding => ({ code: "COMPUTE_TOOL", at, message });

interface Source {
  source: string;
  blob: string;
}

function declare(header: ToolHeader, from: Source, tools: Record<string, Tool>, around: ToolsAround): Tool {
  const { file } = header;
  let done: Prepared | null = null;
  const fresh = async (above: readonly string[]) => (done = await prepareTool(header, from, above, tools, around));
  let known: Promise<Prepared> | null = null;
  const prepare: Tool["prepare"] = (above) => {
    // A prepared tool is not part of a cycle. Preparing it again for each caller would multiply the work for tools that call tools.
    if (done !== null && (above ?? []).length + done.level <= MAX_LEVEL) return Promise.resolve(done);
    if (above !== undefined) return fresh(above);
    known ??= fresh([]);
    known.catch(() => (known = null));
    return known;
  };
  const good = header.cases.find((one) => one.result !== undefined);
  const returns = objectOf(header.returns, "out");
  const primitive = definePrimitive({
    name: `compute_${header.tool}`,
    effect: "pure",
    summary: header.description,
    params: objectOf(header.params, "in"),
    returns,
    errors: ["COMPUTE_TOOL", "COMPUTE_RANGE"],
    example: `compute_${header.tool}(${JSON.stringify(good?.params ?? {})})`,
    async run(params, ctx) {
      const end = await execute(await prepare(), params as Json, ctx, around.sandbox);
      const answer = returns.safeParse(answerOf(end, header));
      if (answer.success) return answer.data;
      const [issue] = answer.error.issues;
      const what = [...(issue?.path ?? []).map(String), issue?.message ?? ""].join(": ");
      throw new ClearedError("COMPUTE_TOOL", `${file}: the result is not what returns: declares: ${what}.`, { at: { file } });
    },
  });
  return { header, ...from, primitive: { ...primitive, tool: file }, prepare };
}

async function prepareTool(
  { tool, file }: ToolHeader,
  from: Source,
  above: readonly string[],
  tools: Record<string, Tool>,
  around: ToolsAround,
): Promise<Prepared> {
  const pure: Primitive[] = [];
  // Only primitives that the text names: the others cannot be called and need not be loaded.
  for (const name of new Set(from.source.match(/\b[a-z]\w*/g)))
    if (around.primitives.includes(name)) {
      const one = await around.primitive(name);
      if (one.effect === "pure") pure.push(one);
    }
  const { compiled, findings } = await around.sandbox.compile(from.source, {
    file,
    blob: from.blob,
    lint: true,
    primitives: [...pure.map(({ name }) => name), ...Object.keys(tools)],
  });
  if (compiled === null || findings.length > 0)
    throw findingError(
      findings.map((one) => impure(one, from.source, around)),
      file,
    );
  const callees: Record<string, Primitive> = Object.fromEntries(pure.map((one) => [one.name, one]));
  let level = 0;
  for (const { name, at } of compiled.calls) {
    const callee = Object.hasOwn(tools, name) ? tools[name] : undefined;
    if (callee === undefined) continue;
    const way = [...above, `compute_${tool}`];
    if (way.includes(name) || way.length > MAX_LEVEL) {
      const message = way.includes(name) ? "calls itself" : `is a call of tools within tools, deeper than ${MAX_LEVEL}`;
      throw new ClearedError(
        "COMPUTE_TOOL",
        `${formatAt(at)} ${name} ${message}: ${[...way, name].join(" -> ")}. Put what they share into one tool.`,
        { at },
      );
    }
    level = Math.max(level, 1 + (await callee.prepare(way)).level);
    callees[name] = callee.primitive;
  }
  return { main: compiled, callees, level };
}

/** A name that the compiler does not know may be a primitive that a tool must not call. */
function impure(finding: Finding, source: string, { primitives }: ToolsAround): Finding {
  const { line = 1, col = 1 } = finding.at;
  const [name = ""] = /^\w+/.exec(source.split("\n")[line - 1]?.slice(col - 1) ?? "") ?? [];
  if (finding.code !== "SCRIPT_UNKNOWN_NAME" || !primitives.includes(name)) return finding;
  const message = `${name} is not for tools: a tool computes from its parameters and may call pure functions only. Let the script that calls the tool call ${name}, and pass what it returns.`;
  return toolFinding(finding.at, message);
}

/** The context of a pure primitive where there is no run: a pure primitive uses none of it. */
export const pureContext = (): StepContext => contextAlone({ run: { id: "run_trying", agent: "tool", mode: "dry" } });

function execute({ main, callees, level }: Prepared, params: Json, ctx: StepContext, sandbox: Sandbox): Promise<JobEnd> {
  const job: Job = {
    main,
    scripts: {},
    primitives: Object.fromEntries(Object.values(callees).map((one) => [one.name, one.bare])),
    input: JSON.stringify(params),
    seed: main.blob,
    startedAt: 0,
    history: [],
    limits: LIMITS,
    sealed: true,
    abort: ctx.abort,
    async call({ name, params: text }) {
      try {
        const value = await callPrimitive(callees[name] as Primitive, JSON.parse(text) as Json, ctx);
        return { kind: "value", json: JSON.stringify(value), now: 0 };
      } catch (error) {
        return { kind: "error", error: toWire(error), now: 0 };
      }
    },
  };
  return sandbox.executeBeside(job, level);
}

/** The result, or the failure: a parameter's own code where a function has refused it, else COMPUTE_TOOL. */
function answerOf(end: JobEnd, { file }: ToolHeader): Json {
  if (end.kind === "result") return JSON.parse(end.json) as Json;
  // The tool was interrupted, not at fault; the run that calls it continues elsewhere or later.
  if (end.kind !== "failed") throw new ClearedError("OWNER_FENCED", `${file} was stopped while it computed.`);
  const { code, message, at = { file }, data } = end.error;
  if (kindOf(code) === "input" && code !== "PARAMS_INVALID") throw new ClearedError(code as Code, message, { data, at });
  throw new ClearedError("COMPUTE_TOOL", `${formatAt(at)} ${code}: ${message}`, { data: { ...data, code }, at });
}
