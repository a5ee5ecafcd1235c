/**
 * The settings of the work tree on disk: which branch to follow, and what this machine may load. The only place that decides whether trust.yaml
 * is in force: until a person has confirmed it, everything uses its harmless defaults.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type At, ClearedError, fromWire, onCode, toWire } from "../kernel/errors.ts";
import type { Finding, Json } from "../kernel/ports.ts";
import { printable } from "../kernel/text.ts";
import { type Config, type Trust, parseConfig, trustOf } from "../workspace/settings/config.ts";
import { confirmedTrust } from "../workspace/settings/confirmation.ts";
import { committedText } from "../workspace/git/environment.ts";
import { CONFIG, TRUST } from "../workspace/layout.ts";
import type { DiskCache } from "../scripts/disk-cache.ts";
import { cacheOf, readIfThere } from "../workspace/own-folders.ts";
import { assertWorkspaceState } from "../workspace/workspace-state.ts";

interface ReadConfig {
  config: Config;
  configText: string;
  /** Why config.yaml of the work tree cannot be read, in which case this is the committed one. */
  broken: string | null;
}

/** config.yaml and trust.yaml of the work tree, as text and parsed. */
export interface Local extends ReadConfig {
  /** No plugins, tool servers, people, profiles or webhooks while `unconfirmed` gives a reason. */
  trust: Trust;
  trustText: string;
  unconfirmed: "never" | "changed" | null;
}

let latest: ReadConfig | null = null;

/** @throws WORKSPACE_MISSING, CONFIG_INVALID, FOLDER_UNSAFE */
export function readLocal(dir: string): Local {
  const missing = (what: string) =>
    new ClearedError(
      "WORKSPACE_MISSING",
      `${dir} is not a workspace: it has no ${what}. Make one with \`cleared init DIR\`, or change into one.`,
    );
  if (!existsSync(join(dir, ".git"))) throw missing(existsSync(join(dir, CONFIG)) ? "git repository" : CONFIG);
  assertWorkspaceState(dir);
  const configText = readIfThere(join(dir, CONFIG));
  if (configText === null && committedText(dir, CONFIG) === null) throw missing(CONFIG);
  if (latest?.configText !== configText || latest.broken !== null) latest = configOf(dir, configText);
  const trustText = trustTextOf(dir);
  const found = confirmedTrust(dir, trustText);
  const [trust, unconfirmed] =
    "trust" in found ? [found.trust, null] : [trustOf({}), found.before === null ? ("never" as const) : ("changed" as const)];
  return { ...latest, trust, trustText, unconfirmed };
}

/** A change counts once it is committed: while the work tree has no config.yaml that can be read, the committed one is used. @throws CONFIG_INVALID */
function configOf(dir: string, configText: string | null): ReadConfig {
  const cache = cacheOf(dir);
  try {
    if (configText === null)
      throw new ClearedError("CONFIG_INVALID", `${CONFIG} is not there: \`git restore ${CONFIG}\` takes that of the last commit.`);
    return { configText, config: parseConfig(configText, cache), broken: null };
  } catch (error) {
    const committed = committedText(dir, CONFIG);
    const config = committed === null ? null : readableConfig(committed, cache);
    if (committed === null || config === null) throw error;
    const broken = `${toWire(error).message.replace(/\.?$/, ".")} Until it is corrected, the committed ${CONFIG} counts.`;
    sayOnce(printable(broken));
    return { configText: committed, config, broken };
  }
}

function readableConfig(text: string, cache: DiskCache): Config | null {
  try {
    return parseConfig(text, cache);
  } catch (error) {
    return onCode("CONFIG_INVALID", () => null)(error);
  }
}

/** A fault of config.yaml in a commit, with the lines of that text, because the file on disk may have others. `last`: of the last commit. */
export function committedFault(error: unknown, text: string, last = true): ClearedError {
  const { at, data, message, ...wire } = toWire(error);
  const rows = text.split("\n");
  const shown = (place: At): At => (place.line === undefined ? place : { ...place, text: rows[place.line - 1] ?? "" });
  const place = at === undefined ? {} : { at: shown(at) };
  if (last)
    return fromWire({
      ...wire,
      ...place,
      message: `The last commit's ${message.replace(/\.?$/, ".")} Commit the corrected one: git commit ${CONFIG}`,
    });
  const findings = (data?.["findings"] as Finding[] | undefined)?.map((one) => ({ ...one, at: shown(one.at) })) ?? [];
  return fromWire({ ...wire, ...place, message, data: { ...data, findings: findings as unknown as Json } });
}

/** The settings of the last commit; if they cannot be read, why, and those of the working tree. */
export function lastConfig({ config, configText }: Local, text: string): { config: Config; fault: ClearedError | null } {
  try {
    return { config: text === configText ? config : parseConfig(text), fault: null };
  } catch (error) {
    return { config, fault: committedFault(error, text) };
  }
}

/** What counts while the last commit has a config.yaml with this fault: that of the working tree. @throws CONFIG_INVALID if it has one, too */
export function configMeanwhile(dir: string, fault: ClearedError): Config {
  const { config } = readLocal(dir);
  sayOnce(printable(`${fault.message}. Until then, that of the working tree counts here, and nothing runs.`));
  return config;
}

export function trustTextOf(dir: string): string {
  return readIfThere(join(dir, TRUST)) ?? "";
}

/** @throws TRUST_CHANGED unless a person has confirmed the current trust.yaml */
export function assertConfirmed({ unconfirmed }: Pick<Local, "unconfirmed">): void {
  if (unconfirmed !== null) throw notConfirmed(unconfirmed);
}

export function notConfirmed(unconfirmed: "never" | "changed"): ClearedError {
  return new ClearedError(
    "TRUST_CHANGED",
    `${WHY[unconfirmed]}, so nothing runs or is decided here. \`cleared trust\` shows what would take effect and asks.`,
  );
}

export const WHY = {
  never: "This workspace's trust.yaml has not been confirmed on this machine",
  changed: "trust.yaml, or code that it names, has changed since a person last confirmed it here",
};

const said = new Set<string>();
const sayOnce = (sentence: string): void => {
  if (!said.has(sentence)) process.stderr.write(`${sentence}\n`);
  said.add(sentence);
};

/** One sentence on standard error, once per process, when a command continues without trust.yaml. */
export function sayUnconfirmed({ unconfirmed }: Pick<Local, "unconfirmed">): void {
  if (unconfirmed !== null)
    sayOnce(
      `${WHY[unconfirmed]}: this command continues without its plugins, tool servers and people. \`cleared trust\` shows what would take effect and asks.`,
    );
}
