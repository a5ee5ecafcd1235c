/** Nothing of trust.yaml counts before a person of this machine has confirmed it, and what they have confirmed travels nowhere. */
import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, lchownSync, mkdirSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, afterEach, expect, it } from "vitest";
import { decideCard, asked } from "../../runtime/app/decide.ts";
import { signAs } from "../../runtime/app/identity.ts";
import { readLocal } from "../../runtime/app/local.ts";
import { openHost } from "../../runtime/app/open-host.ts";
import { cacheOf, userState } from "../../runtime/workspace/own-folders.ts";
import { confirm } from "../confirm.ts";
import { header, shop } from "../gate/shop.ts";
import { type Workspace, close, closeAll, copyOf, host, openCard, removeAll, run, start, workspace } from "../engine/harness.ts";

afterEach(closeAll);
afterAll(removeAll);

const standing = (one: Workspace) => readLocal(one.dir).unconfirmed;
const plugins = (one: Workspace) => readLocal(one.dir).trust.plugins;

it("a new workspace is confirmed where it was made; a copy, a clone and another folder in its place are not", async () => {
  const one = await workspace();
  confirm(one.dir);
  expect(standing(one)).toBeNull();
  expect(plugins(one)).toEqual(["plugins/bank.ts"]);

  const copy = copyOf(one);
  expect(readLocal(copy.dir)).toMatchObject({ unconfirmed: "never", trust: { plugins: [], mcp: {}, people: [], webhooks: {} } });
  confirm(copy.dir);
  expect(standing(copy)).toBeNull();

  // The same text and the same path, but not the folder that was confirmed.
  const aside = `${one.dir}-aside`;
  renameSync(one.dir, aside);
  cpSync(aside, one.dir, { recursive: true, filter: (path) => !path.includes("/.cleared") });
  expect(standing(one)).toBe("never");
  rmSync(aside, { recursive: true });
});

it("a store that moves with the workspace brings no confirmation", async () => {
  const one = await workspace();
  const opened = await host(one);
  opened.database.write(() => opened.database.run("INSERT OR REPLACE INTO facts VALUES ('trust.yaml', 'confirmed')"));
  await close(opened);
  const copy = copyOf(one);
  await expect(openHost(copy.dir, { mode: "owner" })).rejects.toMatchObject({
    code: "TRUST_CHANGED",
    message: expect.stringContaining("`cleared trust`"),
  });
  const looking = await openHost(copy.dir, { mode: "look" });
  expect(looking.trust).toMatchObject({ plugins: [], mcp: {}, people: [] });
  await looking.close();
});

const CHANGES: [string, (one: Workspace) => void][] = [
  ["its text", (one) => one.write("trust.yaml", `${one.read("trust.yaml")}# more\n`)],
  ["a plugin", (one) => one.write("plugins/bank.ts", `${one.read("plugins/bank.ts")}\n`)],
  ["a file beside a plugin", (one) => one.write("plugins/help.ts", "export {};\n")],
  ["a file below a plugin", (one) => one.write("plugins/lib/help.js", "export {};\n")],
  ["a plugin that is gone", (one) => rmSync(join(one.dir, "plugins/bank.ts"))],
  ["the id of the folder", (one) => one.write(".cleared/id", "another")],
  ["the program of a tool server", (one) => one.write("servers/erp.py", "print(2)\n")],
  ["a program elsewhere, which a plugin may start,", (one) => one.write("tools/run.py", "print(2)\n")],
  ["a file that this program imports", (one) => one.write("servers/lib/more.py", "print(2)\n")],
];

