/** The walls around a child: what its own context still has, which system calls it may make, and that it runs where there is no wall. */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeEach, describe, expect, test } from "vitest";
import { type Frame, createFrameReader } from "../../runtime/sandbox/frames.js";
import { type Way, giveFilter, wallOf, wayOfServer, waysOfChild } from "../../runtime/sandbox/jail.ts";
import { CHILD, SERVER, filterFor } from "../../runtime/sandbox/seccomp.ts";
import { scriptChild, spawnChild } from "../../runtime/sandbox/spawn.ts";
import { whyNoJail } from "../../tools/system-tools.ts";

const kind = scriptChild({ jit: false, maxFrame: () => 1 << 20 });
const started = spawnChild(kind);
const hold = setInterval(() => undefined, 1000);
await started.ready;
clearInterval(hold);
const statusOf = (pid: number) =>
  Object.fromEntries(
    [...readFileSync(`/proc/${pid}/status`, "utf8").matchAll(/^(\w+):[^\S\n]*(.*)$/gm)].map(([, key, value]) => [key, value]),
  );
const noJail = whyNoJail();
const PERL = "/usr/bin/perl";

/** Runs a program as a child is run, in the best way; answers what it printed. */
function inside(program: string[], ways: Way[]): Promise<string> {
  const [command = "", ...args] = [...(ways[0]?.prefix ?? []), ...program];
  const run = spawn(command, args, { env: {}, stdio: ["ignore", "pipe", "pipe", "ignore", "ignore", "pipe"] });
  giveFilter(run.stdio, ways[0]?.filter ?? null);
  let said = "";
  for (const one of [run.stdout, run.stderr]) one?.on("data", (text) => (said += text));
  return new Promise((resolve) => run.on("close", () => resolve(said)));
}

test("the child's own context has no process, module, timer, code generation or files", async () => {
  const script = fileURLToPath(new URL("breakout.js", import.meta.url));
  const head = await new Promise<Record<string, unknown>>((resolve) => {
    const args = [...kind.readable, dirname(script)].map((path) => `--allow-fs-read=${path}`);
    const flags = ["--permission", "--allow-addons", "--disallow-code-generation-from-strings", ...args, ...kind.flags];
    const run = spawn(process.execPath, [...flags, script, kind.script, ...kind.args], { stdio: ["ignore", "ignore", "inherit", "pipe"] });
    const reader = createFrameReader(
      (frame: Frame) => {
        resolve(frame.head as Record<string, unknown>);
        run.kill("SIGKILL");
      },
      () => 1 << 20,
    );
    run.stdio[3]?.on("data", (chunk: Buffer) => reader.push(chunk));
  });
  const plain = ["globalThis", "parseFloat", "parseInt", "undefined", "isFinite", "isNaN", "decodeURI", "decodeURIComponent", "encodeURI"];
  expect(
    (head["globals"] as string[]).filter((name) => ![...plain, "encodeURIComponent", "escape", "unescape", "eval"].includes(name)),
  ).toEqual([]);
  expect(head).toMatchObject({
    odd: [],
    process: ["exitCode", "features", "argv0", "permission", null],
    code: "EvalError",
    evaluated: "EvalError",
    asynchronous: "EvalError",
    file: "ERR_ACCESS_DENIED",
    own: "ERR_ACCESS_DENIED",
  });
});

test.runIf(process.platform === "linux")("a child has no privileges to lose, and runs as another user under root", () => {
  const status = statusOf(started.pid);
  // A container may have taken even this from its root.
  const asNobody = ["--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all", "true"];
  const root = process.getuid?.() === 0 && spawnSync("setpriv", asNobody).status === 0;
  expect(status).toMatchObject({ NoNewPrivs: "1", CapEff: "0000000000000000", CapPrm: "0000000000000000", CapInh: "0000000000000000" });
  if (root) expect([status["CapBnd"], status["Groups"]?.trim()]).toEqual(["0000000000000000", ""]);
  // No account has it, not even that of other programs without rights.
  if (root) expect(spawnSync("getent", ["passwd", status["Uid"]?.split("\t")[0] ?? "0"]).status).not.toBe(0);
  const limits = readFileSync(`/proc/${started.pid}/limits`, "utf8");
  expect(limits).toMatch(/^Max core file size +0 +0 /m);
  expect(limits).toMatch(/^Max file size +0 +0 /m);
  expect(limits).toMatch(/^Max open files +64 +64 /m);
});

