/** `cleared trust`: what this workspace's trust.yaml would run, connect to and allow, in words; a person's confirmation puts it into force here. */
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ClearedError } from "../../kernel/errors.ts";
import { pluginName } from "../../kernel/registry.ts";
import type { Trust } from "../../workspace/settings/config.ts";
import { type Seen, confirmedTrust, keepConfirmation, lookAtTrust } from "../../workspace/settings/confirmation.ts";
import { foreignLaunchers } from "../../workspace/init.ts";
import { openSecrets } from "../../workspace/settings/secrets.ts";
import { assertUntracked } from "../../workspace/git/working-edits.ts";
import { FOREIGN_KEY, KEY, TRUST } from "../../workspace/layout.ts";
import { keepKey, personKey, readIfThere } from "../../workspace/own-folders.ts";
import { fits, holdersHere } from "../../app/identity.ts";
import type { Command } from "../invocation.ts";
import { PRODUCT } from "./init.ts";
import { withStore } from "../../app/look.ts";
import { saysYes } from "../terminal.ts";
import type { Json } from "../../kernel/ports.ts";
import { printable, quoted } from "../../kernel/text.ts";

export const run: Command = async ({ output, dir }, _, options) => {
  const name = options["newKey"];
  if (typeof name === "string") {
    if (name.trim() === "") throw new ClearedError("USAGE", 'Give the name of the person: `cleared trust --new-key "Ana Ruiz"`.');
    const { half, key } = personKey();
    const file = keepKey(half, key);
    const ids = "    # ids: {erp: E-1002}  # their id at each tool server, or their name: else they may be who requested a case";
    output.lines([`  - name: ${JSON.stringify(name)}`, `    key: ${half}`, ids]);
    output.line(`Add these lines to trust.yaml under people:, and confirm them with \`cleared trust\`. The private key is in ${file}.`);
    output.result({ name, key: half, file });
    return;
  }
  await assertUntracked(dir);
  const seen = lookAtTrust(dir);
  const found = confirmedTrust(dir, seen.text);
  const before = "trust" in found ? null : found.before;
  const now = wordsOf(seen);
  const [added, gone] = before === null ? [[], []] : changes(wordsOf(before), now);
  const says = [...now.map((line) => `${added.includes(line) ? "+" : " "} ${line}`), ...gone.map((line) => `- ${line}`)];
  // Also what the words leave out, such as a timeout or the order of people: no change may look as if there were none.
  if (before !== null) {
    const [set, unset] = changes(leavesOf(before.value), leavesOf(seen.value));
    says.push(...set.map((line) => `+ ${TRUST}: ${printable(line)}`), ...unset.map((line) => `- ${TRUST}: ${printable(line)}`));
  }
  for (const line of says) output.line(line.startsWith("+") ? output.green(line) : line.startsWith("-") ? output.red(line) : line);
  if (now.length === 0) output.line("  It names no code, no people and nothing outside.");
  const foreign = await openSecrets(dir).foreign();
  if (foreign !== null)
    output.line(
      `  The folder brings stored secrets, whose values its maker knows: ${foreign.join(", ") || "none that can be read here"}. If you did not store them, set each anew: \`cleared secrets set NAME\`.`,
    );
  const first = before === null && !("trust" in found);
  for (const launcher of first ? foreignLaunchers(dir, PRODUCT) : [])
    output.line(
      `  The folder brings ./${launcher}, which does not start this Cleared but a program of its maker: delete it, and start your own.`,
    );
  if (first && existsSync(join(dir, KEY)))
    output.line(
      `  The folder brings a private key, which its maker has, too: ${KEY} is not used and becomes ${FOREIGN_KEY}. CLEARED_KEY can name it if it is yours alone.`,
    );
  if ("trust" in found && foreign === null) output.line("This is what a person has confirmed here.");
  else {
    const brought = first ? await unfinishedRuns(dir) : 0;
    if (brought > 0)
      output.line(
        `  The folder brings a run store with ${brought} unfinished ${brought === 1 ? "run" : "runs"}, which would continue here.`,
      );
    if (options["acceptTrust"] !== true && !(await saysYes("Should all of this take effect here?")))
      throw new ClearedError(
        "TRUST_CHANGED",
        "Nothing was confirmed. In a script: `cleared trust --accept-trust`, after a person has read it.",
        { data: { says: now } },
      );
    keepConfirmation(dir, seen);
    output.line("Confirmed for this folder on this machine. You are asked again when trust.yaml or this code changes.");
  }
  const moved = moveKey(dir, seen.trust);
  output.lines(moved);
  output.result({ dir, confirmed: true, says: now, moved });
};

