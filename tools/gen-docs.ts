/**
 * Writes the generated pages of docs/; with --check it writes nothing and exits 1 when one is stale.
 * Run by `npm run gen` and `npm run check`.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { primitives } from "../primitives/index.ts";
import { dialectsDoc, errorsDoc, headerDoc, primitivesDoc } from "./docs-pages.ts";

const docs = new URL("../docs/", import.meta.url);
const pages: Record<string, string> = {
  "PRIMITIVES.md": primitivesDoc(primitives),
  "ERRORS.md": errorsDoc(),
  "HEADER.md": headerDoc(),
  "DIALECTS.md": dialectsDoc(),
};
const check = process.argv.includes("--check");

await mkdir(docs, { recursive: true });
for (const [name, text] of Object.entries(pages)) {
  const url = new URL(name, docs);
  const before = await readFile(url, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
  if (before === text) continue;
  if (!check) {
    await writeFile(url, text);
    console.log(`wrote ${fileURLToPath(url)}`);
    continue;
  }
  console.error(`docs/${name} is stale. Run npm run gen.`);
  process.exitCode = 1;
}
