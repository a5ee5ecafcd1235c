/**
 * A workspace of somebody else, however it arrives, runs none of their programs: not by any command, not before it is confirmed, and by git
 * not even after.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { cleared, put, shell, warmUp } from "../cli/command-line.ts";
import { type Hostile, hostileWorkspace, linkProcessed } from "./hostile-workspace.ts";
import { share } from "../share.ts";

beforeAll(warmUp);

let place: string;
let hostile: Hostile;

beforeAll(async () => {
  place = realpathSync(mkdtempSync(join(tmpdir(), "cleared-hostile-")));
  hostile = await hostileWorkspace(place);
});
beforeEach(() => {
  for (const mark of hostile.marks()) rmSync(join(place, "marks", mark));
});
afterAll(() => rmSync(place, { recursive: true, force: true }));

// Every command, with what it needs to get as far as it can.
const LOOKING = [
  "doctor",
  "check",
  "check --all",
  "check --staged",
  "agents",
  "agents show greeter",
  "runs",
  "runs show run_1",
  "queue",
  "proposals",
  "proposals show 1",
  "policy test",
  "cases",
  "cases run",
  "backtest greeter",
  "bisect run_1",
  "verify",
  "verify --independent",
  "tools",
  "tools test",
  "types",
  "exec agents/greeter.ts",
  "exec agents/ingest.ts",
  "call ctx_today",
  "secrets list",
  "import import/a.csv --dry-run",
  "undo import --dry-run",
];
const ACTING = [
  "start",
  "run greeter",
  "run ingest",
  "import import/a.csv",
  "exec agents/greeter.ts --live",
  "approve 1",
  "reject 1",
  "pair",
  "propose -m change",
  "proposals sync",
  "runs resume run_1",
  "runs cancel run_1",
  "undo import --yes",
  "resume",
];

test.for(["clone", "folder", "archive"] as const)("no command runs a program of a workspace that arrived as a %s", async (how) => {
  const dir = await hostile.arrive(how);
  for (const mark of hostile.marks()) rmSync(join(place, "marks", mark));
  for (const line of share([...LOOKING, ...ACTING], 3, (one) => `${how} ${one}`)) {
    const { code, stderr } = await cleared(dir, ...line.split(" "));
    expect({ line, marks: hostile.marks() }).toEqual({ line, marks: [] });
    expect({ line, code, stderr }).not.toMatchObject({ code: 70 });
    if (ACTING.includes(line)) expect({ line, code, stderr }).toMatchObject({ code: 3, stderr: expect.stringContaining("TRUST_CHANGED") });
  }
  // What only looks has worked, and has said what it went without, which a process says once.
  const agents = await shell(dir, "cleared agents", true);
  expect(agents).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("greeter"),
    stderr: expect.stringContaining("`cleared trust`"),
  });
});

// For the test's own commits; what git starts in the background would leave its marks later.
const HARMLESS_GIT =
  "git -c gc.auto=0 -c core.fsmonitor=false -c core.hooksPath=/dev/null -c filter.evil.process= -c filter.evil.clean= -c filter.included.clean=";

/** Their trust.yaml is put right, read and confirmed; the folder around it is still theirs. */
async function confirmed(how: "folder" | "archive"): Promise<string> {
  const dir = await hostile.arrive(how);
  const trust = readFileSync(join(dir, "trust.yaml"), "utf8")
    .replace(/^plugins: .*$/m, "plugins: []")
    .replace(/^mcp: .*$/m, "mcp: {}")
    .replace(/^ {2}default: .*$/m, "  default: person")
    .replace(/^webhooks: .*$/m, "webhooks: {}");
  put(dir, { "trust.yaml": trust, "main.journal": readFileSync(join(dir, "main.journal"), "utf8").replace(/\npython[\s\S]*$/, "") });
  await shell(dir, `${HARMLESS_GIT} commit --no-verify --no-gpg-sign -qam 'mine'`);
  const done = await cleared(dir, "trust", "--accept-trust");
  if (done.code !== 0) throw new Error(done.stderr);
  for (const mark of hostile.marks()) rmSync(join(place, "marks", mark));
  return dir;
}