it.for(CHANGES)("it is asked again when %s changes", async ([, change]) => {
  const one = await workspace({ "servers/erp.py": "print(1)\n", "servers/lib/more.py": "print(1)\n", "servers/data.json": "{}" });
  one.write(
    "trust.yaml",
    one.read("trust.yaml").replace(/^mcp: \{\}.*\n(?: {2}#.*\n)*/m, "mcp: {erp: {command: python3, args: [--flag, servers/erp.py]}}\n"),
  );
  confirm(one.dir);
  // What a server writes beside itself is no code.
  one.write("servers/data.json", "{ }");
  one.write("agents/new.ts", "1");
  expect(standing(one)).toBeNull();
  change(one);
  expect(standing(one)).not.toBeNull();
  expect(plugins(one)).toEqual([]);
  await expect(openHost(one.dir, { mode: "owner" })).rejects.toMatchObject({ code: "TRUST_CHANGED" });
});

// How a command comes to code that it does not name as a file.
const REACHED: [way: string, server: string, file: string][] = [
  ["a folder argument", "command: node, args: [servers]", "servers/index.mjs"],
  ["an import from elsewhere in the workspace", "command: node, args: [servers/erp.mjs]", "lib/deep/more.mjs"],
  ["an import from agents/", "command: node, args: [servers/erp.mjs]", "agents/helper.ts"],
  ["an import from scripts/ without its ending", "command: node, args: [servers/erp.mjs]", "scripts/pricing.ts"],
  ["sh -c", 'command: sh, args: [-c, "cd servers && exec ./run"]', "servers/run.sh"],
  ["sh -c into agents/", 'command: sh, args: [-c, "for a in agents/*; do node $a; done"]', "agents/helper.ts"],
  ["python -m", "command: python3, args: [-m, servers.erp]", "servers/erp.py"],
  ["npm --prefix", "command: npm, args: [--prefix, servers, start]", "servers/package.json"],
  ["make", "command: make, args: [serve]", "Makefile"],
  ["NODE_OPTIONS", 'command: node, args: [/opt/server.js], env: {NODE_OPTIONS: "--require=./hooks/first.txt"}', "hooks/first.txt"],
  ["a working folder", "command: some-server", "conftest.py"],
  ["a link to a file of data", "command: some-server", "notes/linked.txt"],
  ["cargo", "command: cargo, args: [run]", "src/main.rs"],
  // What a runtime loads beside or instead of what was confirmed, and kinds that nobody has thought of.
  ...`lib.pyc lib.pyd lib.so.1 mod.luac app.phar x.inc Foo.pmc x.elc .RData mod.beam mod.psm1 CMakeLists.txt wscript BUILD app.egg
    x.war page.svelte babel.config.json .mocharc.json turbo.json .ruby-version x.j2 x.html x.unheard-of Jenkinsfile .config/some.json x.zipapp data/run.py data/package.json data/.hidden/x`
    .split(/\s+/)
    .map((file): [string, string, string] => [`a runtime's own ways to ${file}`, "command: some-server", file]),
];

it.for(REACHED)("code that a tool server reaches by %s is covered", async ([, server, file]) => {
  const server_code = 'import "../lib/deep/more.mjs";\nimport "../agents/helper.ts";\nconst price = import("../scripts/pricing");\n';
  const one = await workspace({ "servers/erp.mjs": server_code, "scripts/other.ts": "1;\n", [file]: "1;\n" });
  one.write("trust.yaml", one.read("trust.yaml").replace(/^mcp: \{\}.*\n(?: {2}#.*\n)*/m, `mcp: {erp: {${server}}}\n`));
  symlinkSync("../notes/linked.txt", join(one.dir, "servers/helper.py"));
  confirm(one.dir);
  // What agents and people change all the time is not the server's.
  if (!server.includes("agents/*")) one.write("agents/ingest.ts", `${one.read("agents/ingest.ts")}\n`);
  one.write("scripts/other.ts", "2;\n");
  const plain =
    "data/rates.json data/x.csv data/payroll/PAY-1.ach data/Report notes.md a.pdf import/odd.940 import/odd out import/x.xml LICENSE";
  const editors = "agents/.ingest.ts.swp agents/ingest.ts~ .DS_Store servers/.DS_Store .idea/workspace.xml .editorconfig";
  for (const path of `${plain} ${server.includes("agents/*") ? "" : editors}`.trim().split(" ")) one.write(path, "{}");
  expect(standing(one)).toBeNull();
  one.write(file, "2;\n");
  expect(standing(one)).toBe("changed");
});

it("a word that is longer than the name of a file may be is no file", async () => {
  const long = "a".repeat(3000);
  const one = await workspace({ "srv/main.mjs": `import "./${long}";\n` });
  const server = `command: node, args: [srv/main.mjs, --key=${long}, "./${long}/x"], env: {FOO: ${long}, NODE_OPTIONS: "--import=${long}"}`;
  one.write("trust.yaml", one.read("trust.yaml").replace(/^mcp: \{\}.*\n(?: {2}#.*\n)*/m, `mcp: {erp: {${server}}}\n`));
  confirm(one.dir);
  expect(standing(one)).toBeNull();
  one.write("srv/main.mjs", "2;\n");
  expect(standing(one)).toBe("changed");
});

it("a running owner starts a tool server only while its code is what was confirmed", async () => {
  const one = await shop({ "agents/look.ts": `${header("mcp")}mcp_call({ tool: "shop/get_invoice", params: { invoice_id: "A" } });\n` });
  one.write("lib/more.py", "print(1)\n");
  const told: string[] = [];
  const opened = await host(one, { onTrustChanged: ({ code }) => void told.push(code) });
  one.write("lib/more.py", "print(2)\n");
  const id = await start(opened, "look");
  await expect.poll(() => told).toContain("TRUST_CHANGED");
  expect(one.reached()).toEqual([]);
  expect((await opened.engine.get(id))?.status).not.toBe("failed");
  // What lasts until a person comes is tried less and less often.
  await new Promise((resolve) => setTimeout(resolve, 4000));
  expect((await opened.engine.get(id))?.attempt).toBeLessThan(6);
});

it("a repository with installed packages starts nothing, wherever they are", async () => {
  for (const file of ["servers/node_modules/x/index.js", "servers/pyvenv.cfg", "servers/__pycache__/lib.cpython-311.pyc"]) {
    const one = await workspace();
    one.write(file, "1;\n");
    one.git("add", "-f", file);
    await expect(host(one)).rejects.toMatchObject({ code: "FOLDER_UNSAFE", message: expect.stringContaining(file) });
  }
  // A clone brings what its submodules track, too.
  const [one, theirs] = [await workspace(), await workspace()];
  theirs.write("node_modules/x/index.js", "1;\n");
  theirs.git("add", "-f", "node_modules/x/index.js");
  theirs.git("commit", "-qm", "installed");
  one.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", theirs.dir, "servers/theirs");
  await expect(host(one)).rejects.toMatchObject({ message: expect.stringContaining("servers/theirs/node_modules/x/index.js") });
});

it("an opened repository that later contains our folder is refused", async () => {
  const one = await workspace();
  await (await host(one)).close();
  one.git("add", "-f", ".cleared/store.db");
  // However git keeps its index: with each path whole, with what differs from the path before, in two files.
  for (const kept of ["--index-version=2", "--index-version=4", "--split-index"]) {
    one.git("update-index", kept);
    await expect(host(one), kept).rejects.toMatchObject({ code: "FOLDER_UNSAFE", message: expect.stringContaining(".cleared/store.db") });
  }
});

it("trust.yaml is read from the file, whatever a cache says", async () => {
  const one = await workspace();
  const forged = JSON.stringify({ people: [{ name: "Mallory", key: `MCowBQYDK2VwAyEA${"A".repeat(43)}=` }], plugins: [] });
  const cache = cacheOf(one.dir);
  cache.put(forged, "yaml", one.read("trust.yaml"));
  confirm(one.dir);
  cache.put(forged, "yaml", one.read("trust.yaml"));
  expect(readLocal(one.dir).trust.people.map(({ name }) => name)).toEqual(["Pat"]);
});

it("a plugin loads no other code of the workspace than what was confirmed with it", async () => {
  const one = await workspace();
  for (const [imports, code] of [
    ['import { x } from "../agents/x.ts";', "PLUGIN_INVALID"],
    ['import { createRequire } from "node:module"; const { x } = createRequire(import.meta.url)("../agents/x.ts");', "PLUGIN_INVALID"],
    ['import { x } from "./near.ts";', null],
  ] as const) {
    const name = `plugins/p${Math.random().toString(36).slice(2)}`;
    one.write("agents/x.ts", "export const x = 1;\n");
    one.write(`${name}/near.ts`, 'import data from "./data.json" with { type: "json" };\nexport const x = data.x;\n');
    one.write(`${name}/data.json`, '{"x":1}');
    one.write(
      `${name}/index.ts`,
      `${imports}\nimport { definePrimitive, z } from "cleared";\nexport const near_x = definePrimitive({ name: "near_x", effect: "read", access: "read", summary: "X.", params: z.object({}), returns: z.number(), errors: [], example: "near_x()", run: () => x });\n`,
    );
    one.write("trust.yaml", one.read("trust.yaml").replace(/^plugins: .*$/m, `plugins: [${name}/index.ts]`));
    if (code === null) await close(await host(one));
    else await expect(host(one), imports).rejects.toMatchObject({ code, message: expect.stringContaining("agents/x.ts") });
  }
});

it("an owner whose trust.yaml changes decides and acts no more", async () => {
  const one = await workspace();
  let told = "";
  const opened = await host(one, { onTrustChanged: ({ code }) => void (told = code) });
  const waiting = await run(opened, "pay", { to: "ACME", amount: "5.00" });
  const card = openCard(opened, waiting.id);
  const yes = signAs(one.dir, opened.trust, { ...asked(card), decision: "approved", at: 1 });
  one.write("trust.yaml", one.read("trust.yaml").replace(/^people:[\s\S]*?(?=^\S*#|^approvals)/m, "people: []\n"));
  await expect(decideCard(opened, yes)).rejects.toMatchObject({ code: "TRUST_CHANGED" });
  expect(told).toBe("TRUST_CHANGED");
  expect(opened.cards.get(card.id)?.decision).toBeNull();
  expect(one.bank()).toEqual([]);
});

it("a folder's contents are not another repository's, and no endless file", async () => {
  const [one, theirs] = [await workspace(), await workspace()];
  const git = join(one.dir, ".git");
  const WAYS: (() => void)[] = [
    () => writeFileSync(git, `gitdir: ${theirs.dir}/.git\n`),
    () => symlinkSync(join(theirs.dir, ".git"), git),
    () => {
      cpSync(join(theirs.dir, ".git"), git, { recursive: true });
      writeFileSync(join(git, "commondir"), join(theirs.dir, ".git"));
    },
  ];
  for (const lead of WAYS) {
    rmSync(git, { recursive: true });
    lead();
    confirm(one.dir);
    await expect(host(one), String(lead)).rejects.toMatchObject({ code: "FOLDER_UNSAFE", message: expect.stringContaining(theirs.dir) });
  }
  theirs.write("trust.yaml", theirs.read("trust.yaml").replace(/^mcp: .*$/m, "mcp: {erp: {command: make}}"));
  truncateSync(join(theirs.dir, "plugins/bank.ts"), 3e9);
  expect(() => confirm(theirs.dir)).toThrow(/plugins\/bank.ts is larger/);
  for (const file of ["plugins/bank.ts", "trust.yaml", "config.yaml"]) {
    rmSync(join(theirs.dir, file));
    execFileSync("mkfifo", [join(theirs.dir, file)]);
    expect(() => [readLocal, confirm].map((read) => read(theirs.dir))).toThrow(new RegExp(`${file} is (a named pipe|not a file)`));
  }
});

it("a workspace may be a work tree of a repository elsewhere", async () => {
  const one = await workspace();
  const dir = `${one.dir}-tree`;
  one.git("worktree", "add", "-q", "-b", "tree", dir);
  confirm(dir);
  await (await openHost(dir, { mode: "look" })).close();
  rmSync(dir, { recursive: true });
});

it("a state folder that others could write, or that the workspace brings, is refused", async () => {
  const one = await workspace();
  const home = process.env["XDG_STATE_HOME"];
  try {
    process.env["XDG_STATE_HOME"] = join(one.dir, ".state");
    expect(() => confirm(one.dir)).toThrow(/is inside the workspace/);
    const other = join(dirname(one.dir), "other-state");
    process.env["XDG_STATE_HOME"] = other;
    mkdirSync(userState(), { recursive: true, mode: 0o777 });
    chmodSync(userState(), 0o777);
    expect(() => readLocal(one.dir)).toThrow(/is open to other users/);
    chmodSync(userState(), 0o700);
    confirm(one.dir);
    expect(standing(one)).toBeNull();
    if (process.getuid?.() === 0) {
      lchownSync(userState(), 65534, 65534);
      expect(() => readLocal(one.dir)).toThrow(/belongs to the user with the id 65534/);
    }
    rmSync(other, { recursive: true });
  } finally {
    process.env["XDG_STATE_HOME"] = home;
  }
});
