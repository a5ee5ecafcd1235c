/**
 * The second derivation of a computation that a request adds: another conversation sees its parameters, its results and its rule in words, but
 * neither its code nor its cases, and writes it again. Both are executed on the same inputs. The writer is told once where they differ; what
 * still differs, or was not derived, is shown on the card.
 */
import { readFileSync } from "node:fs";
import { compareTools } from "../change/checks/tools.ts";
import { type Tool, readTools } from "../engine/tool-scripts.ts";
import { ClearedError, toWire } from "../kernel/errors.ts";
import { oneLine } from "../kernel/text.ts";
import { toolOf } from "../workspace/layout.ts";
import { treeOver } from "../workspace/git/tree.ts";
import type { Files, Workshop } from "./workshop.ts";

export interface Derived {
  path: string;
  /** A remark for the person. */
  says: string;
  differs: boolean;
}

const RULES = readFileSync(new URL("prompts/derive.md", import.meta.url), "utf8");

/** For each computation that the draft adds or changes. */
export async function deriveAgain(files: Files, shop: Workshop): Promise<Derived[]> {
  const found: Derived[] = [];
  for (const [path, text] of files) {
    const name = toolOf(path);
    if (name === null || text === null || text === (await shop.base.read(path))) continue;
    const tell = (says: string, differs = false) => found.push({ path, says: oneLine(`${name}: ${says}`, 300), differs });
    try {
      const first = await toolAt(path, files, shop);
      if (first === null) continue;
      const { description, params, returns, source } = first.header;
      const said = await shop.derive(RULES, JSON.stringify({ description, params, returns, source }));
      const body = /^```\w*\s*([\s\S]*?)\s*```$/.exec(said.trim())?.[1] ?? said.trim();
      const second =
        body === "" ? null : await toolAt(path, new Map(files).set(path, `${text.slice(0, text.indexOf("*/") + 2)}\n${body}\n`), shop);
      if (second === null) {
        tell("not derived a second time: the model wrote nothing that could be executed");
        continue;
      }
      const { differs, alike, tried } = await compareTools(first, second);
      if (differs !== null) tell(`derived a second time from its description alone it answers otherwise: ${differs}`, true);
      else if (alike === 0) tell("derived a second time, it answers none of the inputs");
      else tell(`derived a second time from its description alone: the same on ${alike} of ${tried} inputs, and otherwise on none`);
    } catch (error) {
      if (!(error instanceof ClearedError) || error.kind === "internal") throw error;
      tell(`not derived a second time: ${toWire(error).message}`);
    }
  }
  return found;
}

/** The tool in a file, if it compiles; else null. */
async function toolAt(path: string, files: Files, { base, bench, registry }: Workshop): Promise<Tool | null> {
  const known = await registry();
  const builtin = known.all().filter(({ tool }) => tool === undefined);
  const around = { sandbox: bench.world.sandbox, primitives: builtin.map(({ name }) => name), primitive: known.get };
  const { tools } = await readTools(treeOver(base, files), around);
  const tool = Object.values(tools).find(({ header }) => header.file === path) ?? null;
  await tool?.prepare();
  return tool;
}
