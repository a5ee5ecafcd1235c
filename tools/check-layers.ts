/**
 * Who may import whom (STYLE.md section 3): a file imports its own folder or anything further left in LAYERS; `import type`
 * from ports.ts is allowed everywhere; primitives import no Node module and no package but zod; each package has one door file; no file
 * imports itself indirectly, not even for types; SQL is only in engine/store/.
 * Prints how many imports it saw and fails on zero: a check that checks nothing must not pass.
 */
import { builtinModules } from "node:module";
import { posix } from "node:path";
import { parseSync } from "oxc-parser";
import { type SourceFile, sourceFiles } from "./source-files.ts";

/** Left to right. A path belongs to its longest matching prefix. */
const LAYERS = [
  "runtime/kernel/errors.ts",
  "runtime/kernel/",
  "runtime/workspace/layout.ts",
  "runtime/rules/",
  "primitives/",
  "runtime/plugin.ts",
  "runtime/scripts/",
  "runtime/sandbox/",
  "runtime/engine/store/",
  "runtime/engine/",
  "runtime/workspace/",
  "runtime/outside/",
  "runtime/llm/",
  "runtime/change/checks/",
  "runtime/change/evidence/",
  "runtime/change/proposal-types.ts",
  "runtime/change/widening/",
  "runtime/change/proposals/",
  "runtime/meta/",
  "runtime/app/",
  "runtime/a2a/",
  "runtime/mcp-server/",
  "runtime/web/",
  "runtime/cli/",
];

/** Imported in more than one place on purpose: declarations are written in zod. */
const OPEN_PACKAGES = new Set(["zod"]);

const STORE = "runtime/engine/store/";
const SQL = /\b(?:SELECT\b[^;]*\bFROM|INSERT (?:OR \w+ )?INTO|UPDATE \w+ SET|DELETE FROM) /;

interface Import {
  from: SourceFile;
  offset: number;
  specifier: string;
  /** Erased before it runs: `import type`, or all its names are types. */
  typeOnly: boolean;
}

const findings: string[] = [];
const doors = new Map<string, Set<string>>();
const files = sourceFiles(["runtime", "primitives"], [".ts", ".js"]);
const known = new Set(files.map((file) => file.path));
const reached = new Map(files.map(({ path }) => [path, new Set<string>()]));
let seen = 0;

for (const file of files) {
  for (const found of importsOf(file)) {
    seen++;
    checkImport(found);
  }
  const sql = file.path.startsWith(STORE) ? null : SQL.exec(file.text);
  if (sql !== null) {
    const line = file.text.slice(0, sql.index).split("\n").length;
    findings.push(`${file.path}:${line} contains SQL. Use a function of ${STORE}, so that the store can be replaced.`);
  }
}
for (const [specifier, importers] of doors) {
  if (importers.size > 1)
    findings.push(`${specifier} has ${importers.size} doors (${[...importers].sort().join(", ")}). Keep one, and import that file.`);
}
for (const circle of circles())
  findings.push(`${circle.join(" -> ")}: these files import each other. Move what both need into the lower one.`);
if (!files.some(({ path, text }) => path.startsWith(STORE) && SQL.test(text))) findings.push("no SQL was found: the check checked nothing");
if (seen === 0) findings.push("no import was found: the check checked nothing");

for (const finding of findings) console.error(finding);
console.log(`layers: ${seen} imports in ${files.length} files, ${findings.length} findings`);
process.exit(findings.length > 0 ? 1 : 0);

function checkImport(found: Import): void {
  const { from, specifier, typeOnly } = found;
  if (!specifier.startsWith(".")) {
    checkPackage(found);
    return;
  }
  const target = posix.normalize(posix.join(posix.dirname(from.path), specifier));
  reached.get(from.path)?.add(target);
  if (typeOnly && target === "runtime/kernel/ports.ts") return;
  const [mine, theirs] = [layerOf(from.path), layerOf(target)];
  if (mine === -1) report(found, `this file is in no layer. Put it in one, or add it to LAYERS in tools/check-layers.ts.`);
  else if (!known.has(target)) report(found, `${target} does not exist`);
  else if (theirs === -1) report(found, `${target} is in no layer: runtime code imports only runtime code.`);
  else if (theirs > mine)
    report(found, `${LAYERS[mine]} may not import ${LAYERS[theirs]}: it is further right. Use a port, or move it down.`);
}

function checkPackage(found: Import): void {
  const { from, specifier, typeOnly } = found;
  const builtin = specifier.startsWith("node:") || builtinModules.includes(specifier);
  if (builtin && !specifier.startsWith("node:")) report(found, `write it as "node:${specifier}".`);
  if (from.path.startsWith("primitives/") && specifier !== "zod") {
    report(found, "primitives import nothing but zod and our own files; everything else comes through ctx.ports.");
  }
  if (builtin || typeOnly || OPEN_PACKAGES.has(specifier)) return;
  const importers = doors.get(specifier) ?? new Set();
  doors.set(specifier, importers.add(from.path));
}

/** One circle for each file that closes one, as a path that ends where it begins. */
function circles(): string[][] {
  const found: string[][] = [];
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): void => {
    const open = path.indexOf(file);
    if (open >= 0) found.push([...path.slice(open), file]);
    if (open >= 0 || done.has(file)) return;
    path.push(file);
    for (const next of reached.get(file) ?? []) visit(next);
    path.pop();
    done.add(file);
  };
  for (const file of reached.keys()) visit(file);
  return found;
}

function layerOf(path: string): number {
  let best = -1;
  for (const [index, prefix] of LAYERS.entries()) {
    const fits = prefix.endsWith("/") ? path.startsWith(prefix) : path === prefix;
    if (fits && prefix.length > (LAYERS[best]?.length ?? 0)) best = index;
  }
  return best;
}

/** Static imports, re-exports, and `import()` or `require()` of a literal. */
function importsOf(file: SourceFile): Import[] {
  const { module } = parseSync(file.path, file.text);
  const imports: Import[] = module.staticImports.map((each) => ({
    from: file,
    offset: each.start,
    specifier: each.moduleRequest.value,
    typeOnly: each.entries.length > 0 && each.entries.every((entry) => entry.isType),
  }));
  for (const each of module.staticExports) {
    const source = each.entries.find((entry) => entry.moduleRequest !== null)?.moduleRequest;
    if (source)
      imports.push({ from: file, offset: each.start, specifier: source.value, typeOnly: each.entries.every((entry) => entry.isType) });
  }
  for (const match of file.text.matchAll(/\b(?:import|require)\(\s*"([^"\n]+)"\s*\)/g)) {
    // `typeof import("x")` and an import in a comment are erased; a false match here would only make the check stricter.
    const typeOnly = /(?:typeof\s+|:\s*|\*.*|\/\/.*)$/.test(file.text.slice(0, match.index).split("\n").at(-1) ?? "");
    imports.push({ from: file, offset: match.index, specifier: match[1] ?? "", typeOnly });
  }
  return imports;
}

function report({ from, offset, specifier }: Import, problem: string): void {
  const line = from.text.slice(0, offset).split("\n").length;
  findings.push(`${from.path}:${line} imports "${specifier}": ${problem}`);
}