describe("in the jail", () => {
  beforeEach(({ skip }) => skip(noJail !== null, noJail ?? ""));

  test("each child, and each untrusted server, is in it", async () => {
    expect(wallOf(kind.script)).toMatchObject({ says: expect.stringMatching(/^bubblewrap with a filter/), failures: [] });
    expect(statusOf(started.pid)).toMatchObject({ Seccomp: "2", NoNewPrivs: "1" });
    expect((await wayOfServer(process.cwd(), { programs: [], hidden: [], writes: [] })).says).toBe(
      "bubblewrap with a filter of system calls",
    );
  });

  test("Node finds no network, no other process and no file but its own, and can write nowhere", async () => {
    const code = `const { tryOf } = { tryOf: (f) => { try { const r = f(); return r?.error?.code ?? r ?? "done" } catch (e) { return e.code } } };
const fs = require("fs"), net = require("net");
const said = { root: tryOf(() => fs.readdirSync("/").join()), passwd: tryOf(() => fs.readFileSync("/etc/passwd", "utf8")), proc: tryOf(() => fs.readdirSync("/proc")),
  write: tryOf(() => fs.writeFileSync("/x", "x")), lib: tryOf(() => fs.writeFileSync("/usr/lib/x", "x")), spawn: tryOf(() => require("child_process").spawnSync(process.execPath)),
  kill: tryOf(() => process.kill(1, 0)), self: tryOf(() => process.kill(process.pid, "SIGTERM")), env: Object.keys(process.env).filter((name) => name !== "PWD").join() };
const socket = net.connect(80, "127.0.0.1");
socket.on("error", (e) => { said.net = e.code; fs.writeSync(1, JSON.stringify(said)) });`;
    const printed = await inside([process.execPath, "-e", code], waysOfChild([], "/"));
    const said = printed.startsWith("{") ? JSON.parse(printed) : { printed };
    expect(said).toMatchObject({
      root: "EPERM",
      passwd: "ENOENT",
      proc: "ENOENT",
      write: "EROFS",
      lib: "EROFS",
      spawn: "EPERM",
      kill: "EPERM",
      self: "EPERM",
      net: "EPERM",
      env: "",
    });
  });

  // Numbers of x86_64, with arguments that would be taken.
  const CALLS: [string, string, number][] = [
    ["socket", "41, 1, 1, 0", 1],
    ["socketpair", "53, 1, 1, 0, $buffer", 1],
    ["connect", "42, 3, $buffer, 16", 1],
    ["fork", "57", 1],
    ["vfork", "58", 1],
    ["clone of a process", "56, 17, 0, 0, 0, 0", 1],
    ["clone into a user namespace", "56, 0x10000011, 0, 0, 0, 0", 1],
    ["clone3", "435, $buffer, 88", 38],
    ["kill", "62, 1, 0", 1],
    ["tkill", "200, 1, 0", 1],
    ["tgkill", "234, 1, 1, 0", 1],
    ["rt_sigqueueinfo", "129, 1, 0, $buffer", 1],
    ["ptrace", "101, 0, 0, 0, 0", 1],
    ["process_vm_readv", "310, 1, $buffer, 1, $buffer, 1, 0", 1],
    ["bpf", "321, 0, $buffer, 72", 1],
    ["perf_event_open", "298, $buffer, 0, -1, -1, 0", 1],
    ["io_uring_setup", "425, 8, $buffer", 1],
    ["userfaultfd", "323, 0", 1],
    ["keyctl", "250, 0, -3, 0", 1],
    ["add_key", "248, $buffer, $buffer, $buffer, 1, -3", 1],
    ["unshare", "272, 0x10000000", 1],
    ["setns", "308, 3, 0", 1],
    ["mount", "165, $buffer, $buffer, $buffer, 0, 0", 1],
    ["pivot_root", "155, $buffer, $buffer", 1],
    ["chroot", "161, $buffer", 1],
    ["init_module", "175, $buffer, 1, $buffer", 1],
    ["reboot", "169, 0, 0, 0, 0", 1],
    ["memfd_create", "319, $buffer, 0", 1],
    ["execveat", "322, 3, $buffer, 0, 0, 0", 1],
    ["personality", "135, 0x0040000", 1],
    ["setuid", "105, 0", 1],
    ["mkdir", "83, $buffer, 511", 1],
    ["unlink", "87, $buffer", 1],
    ["symlink", "88, $buffer, $buffer", 1],
    ["chmod", "90, $buffer, 511", 1],
    ["dup2", "33, 1, 9", 1],
    ["shmget", "29, 1, 4096, 0", 1],
    ["ioctl TIOCSTI", "16, 0, 0x5412, $buffer", 1],
    ["pidfd_open", "434, 1, 0", 1],
    ["openat2", "437, -100, $buffer, $buffer, 24", 38],
    ["landlock_create_ruleset", "444, 0, 0, 1", 38],
    ["getpid as x32", "0x40000027", 1],
  ];
  test.runIf(existsSync(PERL) && process.arch === "x64")("the kernel refuses each unneeded call", async () => {
    const tries = CALLS.map(([name, call]) => `$! = 0; print "${name}: ", syscall(${call}) == -1 ? $! + 0 : "done", "\\n";`).join("\n");
    const dir = mkdtempSync(join(tmpdir(), "cleared-calls-"));
    const script = join(dir, "calls.pl");
    writeFileSync(script, `my $buffer = "\\0" x 128;\n${tries}\nprint "getpid: ", syscall(39) > 0 ? 0 : 1, "\\n";`);
    const said = await inside([PERL, script], waysOfChild([PERL, script], "/"));
    rmSync(dir, { recursive: true });
    expect(said.trim().split("\n")).toEqual([...CALLS.map(([name, , error]) => `${name}: ${error}`), "getpid: 0"]);
  });
});