/** The lines that are new, and those that are gone. */
const changes = (then: string[], now: string[]): [string[], string[]] => [
  now.filter((line) => !then.includes(line)),
  then.filter((line) => !now.includes(line)),
];

/** Each value in a file with its place: `mcp.erp.args.0: "serve"`. */
function leavesOf(value: Json, place: string[] = []): string[] {
  const inner = typeof value === "object" && value !== null ? Object.entries(value) : [];
  if (inner.length > 0) return inner.flatMap(([key, one]) => leavesOf(one, [...place, /^[\w-]+$/.test(key) ? key : JSON.stringify(key)]));
  return [`${place.join(".")}: ${JSON.stringify(value)}`];
}

/**
 * Older versions kept a person's key inside the workspace, where a copy includes it. Only a workspace that was confirmed here before still has
 * one: the first confirmation puts a key aside. Returns what was moved, in sentences.
 */
function moveKey(dir: string, { people }: Trust): string[] {
  const file = join(dir, KEY);
  const key = readIfThere(file);
  const person = key === null ? undefined : people.find((one) => fits(key, one));
  if (key === null || person === undefined) return [];
  const kept = keepKey(person.key, key);
  rmSync(file);
  return [`The key of ${printable(person.name)} was in ${KEY} and is in ${kept} now.`];
}

const unfinishedRuns = async (dir: string): Promise<number> =>
  (await withStore(dir, (look) => look.runs({ status: ["queued", "running", "waiting"], limit: 10_000 }))).length;

