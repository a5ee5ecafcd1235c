/** `npm run check`: every check runs even when an earlier one fails, so that one run shows everything; exits 1 when any failed. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { ROOT } from "./source-files.ts";

const program = (name: string): string => join(ROOT, "node_modules", ".bin", process.platform === "win32" ? `${name}.cmd` : name);

const CHECKS: { name: string; command: string; args: string[] }[] = [
  { name: "types", command: program("tsc"), args: ["-p", "."] },
  { name: "lint", command: program("biome"), args: ["check", "--error-on-warnings", "."] },
  { name: "layers", command: process.execPath, args: ["tools/check-layers.ts"] },
  { name: "sizes", command: process.execPath, args: ["tools/check-size.ts"] },
  { name: "words", command: process.execPath, args: ["tools/check-words.ts"] },
  { name: "generated docs", command: process.execPath, args: ["tools/gen-docs.ts", "--check"] },
];

const failed: string[] = [];
for (const { name, command, args } of CHECKS) {
  const started = Date.now();
  const run = spawnSync(command, args, { cwd: ROOT, stdio: "inherit", shell: process.platform === "win32" && command.endsWith(".cmd") });
  const good = run.status === 0;
  if (!good) failed.push(name);
  if (run.error) console.error(run.error.message);
  console.log(`${good ? "ok    " : "FAILED"} ${name} (${((Date.now() - started) / 1000).toFixed(1)} s)`);
}
if (failed.length > 0) console.error(`check: ${failed.join(", ")} failed`);
process.exit(failed.length > 0 ? 1 : 0);
