/** Where the children find their code, and what happens when the machine has nothing left to start one with. */
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const dir = mkdtempSync(join(tmpdir(), "cleared-spawn-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** Runs one script in a sandbox whose code lies in `product`; `before` is shell that sets the stage. */
function sandboxAt(product: string, before = ""): string {
  const code = `import { createSandbox } from ${JSON.stringify(join(product, "runtime/sandbox/pool.ts"))};
    const box = createSandbox({ slots: 1 });
    ${before}
    const { compiled, findings } = await box.compile("const a: number = 2; a + 3", { file: "agents/a.ts", blob: "b", lint: true, primitives: [] });
    const limits = { memory_mb: 64, cpu_ms: 1000, wall_ms: 5000, calls: 10, call_bytes: 1e6, answer_bytes: 1e6, total_bytes: 1e7, source_bytes: 65536 };
    const end = compiled === null ? findings : await box.execute({ main: compiled, scripts: {}, primitives: {}, input: "{}", seed: "s", startedAt: 0, history: [], limits, call: async () => ({ kind: "suspend" }) });
    console.log(JSON.stringify(end));
    await box.close();`;
  const file = join(dir, `run-${Math.random().toString(36).slice(2)}.mjs`);
  writeFileSync(file, code);
  const { stdout, stderr } = spawnSync(process.execPath, ["--disable-warning=ExperimentalWarning", file], { encoding: "utf8" });
  return stdout.trim() || stderr;
}

function copyOfProduct(name: string): string {
  const copy = join(dir, name);
  mkdirSync(copy);
  for (const part of ["runtime", "package.json"]) cpSync(join(root, part), join(copy, part), { recursive: true });
  return copy;
}

test("node_modules may be a link to another folder", () => {
  const copy = copyOfProduct("linked-modules");
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  expect(sandboxAt(copy)).toContain('"json":"5"');
});

test("the product may be reached through a link", () => {
  const copy = copyOfProduct("real place");
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  symlinkSync(copy, join(dir, "link"));
  expect(sandboxAt(join(dir, "link"))).toContain('"json":"5"');
});

test.runIf(existsSync("/proc"))("a machine without free file descriptors ends the script, not the program", () => {
  // The limit is set once the module is loaded, so that only the sandbox meets it.
  const prlimit = spawnSync("prlimit", ["--version"]);
  if (prlimit.error !== undefined) return;
  const said = sandboxAt(
    root,
    `const { execFileSync } = await import("node:child_process"); await box.close();
     const { readdirSync, openSync } = await import("node:fs");
     const held = []; execFileSync("prlimit", ["--pid", String(process.pid), "--nofile=64:64"]);
     try { for (;;) held.push(openSync("/dev/null")); } catch {}
     const tried = await (async () => { const full = createSandbox({ slots: 1 }); const out = await full.compile("1", { file: "agents/a.ts", blob: "x", lint: true, primitives: [] }); await full.close(); return out; })();
     const { closeSync } = await import("node:fs"); for (const fd of held) closeSync(fd);
     console.log(JSON.stringify(tried));`,
  );
  expect(said).toContain("SANDBOX_CRASHED");
  expect(execFileSync("true")).toBeDefined();
});
