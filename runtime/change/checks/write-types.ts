/** The typings of agent scripts on disk, so that an editor completes and checks agents/*.ts and scripts/*.ts as `cleared` does. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { primitiveTypes } from "../../kernel/derive.ts";
import type { Primitive } from "../../kernel/primitive.ts";
import { AGENTS, SCRIPTS, TOOLS, TYPES } from "../../workspace/layout.ts";

/** Compiler options for agent scripts: no browser, no Node, each file separately. */
export const SCRIPT_OPTIONS = {
  target: "esnext",
  module: "esnext",
  moduleDetection: "force",
  lib: ["esnext"],
  types: [],
  strict: true,
  noEmit: true,
  skipLibCheck: true,
};

/**
 * Writes .cleared/types/primitives.d.ts, and a tsconfig.json at the root of the workspace unless it exists.
 * Returns the paths written, relative to dir.
 */
export async function writeTypes(dir: string, primitives: readonly Primitive[]): Promise<string[]> {
  const types = `${TYPES}primitives.d.ts`;
  const config = { compilerOptions: SCRIPT_OPTIONS, include: [`${AGENTS}*.ts`, `${SCRIPTS}*.ts`, `${TOOLS}*.ts`, types] };
  const written = [types];
  await mkdir(dirname(join(dir, types)), { recursive: true });
  await writeFile(join(dir, types), primitiveTypes(primitives));
  try {
    await writeFile(join(dir, "tsconfig.json"), `${JSON.stringify(config, null, 2)}\n`, { flag: "wx" });
    written.push("tsconfig.json");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  return written;
}
