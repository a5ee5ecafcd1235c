/** What stands before every process of ours: short ways to our files, which nobody else's files take, and few processes of git. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { ENV, ROOT, shell, workspace } from "../cli/command-line.ts";

test("a plugin of a workspace inside the product's folder uses the workspace's own packages, imported or required", () => {
  const dir = mkdtempSync(join(process.env["CLEARED_MADE"] as string, "follow-"));
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), text);
  };
  for (const at of ["", "demo/"]) {
    write(`${at}node_modules/pkg/package.json`, '{"exports": {"import": "./one.mjs", "require": "./one.cjs"}}');
    write(`${at}node_modules/pkg/one.mjs`, `export default "imported from ${at}";`);
    write(`${at}node_modules/pkg/one.cjs`, `module.exports = "required from ${at}";`);
  }
  const says = 'import { createRequire } from "node:module"; import one from "pkg";\n';
  const required = 'createRequire(import.meta.url)("pkg")';
  write("demo/plugins/theirs.mjs", `${says}export default [one, ${required}];`);
  write("runtime/a/ours.ts", `${says}export default [one, ${required}];`);
  write(
    "runtime/main.ts",
    'import ours from "./a/../a/ours.ts"; import theirs from "../demo/plugins/theirs.mjs"; console.log([...ours, ...theirs].join());',
  );
  write("bin/follow.js", readFileSync(join(ROOT, "bin/follow.js"), "utf8"));
  write("package.json", '{"type": "module"}');
  const { stdout, stderr } = spawnSync(process.execPath, ["--import", join(dir, "bin/follow.js"), join(dir, "runtime/main.ts")]);
  rmSync(dir, { recursive: true });
  expect(`${stderr}${stdout}`.trim()).toBe("imported from ,required from ,imported from demo/,required from demo/");
});

test("a command starts no git process to find out whether the repository brings a store", async () => {
  const dir = await workspace();
  const bin = join(dir, ".cleared/counted");
  mkdirSync(bin);
  writeFileSync(join(bin, "git"), `#!/bin/sh\necho "$*" >> ${bin}/asked\nPATH='${ENV.PATH}' exec git "$@"\n`, { mode: 0o755 });
  const { code } = await shell(dir, `cleared run ingest >/dev/null && PATH='${bin}:'$PATH cleared queue`, true);
  expect(code).toBe(0);
  expect(readFileSync(join(bin, "asked"), "utf8").match(/ls-files -z -- \.cleared/g)).toBeNull();
});
