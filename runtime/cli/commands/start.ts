/**
 * `cleared start`: owns the workspace: triggers run, the status page is served, commands are answered over the socket, until Ctrl-C or SIGTERM
 * ends everything once.
 */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { unsettledProposals } from "../../engine/store/cards.ts";
import { Database } from "../../engine/store/database.ts";
import { ownerPid } from "../../engine/store/lease.ts";
import { openPauses, pauseOf } from "../../engine/store/pauses.ts";
import { ClearedError, toWire } from "../../kernel/errors.ts";
import type { RunRecord } from "../../kernel/ports.ts";
import { type Triggers, startTriggers } from "../../outside/triggers/index.ts";
import { keepPushing } from "../../a2a/push.ts";
import { createFetch } from "../../outside/mcp/addresses.ts";
import { isLoopback, LOOPBACK } from "../../outside/http.ts";
import { serveWeb } from "../../web/app.ts";
import { keepConfirmation, lookAtTrust } from "../../workspace/settings/confirmation.ts";
import { listTokens } from "../../workspace/settings/tokens.ts";
import { variables } from "../../workspace/settings/variables.ts";
import { CONFIG, STORE } from "../../workspace/layout.ts";
import { tellAlerts } from "../alerts.ts";
import { createApi } from "../../app/api.ts";
import { openOwner, serveApi } from "../../app/connect.ts";
import { createFacts, figuresOf } from "../../app/facts.ts";
import { keepGuarding, hooksOf, keepSending, keepTaskTime } from "../../app/timers.ts";
import type { Host } from "../../app/host.ts";
import { readLocal } from "../../app/local.ts";
import { mcpOver } from "../../app/mcp-api.ts";
import { keepLooking } from "../../app/looks.ts";
import { keepChecking } from "../../app/marks.ts";
import { filePorts, importing, inTurn } from "../../app/file-ports.ts";
import type { Command, Invocation } from "../invocation.ts";
import type { Output } from "../output.ts";
import { receiptsOf } from "../../app/receipts.ts";
import { reconcileCards } from "../../app/reconcile.ts";
import { isPaired, pairingLink } from "../../app/sessions.ts";
import { tasksOf } from "../../app/tasks.ts";
import { moneyOf, receiptLines, runLine, toCount } from "../text.ts";
import { keepUp } from "../../app/upkeep.ts";
import { wakeWaiting } from "../../app/wake.ts";

const LOOK_MS = 1000;
/** What was last printed about a statement that waits in import/, by its hash. */
const waitingFiles = new Map<string, string>();
const SIGNALS = ["SIGINT", "SIGTERM"] as const;

export const run: Command = async (at, _, options) => {
  // What a person has read once; it does not apply to a later version of the file, after another process had the workspace.
  if (options["acceptTrust"] === true) keepConfirmation(at.dir, lookAtTrust(at.dir));
  const wanted = { stop: false };
  for (let again = false; ; again = true) {
    try {
      return await own(at, options, wanted);
    } catch (error) {
      if (wanted.stop && isFenced(error)) return 0;
      const code = error instanceof ClearedError ? error.code : "";
      // A command took the workspace over; when it ends, this process continues. Another `cleared start` is not waited for.
      if (code === "OWNER_FENCED") at.output.note(`${toWire(error).message} This process continues when that one ends.`);
      else if (!again || code !== "OWNER_BUSY" || (error as ClearedError).data?.["pid"] === undefined) throw error;
    }
  }
};

