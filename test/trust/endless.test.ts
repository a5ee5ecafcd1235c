/**
 * A named pipe, a device, a folder or a file without end, where a file of the workspace, of git or of `.cleared` should be: it may have come
 * with an archive. No command waits for it; where it stands in the way, the error names it and says what to do.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { shell, warmUp, workspace } from "../cli/command-line.ts";

beforeAll(warmUp);

const STATEMENT = "Date,Description,Amount\n2026-01-05,Lunch,-12.00\n";
const kinds: Record<string, (path: string) => void> & { pipe(path: string): void } = {
  pipe: (path: string) => execFileSync("mkfifo", [path]),
  device: (path: string) => execFileSync("mknod", [path, "c", "1", "5"]),
  folder: (path: string) => mkdirSync(path),
  file: (path: string) => writeFileSync(path, ""),
  endless: (path: string) => {
    writeFileSync(path, "");
    truncateSync(path, 2 ** 40);
  },
};
const named = (key: string) => (path: string) => {
  kinds.pipe(path);
  execFileSync("git", ["config", "-f", join(dirname(path), ".git/config"), key, path]);
};
Object.assign(kinds, { included: named("include.path"), attributes: named("core.attributesFile") });
type Kind = string;

/** What the commands come to with that at this path; undefined: they do their work. */
const PLACES: [Kind, string, Record<string, RegExp | undefined>][] = [
  [
    "pipe",
    "config.yaml",
    { doctor: /config\.yaml is a named pipe .*git restore config\.yaml/, "propose -m x": /config\.yaml is a named pipe/ },
  ],
  ["device", "trust.yaml", { doctor: /trust\.yaml is a device .*git restore/, check: /trust\.yaml is a device/ }],
  ["folder", "config.yaml", { verify: /config\.yaml is a folder .*git restore/ }],
  ["endless", "config.yaml", { check: /config\.yaml is larger than 16 MiB/ }],
  [
    "pipe",
    ".gitattributes",
    { "propose -m x": /\.gitattributes is a named pipe, which blocks git forever\. Remove it/, verify: undefined },
  ],
  ["pipe", "agents/.gitignore", { "propose -m x": /agents\/\.gitignore is a named pipe/, check: undefined }],
  ["pipe", "agents/ingest.ts", { "propose -m x": /"agents\/ingest\.ts" is a link, a pipe, .*git restore/, "import ../s.csv": undefined }],
  ["endless", "agents/ingest.ts", { "propose -m x": /"agents\/ingest\.ts" is .*larger than 16 MiB/, check: undefined }],
  ["pipe", "policies/more.yaml", { "policy test": /policies\/more\.yaml is a named pipe/, check: undefined }],
  ["pipe", "journal/2026/01.journal", { "import ../s.csv": /01\.journal/, verify: undefined }],
  [
    "file",
    "import",
    { "import ../s.csv": /import is a file; it must be a folder of the workspace\. Move it away/, verify: /import is a file/ },
  ],
  ["endless", "main.journal", { "import ../s.csv": /main\.journal \(user_edit\)/, verify: undefined }],
  ["pipe", "import/s.csv", { "import ../s.csv": undefined, doctor: /import\/s\.csv|s\.csv is a named pipe/ }],
  ["pipe", ".git/config", { doctor: /\.git\/config is a named pipe, .*Remove it/, "import ../s.csv": /\.git\/config is a named pipe/ }],
  ...["queue", "agents", "import ../s.csv"].map((command): (typeof PLACES)[number] => [
    "included",
    "notes",
    { [command]: /notes is a named pipe, which blocks git forever\. Remove it, or the setting of \.git\/config that names it/ },
  ]),
  ["attributes", "notes", { "propose -m x": /notes is a named pipe, .*the setting of \.git\/config that names it/ }],
  ["pipe", ".git/refs/heads/main.lock", { verify: /main\.lock is a named pipe/ }],
  ...[".git/HEAD", ".git/packed-refs", ".git/commondir", ".git/refs/cleared/runs/0123456789"].map((path): (typeof PLACES)[number] => {
    const why = new RegExp(`${path} is larger than 256 MiB, .*take the repository from a clone or a backup`);
    return ["endless", path, { queue: why, "import ../s.csv": why, check: why }];
  }),
  ["endless", ".cleared/refresh.json", { verify: /refresh\.json is larger than 16 MiB/ }],
  ["pipe", ".cleared/propose.json", { "propose -m x": /propose\.json is a named pipe, .*Remove it: neither Cleared nor git/ }],
  ["device", ".cleared/store.db", { queue: /store\.db is a device/ }],
];

test.for(PLACES)("a %s at %s delays no command", async ([kind, path, commands], { skip }) => {
  if (kind === "device" && process.getuid?.() !== 0) skip("only root can make a device");
  const dir = await workspace();
  writeFileSync(join(dir, "../s.csv"), STATEMENT);
  mkdirSync(dirname(join(dir, path)), { recursive: true });
  rmSync(join(dir, path), { force: true, recursive: true });
  kinds[kind]?.(join(dir, path));
  for (const [command, why] of Object.entries(commands)) {
    const { code, stdout, stderr } = await shell(dir, `timeout -s KILL 60 cleared ${command}`);
    const told = { command, code, said: `${stdout}${stderr}` };
    if (why === undefined) expect(told).toMatchObject({ code: 0 });
    else
      expect({ ...told, ended: code !== 0 && code !== null && code < 100 }).toMatchObject({
        ended: true,
        said: expect.stringMatching(why),
      });
  }
});

test("a committed script, policy or dialect larger than people write is named, and stops nothing else", async () => {
  const dir = await workspace();
  const paths = ["agents/z.ts", "scripts/z.ts", "policies/z.yaml", "importers/z.yaml"];
  for (const path of paths) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), `# ${"x".repeat(1_000_000)}\n`);
  }
  const first = await shell(dir, "git add -A; git commit -qm pulled; cleared trust --accept-trust; cleared agents list");
  expect(first.stdout).toMatch(/^ingest .*never ran/m);
  expect(first.stdout).toMatch(/^z +agents\/z\.ts has 1000003 bytes; at most 1000000 are read/m);
  const checked = await shell(dir, "cleared check");
  expect(checked.stdout).toMatch(/^ *types +ok/m);
  expect(checked.stdout).toContain("agents/z.ts has 1000003 bytes");
});