describe("the filter, instruction by instruction", () => {
  const X64 = 0xc000003e;
  const ARM64 = 0xc00000b7;
  const I386 = 0x40000003;
  const [ALLOW, EPERM, ENOSYS, KILL] = [0x7fff0000, 0x00050001, 0x00050026, 0x80000000];
  /** Classic BPF, as far as these programs use it (Documentation/networking/filter.rst). */
  const judge = (program: Buffer | null, architecture: number, number: number, ...args: number[]): number => {
    const data = Buffer.alloc(64);
    data.writeUInt32LE(number >>> 0, 0);
    data.writeUInt32LE(architecture >>> 0, 4);
    for (const [i, arg] of args.entries()) data.writeUInt32LE(arg >>> 0, 16 + 8 * i);
    let a = 0;
    for (let at = 0; program !== null && at < program.length / 8; at++) {
      const [code, yes, no, k] = [
        program.readUInt16LE(8 * at),
        program[8 * at + 2] ?? 0,
        program[8 * at + 3] ?? 0,
        program.readUInt32LE(8 * at + 4),
      ];
      if (code === 0x20) a = data.readUInt32LE(k);
      else if (code === 0x06) return k;
      else if (code === 0x15) at += a === k ? yes : no;
      else if (code === 0x35) at += a >= k ? yes : no;
      else if (code === 0x45) at += (a & k) !== 0 ? yes : no;
      else throw new Error(`unknown instruction ${code}`);
    }
    throw new Error("the program ends without an answer");
  };
  const rows: [string, "x64" | "arm64", typeof CHILD, number, number[], number][] = [
    ["read", "x64", CHILD, X64, [0], ALLOW],
    ["read", "arm64", CHILD, ARM64, [63], ALLOW],
    ["a thread", "arm64", CHILD, ARM64, [220, 0x3d0f00], ALLOW],
    ["a process", "arm64", CHILD, ARM64, [220, 17], EPERM],
    ["a socket", "arm64", CHILD, ARM64, [198, 2, 1, 0], EPERM],
    ["kill", "arm64", CHILD, ARM64, [129, 1, 9], EPERM],
    ["ptrace", "arm64", CHILD, ARM64, [117, 0], EPERM],
    ["clone3", "arm64", CHILD, ARM64, [435], ENOSYS],
    ["io_uring", "arm64", CHILD, ARM64, [425], EPERM],
    ["a terminal's input", "arm64", CHILD, ARM64, [29, 0, 0x5412], EPERM],
    ["a terminal's settings", "arm64", CHILD, ARM64, [29, 0, 0x5401], ALLOW],
    ["calls of another architecture", "x64", CHILD, I386, [20], KILL],
    ["calls of another architecture", "x64", CHILD, ARM64, [63], KILL],
    ["calls of another architecture", "arm64", SERVER, X64, [0], KILL],
    ["x32", "x64", SERVER, X64, [0x40000000], EPERM],
    ["a server's socket", "x64", SERVER, X64, [41, 2, 1, 0], ALLOW],
    ["a server's process", "x64", SERVER, X64, [56, 17], ALLOW],
    ["a server's user namespace", "x64", SERVER, X64, [56, 0x10000011], EPERM],
    ["a server's clone3", "x64", SERVER, X64, [435], ENOSYS],
    ["a server's ptrace", "arm64", SERVER, ARM64, [117, 16], EPERM],
    ["a server's mount", "x64", SERVER, X64, [165], EPERM],
    ["what is newer than the list, for a server", "x64", SERVER, X64, [449], ALLOW],
  ];
  for (const [what, architecture, rules, seen, [number = 0, ...args], wanted] of rows) {
    test(`${what} (${architecture}, call ${number}) gets ${wanted.toString(16)}`, () => {
      expect(judge(filterFor(rules, architecture), seen, number, ...args).toString(16)).toBe(wanted.toString(16));
    });
  }
  test("no architecture is assumed", () => {
    expect(filterFor(CHILD, "riscv64")).toBeNull();
  });
});

