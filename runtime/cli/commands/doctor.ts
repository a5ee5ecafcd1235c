/** `cleared doctor`: each setting in force and its source, faults of committed files, plugins, tool servers, secrets, sandbox, outside tools, git. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { primitives } from "../../../primitives/index.ts";
import { formatAt, toWire } from "../../kernel/errors.ts";
import type { Git } from "../../kernel/ports.ts";
import { createRegistry, loadPlugins, pluginName } from "../../kernel/registry.ts";
import { JAIL, TOOLS, wayOfServer } from "../../sandbox/jail.ts";
import { createSandbox } from "../../sandbox/pool.ts";
import { tryWalls } from "../../sandbox/spawn.ts";
import { type Trust, configKeys, configValue } from "../../workspace/settings/config.ts";
import { limitsFor } from "../../workspace/settings/limits.ts";
import { lookAtTrust } from "../../workspace/settings/confirmation.ts";
import { withGit } from "../../workspace/git/git.ts";
import { assertUntracked } from "../../workspace/git/working-edits.ts";
import { createImportFolder } from "../../workspace/statements/import-folder.ts";
import { CONFIG, IMPORT, KEY, TRUST } from "../../workspace/layout.ts";
import { userState } from "../../workspace/own-folders.ts";
import { placesOf } from "../../workspace/server-places.ts";
import { openSecrets } from "../../workspace/settings/secrets.ts";
import { variables } from "../../workspace/settings/variables.ts";
import { createAgents } from "../../app/agents-at-head.ts";
import { findingsOf, settingsFindings } from "../../app/check-api.ts";
import { holdersHere, openKeys } from "../../app/identity.ts";
import { type Local, WHY, lastConfig, readLocal } from "../../app/local.ts";
import { listModels } from "../../app/models.ts";
import type { Command } from "../invocation.ts";
import { connectSocket } from "../../app/socket.ts";

type Say = (what: string, value: unknown, from: string, ok?: boolean) => void;

interface Line {
  what: string;
  value: string;
  from: string;
  ok: boolean;
}

export const run: Command = async ({ output, dir }) => {
  const local = readLocal(dir);
  const { config, trust, unconfirmed } = local;
  await assertUntracked(dir);
  const lines: Line[] = [];
  const say: Say = (what, value, from, ok = true) =>
    void lines.push({ what, value: typeof value === "string" ? value : JSON.stringify(value), from, ok });

  if (local.broken !== null) say(CONFIG, local.broken, CONFIG, false);
  for (const key of configKeys(config.raw)) {
    const value = configValue(config.raw, key);
    if (typeof value !== "object" || value === null || Array.isArray(value)) say(key, value, CONFIG);
  }
  const confirmed = unconfirmed === null ? "confirmed by a person of this machine" : `${WHY[unconfirmed]}: \`cleared trust\``;
  say(TRUST, confirmed, userState(), unconfirmed === null);
  for (const { person, file } of holdersHere(trust)) say("your key", person.name, file);
  for (const open of openKeys(trust)) say("your key", open, process.env["CLEARED_KEY"] === undefined ? userState() : "CLEARED_KEY", false);
  if (existsSync(join(dir, KEY)))
    say("your key", `${KEY} is not used: \`cleared trust\` moves it to your own, or aside if it came with the folder`, KEY, false);
  const defaults = limitsFor({ ...trust, limits: { agents: {} } }, "");
  for (const [key, value] of Object.entries(limitsFor(trust, "")))
    say(`limits.${key}`, value, value === defaults[key as keyof typeof defaults] ? "default" : TRUST);
  say("sandbox.slots", trust.sandbox.slots, TRUST);
  say("sandbox.jit", trust.sandbox.jit, TRUST);
  for (const person of trust.people) say("person", `${person.name} ${person.key.slice(-12)}`, TRUST);
  for (const plugin of trust.plugins) {
    try {
      const loaded = createRegistry(primitives, await loadPlugins(dir, [plugin]))
        .all()
        .filter((one) => one.plugin !== null);
      say("plugin", `${pluginName(plugin)}: ${loaded.map((one) => `${one.name} (${one.effect})`).join(", ")}`, TRUST);
    } catch (error) {
      say("plugin", toWire(error).message, TRUST, false);
    }
  }
  await lookAtSecrets(dir, trust, say);
  await lookAtModels(dir, local, say);
  try {
    const { tools, toolTimeoutMs, taskTimeoutMs, port } = variables();
    const from = (name: string, otherwise: string) => (process.env[name] ? name : otherwise);
    say("port", port ?? config.web.port, from("PORT", CONFIG));
    say("tool timeout", `${toolTimeoutMs / 1000} s, where ${TRUST} does not say`, from("TOOL_TIMEOUT", "default"));
    say("task timeout", `${taskTimeoutMs / 1000} s at work`, from("TASK_TIMEOUT", "default"));
    if (tools !== null) say("tools of tasks", tools, "GREEN_AGENT_MCP_URL");
  } catch (error) {
    say("environment", toWire(error).message, "environment", false);
  }
  await withGit(dir, config.branch, async (git) => {
    say("head", `${config.branch} ${(await git.head()).slice(0, 12)}`, "git");
    const blocked = await git.blockedBy();
    say("commits", blocked ?? "may be made", "git", blocked === null);
    await lookAtCommit(dir, git, local, say, unconfirmed !== null && lookAtTrust(dir).trust.plugins.length > 0);
    // One look cannot tell since when a file is unchanged, but it shows what holds it up for longer.
    for (const { name, why, inMs } of (await createImportFolder(dir, { settleMs: () => 0 }).look()).waiting)
      say("statement", `${name} ${why}`, IMPORT, inMs !== null);
  });
  say("node", process.version, "the project's own");
  await lookAtWalls(dir, trust, say);
  for (const tool of ["hledger", "ledger"]) {
    const found = spawnSync(tool, ["--version"], { encoding: "utf8", timeout: 5000 });
    const version = found.status === 0 ? found.stdout.split("\n")[0] : "not installed: `cleared verify --independent` runs without it";
    say(tool, version, "PATH");
  }
  const owner = await connectSocket(dir);
  say("owner", owner === null ? "none: `cleared start` runs triggers and the status page" : "a running `cleared start`", "socket");
  owner?.close();

  output.result(lines);
  output.rows(lines.map((one) => [one.ok ? output.green("ok") : output.red("!!"), one.what, one.value, output.dim(one.from)]));
  return lines.every((one) => one.ok) ? 0 : 2;
};

const GET_BWRAP = "`apt install bubblewrap` (dnf, pacman, zypper and apk know the same name)";
const ALLOW_IT =
  "It needs user namespaces: a container must be allowed them from outside; Ubuntu forbids them by kernel.apparmor_restrict_unprivileged_userns, others by user.max_user_namespaces";

/** The isolation of scripts and of untrusted tool servers, what is missing, and how to get it. */
async function lookAtWalls(dir: string, trust: Trust, say: Say): Promise<void> {
  const hold = setInterval(() => undefined, 1000);
  const walls = await tryWalls().finally(() => clearInterval(hold));
  for (const [i, { says, failures }] of walls.entries()) {
    say(i === 0 ? "sandbox" : "sandbox, parsers", `a process with Node's permission model; ${says}`, process.platform);
    for (const failure of i === 0 ? failures : [])
      say("sandbox", `did not work: ${failure}${failure.startsWith(JAIL) ? `. ${ALLOW_IT}` : ""}`, process.platform);
  }
  if (process.platform !== "linux") say("sandbox", "its memory is watched by the isolate's own limit only", process.platform);
  else if (TOOLS.bwrap === null) say("bubblewrap", `not installed: ${GET_BWRAP}; scripts run without the second wall`, "/usr/bin");
  for (const name of process.platform === "linux" ? (["setpriv", "prlimit"] as const) : [])
    if (TOOLS[name] === null) say(name, "not installed: `apt install util-linux`; the sandbox runs without what it takes away", "/usr/bin");
  for (const [name, server] of Object.entries(trust.mcp)) {
    const { command, url, plain, trusted, writes } = server;
    const way = command === undefined || trusted ? null : await wayOfServer(dir, placesOf(dir, server)).catch(toWire);
    if (way !== null && "code" in way) {
      say("tool server", `${name}: ${way.message}`, TRUST, false);
      continue;
    }
    const free = "it can read .cleared, and write what you can";
    const held = `writes in ${["a temporary folder", ...writes].join(", ")} only`;
    const how = way === null ? "" : `; untrusted, ${way.filter === null ? `${way.says}: ${free}` : `in ${way.says}: ${held}`}`;
    say("tool server", `${name}: ${url ?? plain ?? command}${how}`, TRUST);
  }
}