/** @throws OWNER_FENCED once another process has taken the workspace over; everything is closed then */
async function own(at: Invocation, options: Record<string, unknown>, wanted: { stop: boolean }): Promise<number> {
  const { output, dir } = at;
  const { config, trust } = readLocal(dir);
  const port = options["port"] === undefined ? (variables().port ?? config.web.port) : toCount(options["port"], "--port", 65_535);
  const addresses = addressesOf(dir, options, trust.anonymous.length > 0);
  const ended = Promise.withResolvers<number>();
  const say = (error: unknown) => output.note(toWire(error).message);
  // The rejection may happen before anything awaits it.
  ended.promise.catch(() => undefined);
  let triggers: Triggers | undefined;
  let guarding: ReturnType<typeof keepGuarding> | undefined;
  let upkeep: ReturnType<typeof keepUp> | undefined;
  const opened = await openOwner(dir, {
    onTrustChanged: (error) => ended.reject(error),
    onError: say,
    onLost: () =>
      ended.reject(new ClearedError("OWNER_FENCED", "Another process has taken this workspace over while this one was suspended.")),
    onRest: (record) => {
      triggers?.rested();
      guarding?.rested();
      upkeep?.rested();
      if (host === undefined) return;
      void told(output, host, record).catch(say);
      settle(host);
    },
  });
  let settled: Promise<void> = Promise.resolve();
  const settle = (owner: Host): void => {
    if (unsettledProposals(owner.database).length === 0) return;
    settled = settled.then(async () => (await import("../../app/proposals-api.ts")).settleProposals(owner, output.note)).catch(say);
  };
  const host = "host" in opened ? opened.host : undefined;
  if (host === undefined) {
    if ("owner" in opened) opened.owner.close();
    throw new ClearedError(
      "OWNER_BUSY",
      `\`cleared start\` runs here already${ownerOf(dir)}. Use it, or stop it first (Ctrl-C in its window, or SIGTERM).`,
    );
  }
  // A second Ctrl-C while closing changes nothing.
  const stop = () => {
    wanted.stop = true;
    ended.resolve(0);
  };
  for (const signal of SIGNALS) process.on(signal, stop);
  const closing: (() => Promise<void>)[] = [() => host.close()];
  /** Stopped at the end, last one first. */
  const stopping = <T extends { stop(): Promise<void> }>(one: T): T => {
    closing.push(() => one.stop());
    return one;
  };
  try {
    const api = createApi(host);
    const socket = await serveApi(host, api);
    closing.push(() => socket.close());
    const tasks = tasksOf(host);
    const serve = (on: number) =>
      serveWeb(createFacts(host, api), host.clock, on, {
        ...{ ...addresses, hooks: hooksOf(host), tasks, mcp: mcpOver(api.mcp) },
        ...{ figures: () => figuresOf(host), onError: say },
      });
    const web = await serve(port).catch((error: unknown) => {
      const before = host.world.predecessor?.(0) ?? null;
      if (!(error instanceof ClearedError) || error.code !== "PORT_BUSY") throw error;
      if (before === null && options["port"] === undefined && variables().port == null)
        throw new ClearedError("PORT_BUSY", `${error.message} web.port is set in ${join(dir, CONFIG)}.`, { cause: error });
      if (before === null) throw error;
      output.note(`Process ${before} is suspended and holds port ${port}; the page uses another port until the next start.`);
      return serve(0);
    });
    host.page = isLoopback(new URL(web.url).host) ? web.url : null;
    closing.push(() => web.close());
    stopping(keepSending(host, web.url, output.note, say));
    const may = () => {
      host.assertTrust();
      host.world.guard();
    };
    const fetch = createFetch({ rules: host.trust.addresses, maxBytes: 65_536 });
    stopping(keepPushing(tasks, { fetch, may, note: output.note, onError: say }));
    const timing = keepTaskTime(host, say);
    closing.push(async () => clearInterval(timing));
    guarding = stopping(keepGuarding(host, output.note, say));
    closing.push(() => settled);
    const started = startTriggers({
      ...host,
      ...filePorts(host),
      now: () => host.clock.now(),
      timezone: async () => (await host.config()).timezone,
      head: () => host.git.head(),
      importing: async (agent) => pauseOf(host.database, agent) !== null || (await importing(host, agent)).length > 0,
      cause: async (run) => (await host.engine.get(run))?.cause ?? null,
      blockedBy: () => host.git.blockedBy(),
      wakeWaiting: () => wakeWaiting(host),
      paused: () => Array.from(openPauses(host.database), (one) => one.agent ?? "*").join(" "),
      reconcile: () => reconcileCards(host),
      inTurn: (work) => inTurn(host, work, { wait: false }),
      found: () => host.folder.said.splice(0),
      note: output.note,
    });
    triggers = stopping(started);
    settle(host);
    stopping(keepChecking(host, async (agent) => (await import("../../app/check-api.ts")).checkAgent(host, agent), say));
    upkeep = stopping(keepUp(host, say));
    // A changed trust.yaml has rejected `ended`; a failed read is repeated.
    stopping(
      keepLooking(
        LOOK_MS,
        () => host.assertTrust(),
        () => undefined,
      ),
    );
    await tellAlerts(at);
    const pairing = pairingLink(host, web.url);
    output.result({ dir, url: web.url, pid: process.pid, ...(pairing === null ? {} : { pair: pairing.link }) });
    output.line(`${output.bold(config.business.name)}  ${web.url}`);
    if (pairing !== null) output.line(`To decide in a browser as ${pairing.by}, open once within 10 minutes: ${pairing.link}`);
    if (pairing !== null && options["open"] !== false && !isPaired(host)) openLink(pairing.link);
    output.line(`Watching ${dir}; Ctrl-C stops.`);
    return await ended.promise;
  } finally {
    // If something cannot be closed because another process owns the workspace, the rest is still closed.
    for (const close of closing.reverse()) await close().catch((error: unknown) => (isFenced(error) ? undefined : say(error)));
    for (const signal of SIGNALS) process.off(signal, stop);
    if (triggers !== undefined) output.line("Stopped.");
  }
}

