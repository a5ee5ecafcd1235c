/** The meta-agent's prompt: a file versioned by its text, the callable names with types (computations in one line each), and the workspace in outline. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, mayBeAbsent, primitiveTypes } from "../kernel/derive.ts";
import type { Json, Tree } from "../kernel/ports.ts";
import type { Primitive } from "../kernel/primitive.ts";
import type { Registry } from "../kernel/registry.ts";
import { parseHeader } from "../scripts/header.ts";
import { AGENTS, CONFIG, IMPORTERS, POLICIES, SCRIPTS } from "../workspace/layout.ts";
import { loadChart } from "../workspace/books/months.ts";
import { toWire } from "../kernel/errors.ts";

export interface Prompt {
  /** Identifies the prompt's text: equal for equal prompts, whatever the workspace. */
  version: string;
  /** The same for every request at one commit, so that a server can cache it. */
  system: string;
  /** For a model with a small context: one line per callable; types are found by searching. */
  short: string;
}

const own = (name: string): string => readFileSync(new URL(name, import.meta.url), "utf8");

const digest = (rules: string): string => createHash("sha256").update(rules).digest("hex").slice(0, 12);
export const promptVersion = (): string => digest(own("prompts/system.md"));

/** servers: names of the tool servers in trust.yaml. */
export async function promptFor(tree: Tree, registry: Registry, servers: readonly string[]): Promise<Prompt> {
  const rules = own("prompts/system.md");
  const header = own("../../docs/HEADER.md").replace(/^<!--.*-->\n/, "");
  const all = registry.all();
  const isPure = ({ name }: Primitive) => name.startsWith("compute_");
  const lines = (title: string, some: readonly Primitive[]) =>
    `# ${title}\nTheir full types are found by \`search\` in primitives.\n${some.map(lineOf).join("\n")}`;
  const typed = `# Primitives\n\`\`\`ts\n${primitiveTypes(all.filter((one) => !isPure(one)))}\`\`\``;
  const offered = servers.length === 0 ? "" : `\n\n## Tool servers\n${servers.join(", ")}; their tools are found by \`search\` in tools.`;
  const around = `${await outline(tree)}${offered}`;
  return {
    version: digest(rules),
    system: [rules, header, typed, lines("Computations: pure functions", all.filter(isPure)), around].join("\n\n"),
    short: [rules, header, lines("Primitives", all), around].join("\n\n"),
  };
}

/** `compute_x({ fee, target, factor? }): what it does` */
function lineOf({ name, params, summary }: Primitive): string {
  const keys = Object.entries(params.shape).map(([key, schema]) => {
    const said = describe(schema as never);
    return `${key}${mayBeAbsent(schema as never, "in") ? "?" : ""}${said === "" || said.length > 60 ? "" : ` /* ${said} */`}`;
  });
  return `- ${name}({ ${keys.join(", ")} }): ${summary}`;
}

/** The contents of the workspace: agents with headers, other files by name, accounts, settings. Nothing written by a bank or a tool. */
async function outline(tree: Tree): Promise<string> {
  const agents = await Promise.all((await tree.list(AGENTS)).map(async ({ path }) => agentLine(path, (await tree.read(path)) ?? "")));
  const named = async (folder: string) => (await tree.list(folder)).map(({ path }) => path).join(", ") || "none";
  const { accounts } = await loadChart(tree);
  return [
    "# This workspace",
    `## Agents\n${agents.join("\n")}`,
    `## Files\nscripts: ${await named(SCRIPTS)}\npolicies: ${await named(POLICIES)}\ndialects of statements: ${await named(IMPORTERS)}`,
    `## Accounts\n${accounts.map(({ id, name }) => `${id} ${name}`).join("\n")}`,
    `## ${CONFIG}\n\`\`\`yaml\n${((await tree.read(CONFIG)) ?? "").replace(/^\s*#.*\n/gm, "")}\`\`\``,
  ].join("\n\n");
}

function agentLine(path: string, source: string): string {
  try {
    const { name, description, trigger, schedule, uses, process, machine } = parseHeader(source, path);
    const facts: { [key: string]: Json } = {
      ...{ name, description, trigger },
      ...(schedule === undefined ? {} : { schedule }),
      ...(process === undefined ? {} : { process }),
      ...(machine === null ? {} : { states: machine.states.map(({ state }) => state) }),
      uses,
    };
    return `- ${path}: ${JSON.stringify(facts)}`;
  } catch (error) {
    return `- ${path}: its header cannot be read (${toWire(error).code})`;
  }
}