/** Whether each secret named in trust.yaml is stored. */
async function lookAtSecrets(dir: string, trust: Trust, say: Say): Promise<void> {
  const named = new Set(JSON.stringify(trust).match(/(?<="secret:)[\w-]+(?=")/g) ?? []);
  if (named.size === 0) return;
  try {
    const stored = await openSecrets(dir).names();
    for (const name of named)
      say("secret", stored.includes(name) ? name : `${name} is not stored: \`cleared secrets set ${name}\``, TRUST, stored.includes(name));
  } catch (error) {
    say("secret", toWire(error).message, TRUST, false);
  }
}

/** Model hosts with what may be sent there, and which role each has; having none is not an error. */
async function lookAtModels(dir: string, local: Local, say: Say): Promise<void> {
  try {
    const { servers, roles, ignored } = await listModels(dir, local);
    for (const { name, where, sends, key, origin } of servers)
      say("model server", `${name}: ${where}${key === null ? "" : `, with ${key}`}; may be sent: ${sends.join(", ") || "nothing"}`, origin);
    for (const { role, model, origin } of servers.length === 0 && local.config.models === undefined ? [] : roles)
      say(`model ${role}`, model ?? origin, model === null ? CONFIG : origin, model !== null || role === "judge");
    if (servers.length === 0) say("models", "none: what needs one says so, everything else works", "default");
    for (const sentence of ignored) say("models", sentence, "environment", false);
  } catch (error) {
    say("models", toWire(error).message, TRUST, false);
  }
}