test("git runs no program named in the repository's own configuration, and a setting that needs one is refused with its key", async () => {
  const dir = await confirmed("archive");
  const says: Record<string, string> = {};
  put(dir, { "agents/greeter.ts": readFileSync(join(dir, "agents/greeter.ts"), "utf8").replace("hello", "hello again") });
  for (const line of [
    "import import/a.csv",
    "run ingest",
    "run greeter",
    "check",
    "check --staged",
    "propose -m greet",
    "proposals",
    "undo import --yes",
    "verify --independent",
    "doctor",
    ...["origin", "ext", "helper", "ssh", "rewritten"].map((remote) => `proposals sync ${remote}`),
  ]) {
    const { code, stderr } = await cleared(dir, ...line.split(" "));
    expect({ line, marks: hostile.marks() }).toEqual({ line, marks: [] });
    expect({ line, code, stderr }).not.toMatchObject({ code: 70 });
    says[line] = stderr;
  }
  expect(says["propose -m greet"]).toMatch(
    /GIT_STATE\n.*filter\.(?:evil|included), a program that this repository's own configuration names/,
  );
  expect(says["proposals sync origin"]).toMatch(/GIT_STATE\n.*configuration sets core\.sshcommand/);
  // Without those keys the other end is asked, and its hooks stay quiet as well.
  await shell(dir, "git config --unset core.sshCommand; git config --unset core.gitProxy; git config --unset credential.helper");
  await shell(dir, "rm .git/info/attributes more-config; git config --remove-section filter.evil; git config --unset include.path");
  rmSync(join(place, "marks"), { recursive: true });
  mkdirSync(join(place, "marks"));
  const proposed = await cleared(dir, "propose", "-m", "greet");
  expect(proposed.stdout + proposed.stderr).toMatch(/^\d+ {2}ready {2}Greeter/);
  expect(await cleared(dir, "proposals", "sync", "origin")).toMatchObject({ code: 0, stdout: expect.stringContaining("pushed") });
  for (const remote of ["ext", "helper", "rewritten"])
    expect(await cleared(dir, "proposals", "sync", remote)).toMatchObject({ stderr: expect.stringMatching(/transport '.*' not allowed/) });
  expect(hostile.marks()).toEqual([]);
});

test("nothing is moved or written through a link that came with the folder", async () => {
  const dir = await confirmed("folder");
  const { outside } = hostile;
  await shell(dir, "git config --remove-section filter.evil; git config --unset include.path; rm .git/info/attributes");
  linkProcessed(dir, outside);
  expect(await cleared(dir, "import", "import/a.csv")).toMatchObject({ code: 0 });
  expect(readdirSync(outside)).toEqual([]);
  expect(existsSync(join(dir, "import/a.csv"))).toBe(true);

  // A part file that is a link would have been written through.
  writeFileSync(join(outside, "precious"), "mine");
  symlinkSync(join(outside, "precious"), join(dir, "import/b.csv.part"));
  writeFileSync(join(place, "b.csv"), "Date,Description,Amount\n2026-01-06,Tea,-3.00\n");
  await cleared(dir, "import", join(place, "b.csv"));
  expect(readFileSync(join(outside, "precious"), "utf8")).toBe("mine");

  rmSync(join(dir, "import"), { recursive: true });
  symlinkSync(outside, join(dir, "import"));
  writeFileSync(join(outside, "c.csv"), "Date,Description,Amount\n2026-01-07,Tea,-3.00\n");
  const taken = await cleared(dir, "run", "ingest");
  expect(taken).toMatchObject({ stderr: expect.stringMatching(/import is a link; it must be a folder of the workspace/) });
  expect(readdirSync(outside).sort()).toEqual(["c.csv", "precious"]);

  for (const file of ["tsconfig.json", ".git/hooks/pre-commit"]) {
    rmSync(join(dir, file), { force: true });
    symlinkSync(join(outside, "made"), join(dir, file));
  }
  await cleared(dir, "types");
  await cleared(dir, "init", "--hooks");
  expect(existsSync(join(outside, "made"))).toBe(false);
});

test("a .cleared that a repository brings, or that leads elsewhere, is refused by every command", async () => {
  const dir = await confirmed("folder");
  await shell(dir, "git config --remove-section filter.evil; git config --unset include.path; rm .git/info/attributes");
  const commands = share(["doctor", "queue", "runs", "agents", "check", "run greeter", "approve 1", "start", "trust"], 3, String);
  const refused = async (why: RegExp) => {
    for (const line of commands) {
      const { code, stderr } = await cleared(dir, ...line.split(" "));
      expect({ line, code, stderr }).toMatchObject({ line, code: 3, stderr: expect.stringMatching(why) });
    }
  };
  await shell(dir, "git add -f .cleared/id && git commit --no-verify -qm 'state'");
  await refused(/FOLDER_UNSAFE\n.*contains \.cleared\/id/);
  await shell(dir, "git rm -q --cached .cleared/id && git commit --no-verify -qm 'no state'");
  expect(await cleared(dir, "queue")).toMatchObject({ code: 0 });

  symlinkSync(hostile.outside, join(dir, ".cleared/tmp-link"));
  await refused(/FOLDER_UNSAFE\n.*tmp-link is a link/);
  rmSync(join(dir, ".cleared/tmp-link"));
  await shell(dir, `mv .cleared ${join(place, "elsewhere")} && ln -s ${join(place, "elsewhere")} .cleared`);
  await refused(/FOLDER_UNSAFE\n.*\.cleared is a link/);
});
