#!/usr/bin/env node
/**
 * Runs the npm scripts of this repository: start, test, check, gen, bench. Installs if necessary, then hands over to Node 26.
 * `start` creates demo/ on the first run: a workspace in its own git repository, with a sample statement to import.
 */
import { copyFileSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { endLike, prepare, ROOT, runNode } from "./launcher.js";

const MAIN = join(ROOT, "runtime", "cli", "main.ts");
const DEMO = join(ROOT, "demo");
const SAMPLES = join(ROOT, "examples", "statements");
const FILES = { test: "tools/test.ts", check: "tools/check.ts", gen: "tools/gen-docs.ts", bench: "bench/run.ts" };

const [command = "start", ...rest] = process.argv.slice(2);
await prepare();
if (command === "start") endLike(await startDemo(rest));
else if (Object.hasOwn(FILES, command)) endLike(await runNode([join(ROOT, FILES[command]), ...rest], { cwd: ROOT }));
else {
  console.error(`dev.js does not know "${command}". Use one of: start, ${Object.keys(FILES).join(", ")}.`);
  process.exit(2);
}

async function startDemo(args) {
  if (!existsSync(join(DEMO, "config.yaml"))) {
    const made = await runNode([MAIN, "init", DEMO, "--name", "Demo"], { cwd: ROOT });
    if (made.code !== 0) return made;
  }
  dropSamples();
  return runNode([MAIN, "start", ...args], { cwd: DEMO });
}

/** Puts the sample into import/ until something was imported, so that an interrupted first start is completed. */
function dropSamples() {
  const inbox = join(DEMO, "import");
  const used = ["processed", "receipts"].some((folder) => filesOf(join(inbox, folder)).length > 0);
  if (used || filesOf(inbox).length > 0) return;
  mkdirSync(inbox, { recursive: true });
  for (const name of filesOf(SAMPLES)) copyFileSync(join(SAMPLES, name), join(inbox, name));
}

function filesOf(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.startsWith("."))
    .map((entry) => entry.name);
}
