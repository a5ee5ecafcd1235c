/** A workspace with recorded runs and a model of its own on loopback, for tests of `cleared ask`. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT, cleared, commit, put, shell, statement, workspace } from "../cli/command-line.ts";
import { type Asked, type FakeModel, type Reply, fakeModel } from "../llm/server.ts";

export const STATEMENT = join(ROOT, "examples/statements/chase-checking-2026-10.csv");
const CATALOGUE = '{context: 400000, max_output: 32000, prices: [{from: 2020-01-01, input: "2.00", output: "10.00"}]}';

export interface Asking {
  dir: string;
  server: FakeModel;
  ask(...args: string[]): ReturnType<typeof cleared>;
}

/** What a model says, turn by turn; a function sees the request. */
export type Script = (Reply | ((asked: Asked) => Reply))[];

/** What the model does for each request, by its text; past the end of its script it stays silent. */
export async function asking(
  scripts: Record<string, Script>,
  { runs = true, files = {} }: { runs?: boolean; files?: Record<string, string> } = {},
): Promise<Asking> {
  const server = await fakeModel((asked) => {
    const { messages } = asked.body as { messages: { role: string; content: string }[] };
    const request = messages.find(({ role }) => role === "user")?.content.replace(/^[\s\S]*The request:\n\n/, "") ?? "";
    const turn = messages.filter(({ role }) => role === "assistant").length;
    const one = scripts[request]?.[turn] ?? { text: "" };
    return typeof one === "function" ? one(asked) : one;
  });
  const dir = await workspace();
  const text = (path: string) => readFileSync(join(dir, path), "utf8");
  const trust = text("trust.yaml").replace(/^models: \{\}.*$/m, "");
  await commit(dir, {
    "trust.yaml": `${trust}\nmodels: {fake: {backend: openai, url: "${server.url}/v1", timeout_ms: 20000}}\n`,
    ...files,
    "config.yaml": `${(files["config.yaml"] ?? text("config.yaml")).replace(/^models:.*$/m, "")}\nmodels: {small: fake/hand, large: fake/hand, catalogue: {hand: ${CATALOGUE}}}\n`,
  });
  if (runs) await cleared(dir, "import", STATEMENT);
  return { dir, server, ask: (...args) => cleared(dir, "ask", ...args) };
}

export const call = (name: string, input: object): Reply => ({ call: { name, input } });

/** The last result that the model was shown. */
export function lastResult({ body }: Asked): string {
  return String(body.messages.at(-1)?.content ?? "");
}

export const source = (path: string): string => readFileSync(join(ROOT, path), "utf8");
export { cleared, commit, put, shell, statement };
