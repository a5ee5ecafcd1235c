/** How a command reaches a workspace: through its owner's socket, or by owning it while the command runs. */
import { FOLLOWED, unsettledProposals } from "../engine/store/cards.ts";
import { getFact, setFact } from "../engine/store/facts.ts";
import { ClearedError } from "../kernel/errors.ts";
import { deliverEvents } from "../outside/triggers/events.ts";
import { type Api, createApi } from "./api.ts";
import type { Host } from "./host.ts";
import { provenParams, signRequest } from "./identity.ts";
import { type HostOptions, openHost } from "./open-host.ts";
import { senderOf } from "./timers.ts";
import { printable } from "../kernel/text.ts";
import { type Connection, connectSocket, dropSocket, serveSocket } from "./socket.ts";
import { wakeWaiting } from "./wake.ts";

// Another command that owns the workspace ends on its own; an import of 50,000 rows takes some 20 s.
const OWNER_PATIENCE_MS = 120_000;
const SAY_AFTER_MS = 2000;

const say = (message: string): void => void process.stderr.write(`${printable(message)}\n`);

const ownerOf = (dir: string): Promise<Connection | null> =>
  connectSocket(dir, (method, params, challenge) => signRequest(dir, method, params, challenge));

/** Serves the operations to commands of other processes. A request that names a person without proof is by nobody. @throws FOLDER_UNSAFE */
export function serveApi({ dir, trust }: Host, api: Api): Promise<{ close(): Promise<void> }> {
  return serveSocket(dir, async (method, params, proof) => {
    const operation = (api as unknown as Record<string, (params: unknown) => Promise<unknown>>)[method];
    if (operation === undefined || !Object.hasOwn(api, method))
      throw new ClearedError("USAGE", `The owner of this workspace does not know "${method}"; is it an older version? Restart it.`);
    return operation(provenParams(trust.people, method, params, proof));
  });
}

/**
 * Owns the workspace, waiting for a command that owns it now. Null if a lasting owner listens on the socket.
 * @throws OWNER_BUSY if the other process neither listens nor ends
 */
export async function openOwner(dir: string, options: Omit<HostOptions, "mode"> = {}): Promise<{ host: Host } | { owner: Connection }> {
  const began = Date.now();
  for (let said = false; ; ) {
    const owner = await ownerOf(dir);
    if (owner !== null) return { owner };
    try {
      const host = await openHost(dir, { ...options, mode: "owner" });
      dropSocket(dir);
      return { host };
    } catch (error) {
      if (!(error instanceof ClearedError) || error.code !== "OWNER_BUSY" || Date.now() - began > OWNER_PATIENCE_MS) throw error;
      if (!said && Date.now() - began > SAY_AFTER_MS) {
        said = true;
        process.stderr.write(`${error.message} Waiting for it to end ...\n`);
      }
      await new Promise((retry) => setTimeout(retry, 100));
    }
  }
}

/** Runs `work` through the owner of the workspace, or as its owner. */
export async function withApi<T>(dir: string, work: (api: Api) => Promise<T>): Promise<T> {
  let rested = false;
  const opened = await openOwner(dir, {
    onRest: () => {
      rested = true;
    },
  });
  if ("owner" in opened) return overSocket(opened.owner, work);
  try {
    await wakeWaiting(opened.host);
    const follows = await followHead(opened.host);
    const value = await work(createApi(opened.host));
    await settleEvents(opened.host);
    await settleWishes(opened.host);
    await settleRequests(opened.host);
    if (rested) await (await import("./timers.ts")).guardOnce(opened.host, say);
    await senderOf(opened.host, null, say).deliver();
    if (rested) await (await import("./upkeep.ts")).upkeepOnce(opened.host, say);
    // The cards have already followed each of its own commits.
    if (follows) setFact(opened.host.database, FOLLOWED, await opened.host.git.head());
    return value;
  } finally {
    await opened.host.close();
  }
}

/** Reopens or closes cards after plain git has moved HEAD since the last command; `start` does so continuously. False while a run is executing. */
async function followHead(host: Host): Promise<boolean> {
  if (getFact(host.database, FOLLOWED) === (await host.git.head())) return true;
  return (await import("./reconcile.ts")).reconcileCards(host);
}

/** Reads the workspace, whoever owns it: takes nothing, executes nothing. */
export async function withLook<T>(dir: string, work: (api: Pick<Api, "agents">, host: Host) => Promise<T>): Promise<T> {
  return onHost(dir, "look", work);
}

/** A private host in memory: for dry runs, which need no owner and must not disturb one. */
export async function withDryApi<T>(dir: string, work: (api: Api) => Promise<T>): Promise<T> {
  return onHost(dir, "memory", work);
}

async function onHost<T>(dir: string, mode: "look" | "memory", work: (api: Api, host: Host) => Promise<T>): Promise<T> {
  const host = await openHost(dir, { mode });
  try {
    return await work(createApi(host), host);
  } finally {
    await host.close();
  }
}

/** The owner if one listens, else a private host: for work that reads much and changes nothing. */
export async function withAnyApi<T>(dir: string, work: (api: Api) => Promise<T>): Promise<T> {
  const owner = await ownerOf(dir);
  return owner === null ? withDryApi(dir, work) : overSocket(owner, work);
}

async function overSocket<T>(owner: Connection, work: (api: Api) => Promise<T>): Promise<T> {
  const get = (_: Api, method: string | symbol) =>
    typeof method === "string" ? (params: unknown) => owner.call(method, params) : undefined;
  try {
    return await work(new Proxy({} as Api, { get }));
  } finally {
    owner.close();
  }
}

/** No owner listens, so listeners to events of this command's runs start before it ends. */
async function settleEvents(host: Host): Promise<void> {
  const served = new Set<string>();
  while (host.emitted().length > 0 && (await host.git.blockedBy()) === null) {
    const moved = await deliverEvents({ ...host, cause: async (run) => (await host.engine.get(run))?.cause ?? null, note: say }, served);
    if (!moved) return;
    const unfinished = await host.engine.list({ status: ["queued", "running"], limit: 1000 });
    for (const run of unfinished) await host.engine.result(run.id);
  }
}

/** Changes requested by this command's runs become checked proposals before it ends. */
async function settleWishes(host: Host): Promise<void> {
  if (unsettledProposals(host.database).length === 0) return;
  await (await import("./proposals-api.ts")).settleProposals(host, say);
}

/** Requests to the meta-agent would end with this command, so it waits for them: those made of tasks, and those that outlast their caller. */
async function settleRequests(host: Host): Promise<void> {
  if (host.ending.size === 0) return;
  const [{ requestsUnderWay, watchAsk }, { isByAgent }] = await Promise.all([import("./asks.ts"), import("../meta/requests.ts")]);
  for (const id of requestsUnderWay(host)) {
    const why = isByAgent((await watchAsk(host, { id, from: 1, wait: false })).ask) ? "which a run began" : "which has not ended";
    say(`Request ${id}, ${why}; Ctrl-C leaves it to \`cleared ask --continue ${id}\`:`);
    for (let [from, ended] = [1, false]; !ended; ) {
      const { ask, rows } = await watchAsk(host, { id, from, wait: true });
      for (const { n, note } of rows) if ((from = n + 1) && note !== undefined) say(`  ${note}`);
      ended = ask.end !== null;
    }
  }
}