/** Where to listen, and the card's address. @throws USAGE for an address that others can reach while trust.yaml names nobody who may give tasks */
function addressesOf(dir: string, { host: bind = LOOPBACK, cardUrl }: Record<string, unknown>, anybody: boolean) {
  const card = cardUrl === undefined ? undefined : URL.parse(String(cardUrl));
  if (card !== undefined && !/^https?:$/.test(card?.protocol ?? ""))
    throw new ClearedError("USAGE", "--card-url must be the http or https address that callers use, such as https://worker.example.com.");
  if (!isLoopback(String(bind)) && !anybody && listTokens(dir).length === 0)
    throw new ClearedError(
      "USAGE",
      `--host ${bind} is reached from other machines, and nobody has a token: make one with \`cleared tokens add NAME --agents AGENT\`, or name agents under anonymous: in trust.yaml.`,
    );
  return { host: String(bind), cardUrl: card?.href.replace(/\/+$/, "") };
}

const isFenced = (error: unknown): boolean => error instanceof ClearedError && error.code === "OWNER_FENCED";

/** Opens the link if there is a terminal and a screen; it is printed in any case. */
function openLink(link: string): void {
  if (process.stdout.isTTY !== true) return;
  const { platform, env } = process;
  if (platform === "linux" && env["DISPLAY"] === undefined && env["WAYLAND_DISPLAY"] === undefined) return;
  // Not as an argument, which other users could read and use first; on Linux the page does not answer them.
  const [command, args, input] =
    platform === "darwin"
      ? ["osascript", ["-"], `open location ${JSON.stringify(link)}\n`]
      : platform === "win32"
        ? ["rundll32", ["url.dll,FileProtocolHandler", link], ""]
        : ["xdg-open", [link], ""];
  const child = spawn(command as string, args as string[], { stdio: ["pipe", "ignore", "ignore"], detached: true });
  child.on("error", () => undefined);
  child.stdin.on("error", () => undefined);
  child.stdin.end(input as string);
  child.unref();
}

/** ` (process 1234)`: the owner recorded in the store. */
function ownerOf(dir: string): string {
  const database = new Database(join(dir, STORE));
  try {
    const pid = ownerPid(database);
    return pid === undefined ? "" : ` (process ${pid})`;
  } finally {
    database.close();
  }
}

/** One line per run, its receipts, and the bank's balance after an import. */
async function told(output: Output, host: Host, record: RunRecord): Promise<void> {
  output.line(runLine(output, record).join("  ").trimEnd());
  if (record.error !== null) output.note(record.error.message);
  if (record.status !== "done") return;
  const receipts = receiptsOf(await host.engine.steps(record.id));
  // A file that waits is read again after each change of the settings; it is told again when something about it has changed.
  const fresh = receipts.filter((receipt) => {
    const text = JSON.stringify(receipt);
    const isTold = waitingFiles.get(receipt.hash) === text;
    if (receipt.refused.length > 0 && receipt.new + receipt.twin === 0) waitingFiles.set(receipt.hash, text);
    else waitingFiles.delete(receipt.hash);
    return !isTold;
  });
  for (const receipt of fresh) output.lines(receiptLines(output, receipt));
  if (fresh.length === 0) return;
  const open = host.cards.waiting();
  for (const { account, balance } of await createApi(host).balances())
    output.line(`  ${account.id.padEnd(6)}${account.name.padEnd(34)}${moneyOf(balance)}`);
  if (open > 0) output.line(`  ${open} wait${open === 1 ? "s" : ""} for a person: the status page, or \`cleared queue\``);
}
