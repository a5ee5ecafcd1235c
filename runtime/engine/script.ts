/** The script of a run: header, compiled form and sub-scripts, read from the tree of the commit the run is pinned to. */
import { ClearedError, findingError } from "../kernel/errors.ts";
import type { Compiled, Job, Json, RunRecord, Sandbox, Tree } from "../kernel/ports.ts";
import type { Primitive } from "../kernel/primitive.ts";
import { validateInput } from "../scripts/fields.ts";
import { type Header, hasHeader, parseHeader } from "../scripts/header.ts";
import { TOOLS, scriptFile, toolOf } from "../workspace/layout.ts";
import type { ToolsAround } from "./tool-scripts.ts";

export interface Script {
  header: Header;
  main: Compiled;
  scripts: Record<string, Compiled>;
  /** Headers of the sub-scripts that have one, by the name script_run uses. */
  headers: Record<string, Header>;
  /** Primitives that the commit itself declares, in scripts/tools/. */
  tools: Record<string, Primitive>;
  /** Primitives that the code may call. A context with ten of them is made faster than with all, and its child can call no others. */
  named: readonly string[];
}

/**
 * Reads and compiles. `lint: false` skips the language lint: the sandbox must hold by itself.
 * @throws SCRIPT_MISSING, SCRIPT_HEADER, COMPUTE_TOOL, and the first finding of the language lint
 */
export async function loadScript(
  tree: Tree,
  file: string,
  sandbox: Sandbox,
  { lint, ...around }: Omit<ToolsAround, "sandbox"> & { lint: boolean },
): Promise<Script> {
  const texts: string[] = [];
  let declared = null as string[] | null;
  const source = await read(tree, file);
  const header = parseHeader(source.text, file, around.cache);
  const main = await compile(source, file);
  // Without a prototype: a file may be called __proto__.
  const scripts = Object.create(null) as Record<string, Compiled>;
  const headers = Object.create(null) as Record<string, Header>;
  for (const queue = [...main.scripts]; queue.length > 0; ) {
    const name = queue.pop() ?? "";
    if (Object.hasOwn(scripts, name)) continue;
    const path = scriptFile(name);
    const found = await read(tree, path, file);
    const sub = await compile(found, path);
    scripts[name] = sub;
    if (hasHeader(found.text)) headers[name] = parseHeader(found.text, path, around.cache);
    queue.push(...sub.scripts);
  }
  // A Unicode escape may hide a name, so then all count; `console` calls ctx_log.
  const hasEscapes = texts.some((text) => text.includes("\\u"));
  const named = [...around.primitives, ...(declared ?? [])].filter(
    (name) => hasEscapes || name === "ctx_log" || texts.some((text) => text.includes(name)),
  );
  if (declared === null || declared.length === 0) return { header, main, scripts, headers, tools: {}, named };
  const called = new Set([main, ...Object.values(scripts)].flatMap(({ calls }) => calls.map(({ name }) => name)));
  // Loaded only where there are tools: it imports all compute functions.
  const { toolsFor } = await import("./tool-scripts.ts");
  return { header, main, scripts, headers, named, tools: await toolsFor(texts, called, tree, { sandbox, ...around }) };

  async function compile({ text, blob }: { text: string; blob: string }, path: string): Promise<Compiled> {
    texts.push(text);
    // Only a script that names a compute function needs the list of scripts/tools/.
    if (text.includes("compute_")) declared ??= (await tree.list(TOOLS)).flatMap(({ path: tool }) => toolOf(tool) ?? []);
    const primitives = declared === null ? around.primitives : [...around.primitives, ...declared];
    const { compiled, findings } = await sandbox.compile(text, { file: path, blob, lint, primitives });
    if (compiled === null || findings.length > 0) throw findingError(findings, path);
    return compiled;
  }
}

async function read(tree: Tree, file: string, from?: string): Promise<{ text: string; blob: string }> {
  const [text, blob] = await Promise.all([tree.read(file), tree.blob(file)]);
  if (text === null || blob === null)
    throw new ClearedError(
      "SCRIPT_MISSING",
      `${file} is not in commit ${tree.commit.slice(0, 7)}${from === undefined ? "" : ` (${from} calls it)`}. Commit the file, or correct the name.`,
    );
  return { text, blob };
}

/** What a script may call: the name of each primitive with the parameter it also takes bare, and the primitive itself. */
export interface Callable {
  globals: Record<string, string | null>;
  /** @throws PRIMITIVE_UNKNOWN */
  primitive(name: string): Promise<Primitive>;
}

/** The runtime's primitives and those the script's commit declares. The input of a sub-script must match the `input:` of its header. */
export function callableIn(world: Callable, { tools, headers }: Pick<Script, "tools"> & Partial<Pick<Script, "headers">>): Callable {
  const own = Object.values(tools).map((one) => [one.name, one.bare]);
  return {
    globals: own.length === 0 ? world.globals : { ...world.globals, ...Object.fromEntries(own) },
    async primitive(name) {
      if (Object.hasOwn(tools, name)) return tools[name] as Primitive;
      const primitive = await world.primitive(name);
      if (name !== "script_run" || headers === undefined) return primitive;
      const run: Primitive["run"] = (params, ctx) => {
        const { name: sub, params: input } = params as { name: string; params?: Json };
        const wrong = (message: string) =>
          new ClearedError("PARAMS_INVALID", `The input of ${scriptFile(sub)} does not fit its header: ${message}.`);
        const header = Object.hasOwn(headers, sub) ? (headers[sub] as Header) : null;
        if (header !== null) validateInput(header, input ?? {}, wrong);
        if (header?.strategy !== undefined) ctx.changed({ op: "strategy", strategy: header.strategy });
        return primitive.run(params, ctx);
      };
      return { ...primitive, run };
    },
  };
}

/** What a sandbox needs of a run, whether it is executed or replayed. */
export function jobOf(
  run: RunRecord,
  { main, scripts, named }: Script,
  { globals }: Callable,
): Pick<Job, "main" | "scripts" | "primitives" | "input" | "seed" | "startedAt"> {
  const primitives = Object.fromEntries(named.flatMap((name) => (Object.hasOwn(globals, name) ? [[name, globals[name] ?? null]] : [])));
  return { main, scripts, primitives, input: JSON.stringify(run.input), seed: run.id, startedAt: run.createdAt };
}

export async function knownPrimitive(callable: Callable, name: string): Promise<Primitive | undefined> {
  return Object.hasOwn(callable.globals, name) ? await callable.primitive(name) : undefined;
}
