/**
 * Sizes: a file over 300 lines must give its reason in its header (a line with `Size:`), and all source together stays
 * under TOTAL_LIMIT lines (docs/DECISIONS.md). Tests do not count as source, but have the same limit for one file.
 */
import { sourceFiles } from "./source-files.ts";

const FILE_LIMIT = 300;
const TOTAL_LIMIT = 77_000;
const HEADER_LINES = 12;
const SOURCE = ["bin", "runtime", "primitives", "tools", "agents", "scripts", "importers", "policies"];

const linesOf = (text: string): number => text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
const ENDINGS = [".ts", ".js", ".yaml", ".css"];

const findings: string[] = [];
let total = 0;
let files = 0;
for (const folder of [SOURCE, ["test", "bench", "examples"]]) {
  for (const { path, text } of sourceFiles(folder, ENDINGS)) {
    const lines = linesOf(text);
    if (folder === SOURCE) {
      total += lines;
      files++;
    }
    const header = text.split("\n").slice(0, HEADER_LINES).join("\n");
    if (lines > FILE_LIMIT && !/\bSize: \S+/.test(header)) {
      findings.push(`${path}:1 has ${lines} lines (limit ${FILE_LIMIT}). Split it, or give the reason in its header: "Size: REASON".`);
    }
  }
}
if (files === 0) findings.push("no source file was found: the check checked nothing");
if (total > TOTAL_LIMIT) findings.push(`all source together has ${total} lines (limit ${TOTAL_LIMIT})`);

for (const finding of findings) console.error(finding);
console.log(`sizes: ${files} source files, ${total} of ${TOTAL_LIMIT} lines, ${findings.length} findings`);
process.exit(findings.length > 0 ? 1 : 0);