/**
 * The settings at HEAD, which runs use, and each agent there as `cleared exec` would check it; a finding in an agent stops no run, which only needs
 * to pass the language check.
 */
async function lookAtCommit(dir: string, git: Git, local: Local, say: Say, withheld: boolean): Promise<void> {
  const { trust } = local;
  const registry = createRegistry(primitives, await loadPlugins(dir, trust.plugins).catch(() => []));
  const sandbox = createSandbox({ slots: 1, jit: trust.sandbox.jit, ahead: false });
  try {
    const tree = git.tree(await git.head());
    const config = async () => {
      const last = lastConfig(local, (await tree.read(CONFIG)) ?? "");
      if (last.fault !== null) throw last.fault;
      return last.config;
    };
    for (const { at, code, message } of await settingsFindings(tree, { sandbox, registry, trust, config }))
      say("settings", `${formatAt(at)} ${code} ${message}`, at.file, false);
    for (const { file, header, error } of await createAgents(git)()) {
      if (header === null) {
        say("agent", error?.message, file, false);
        continue;
      }
      try {
        const findings = await findingsOf(tree, file, { sandbox, registry: { whole: async () => registry }, trust });
        // A call may belong to a plugin that is not loaded yet.
        const later = withheld && findings.length > 0;
        const wrong = findings.map((one) => `${formatAt(one.at)} ${one.code} ${one.message}`).join("; ");
        const said = later ? `${header.name}: can be checked once trust.yaml is confirmed` : wrong || header.name;
        say("agent", said, file, later || findings.length === 0);
      } catch (failure) {
        const { code, message, at } = toWire(failure);
        say("agent", `${at === undefined ? "" : `${formatAt(at)} `}${code} ${message}`, file, false);
      }
    }
  } finally {
    await sandbox.close();
  }
}