/** One line per item that would be in force, most dangerous first. Text of the file is untrusted. */
function wordsOf({ trust, code }: Pick<Seen, "trust" | "code">): string[] {
  const { plugins, mcp, people, approvals, notices, webhooks, addresses, changes, anonymous } = trust;
  const { smtp } = notices;
  const mine = holdersHere(trust).map(({ person }) => person);
  const profiles: [string, Trust["approvals"]["default"]][] = [["every agent", approvals.default], ...Object.entries(approvals.agents)];
  return [
    ...plugins.map((one) => `runs plugin ${pluginName(one)}, with all your rights`),
    ...Object.entries(mcp).flatMap(([name, server]) => {
      const { command, args } = server;
      const asks = server.url ?? `${server.plain} (plain HTTP)`;
      const way = command === undefined ? `asks tools at ${asks}` : `starts ${[command, ...args].map(quoted).join(" ")}`;
      // With their values: NODE_OPTIONS, LD_PRELOAD and PATH choose what runs.
      const given = [
        ...Object.entries(server.env).map(([name, value]) => `${name}=${quoted(value)}`),
        ...Object.entries(server.headers).map(([name, value]) => `${name}: ${quoted(value)}`),
      ];
      const gets = given.length === 0 ? "" : `, gives it ${given.join(", ")}`;
      const writes = server.writes.length === 0 ? "" : `, which may write in ${server.writes.join(", ")}`;
      const from = server.oauth === undefined ? "" : `, with access by ${JSON.stringify(server.oauth)}`;
      const free = (kind?: string) => (kind === "read" || kind === "compute" ? ", so nobody is asked before a call of it" : "");
      return [
        `${way} as tool server ${name}${server.trusted ? ", trusted: what it says about its tools is believed" : ""}${writes}${gets}${from}`,
        ...Object.entries(server.tools).map(([tool, of]) => `believes of the tool ${name}/${tool}: ${JSON.stringify(of)}${free(of.class)}`),
        ...Object.entries(server.aliases).map(([tool, others]) => `answers reads of a lost ${name}/${tool} by ${others.join(", ")}`),
      ];
    }),
    ...Object.entries(trust.a2a).map(([name, one]) => {
      const free = Object.keys(one.skills).filter((skill) => one.skills[skill] === "read");
      const kept = Object.keys(one.skills).filter((skill) => one.skills[skill] === "mutate");
      const reads = one.class === "read" ? `all${kept.length === 0 ? "" : ` but ${kept.join(", ")}`}` : free.join(", ");
      const unasked = reads === "" ? "" : `; of its skills ${reads} are taken to only read, so nobody is asked before a call`;
      const again = one.idempotent ? "; a message is sent to it again when its answer was lost" : "";
      return `gives tasks to the agent ${name} at ${one.url}${one.token === undefined ? "" : `, with ${one.token}`}${unasked}${again}`;
    }),
    ...Object.entries(trust.models).map(([name, one]) =>
      one.backend === "scripted"
        ? `answers as model ${name} come from ${one.file}`
        : `sends texts of this business to the model server ${name} at ${one.url}${one.sends.length === 0 ? "" : `, with data of the groups ${one.sends.join(", ")}`}${one.key === undefined ? "" : `, and ${one.key}`}`,
    ),
    ...Object.entries(code).map(([path, hash]) => `code ${path} ${hash}`),
    ...people.map(
      (one) =>
        `${one.name} may decide${one.roles.length === 0 ? "" : ` as ${one.roles.join(", ")}`}, by the key ...${one.key.slice(-12)}${mine.includes(one) ? " (yours)" : ""}${one.ids === undefined ? "" : `, known to tool servers as ${JSON.stringify(one.ids)}`}${one.email === undefined ? "" : `, mail to ${one.email}`}`,
    ),
    ...profiles.flatMap(([agent, mode]) =>
      mode === "person"
        ? []
        : [
            `gates of ${agent} up to ${mode.up_to} ${mode.currency} are answered by ${mode.mode}, without a person${mode.fields.length === 0 ? "" : `, whatever ${mode.fields.join(", ")} say`}`,
          ],
    ),
    ...(changes.approvals > 1 || changes.two_people_for.length > 0 || Object.keys(changes.levels).length > 0
      ? [`changes of code need: ${JSON.stringify(changes)}`]
      : []),
    ...anonymous.map((agent) => `anybody who reaches its address may give tasks to ${agent}, without a token`),
    ...(addresses.loopback ? ["whoever starts a run may name tool servers and push addresses on this machine"] : []),
    ...addresses.allow.map((one) => `whoever starts a run may name tool servers and push addresses at ${one}`),
    ...(smtp === undefined
      ? []
      : [
          `sends mail through ${smtp.host}:${smtp.port} from ${smtp.from}, with ${smtp.password === undefined ? "no password" : `${smtp.password} of ${smtp.user}`}`,
        ]),
    ...Object.entries(notices.webhooks).map(([name, { url, secret }]) => `sends notices ${name} to ${url}, signed with ${secret}`),
    ...Object.entries(webhooks).map(([name, { secret }]) => `requests to /hooks/${name} signed with ${secret} start agents`),
    ...Object.entries(trust.limits.agents).map(([agent, limits]) => `limits of ${agent}: ${JSON.stringify(limits)}`),
    ...(trust.sandbox.jit ? ["scripts run with a just-in-time compiler"] : []),
  ].map((line) => printable(line.replaceAll("\n", "\\n")));
}