test("without namespaces, capabilities and a second user scripts still run, and what was tried is reported", ({ skip }) => {
  skip(noJail !== null, noJail ?? "");
  const [pool, corpus, jail, spawned] = [
    "../../runtime/sandbox/pool.ts",
    "corpus.ts",
    "../../runtime/sandbox/jail.ts",
    "../../runtime/sandbox/spawn.ts",
  ].map((path) => JSON.stringify(fileURLToPath(new URL(path, import.meta.url))));
  const code = `import { createSandbox } from ${pool}; import { runScript } from ${corpus}; import { wallOf } from ${jail}; import { scriptChild } from ${spawned};
const box = createSandbox({ slots: 1 });
const { result } = await runScript(box, "1 + 1", { lint: true });
const { says, failures } = wallOf(scriptChild({ jit: false, maxFrame: () => 1 }).script);
console.log(JSON.stringify({ result, says, failures }));
await box.close();`;
  // A container as they come: user and mount namespaces are forbidden, and root has nothing of root.
  const bare = `echo 0 >/proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all --inh-caps=-all --no-new-privs "$@"`;
  const args = ["-U", "-r", "sh", "-c", bare, "sh", process.execPath, "--input-type=module", "-e", code];
  const { stdout, stderr } = spawnSync("unshare", args, { encoding: "utf8" });
  const said = JSON.parse(stdout || JSON.stringify({ stderr }));
  expect(said).toMatchObject({ result: 2, says: expect.stringMatching(/^no jail/) });
  expect(said.failures.length).toBeGreaterThan(0);
  expect(said.failures.join("\n")).toMatch(/bubblewrap .*: bwrap: .*(?:namespace|not permitted)/i);
});
