/**
 * `npm run bench [-- NAME...]`: runs the benchmarks one after the other, each in its own process, so that none warms or
 * starves another. A benchmark is a file in bench/ that prints its own medians and ratios; the machine's load stands above.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { cpus, loadavg, tmpdir, totalmem } from "node:os";
import { basename, join } from "node:path";

const folder = import.meta.dirname;
const names = process.argv.slice(2);
const all = readdirSync(folder)
  .filter((file) => file.endsWith(".ts") && file !== basename(import.meta.filename) && file !== "measure.ts")
  .sort();
const chosen = names.length === 0 ? all : all.filter((file) => names.some((name) => file.includes(name)));
if (chosen.length === 0) {
  console.error(`No benchmark is called ${names.join(" or ")}. There are: ${all.map((file) => basename(file, ".ts")).join(", ")}`);
  process.exit(2);
}

const load = (): string =>
  `load ${loadavg()
    .map((value) => value.toFixed(2))
    .join(" ")}`;
console.log(
  `${cpus().length} x ${cpus()[0]?.model ?? "unknown processor"}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}, ${load()}`,
);

const failed: string[] = [];
// Keys and confirmations of the benchmarks' workspaces.
const state = mkdtempSync(join(tmpdir(), "cleared-state-"));
for (const file of chosen) {
  console.log(`\n${basename(file, ".ts")}  (${load()})`);
  if (spawnSync(process.execPath, [join(folder, file)], { stdio: "inherit", env: { ...process.env, XDG_STATE_HOME: state } }).status !== 0)
    failed.push(file);
}
rmSync(state, { recursive: true, force: true });
if (failed.length > 0) console.error(`\nfailed: ${failed.join(", ")}`);
process.exit(failed.length > 0 ? 1 : 0);
