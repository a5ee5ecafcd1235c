/** Writes the generated pages of docs/; with --check (`npm run check`) writes nothing and exits 1 when one is stale. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
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

for (const [name, text] of Object.entries(pages)) {
  const url = new URL(name, docs);
  if (existsSync(url) && readFileSync(url, "utf8") === text) continue;
  if (process.argv.includes("--check")) {
    console.error(`docs/${name} is stale. Run npm run gen.`);
    process.exitCode = 1;
  } else {
    writeFileSync(url, text);
    console.log(`wrote ${fileURLToPath(url)}`);
  }
}
