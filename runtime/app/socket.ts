/**
 * How commands reach the owner of a workspace: one JSON document per line over a local socket. Its folder belongs to the user alone, which both
 * sides verify: whoever could write to it could listen instead of the owner. A failed call returns the error's wire form, which the caller
 * throws as if it had happened locally. The owner gives each connection a challenge, with its first answer: what is signed for one connection
 * (identity.ts) is worth nothing on another.
 */
import { createHash, randomBytes } from "node:crypto";
import { readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { type Server, type Socket, connect, createServer } from "node:net";
import { dirname, join } from "node:path";
import { LEASE_MS } from "../engine/store/lease.ts";
import { type WireError, fromWire, toWire } from "../kernel/errors.ts";
import { afterAwake, whileAwake } from "../kernel/processes.ts";
import { cutLines, jsonOf } from "../kernel/text.ts";
import { SOCKET } from "../workspace/layout.ts";
import { makeOwnFolder, ownFolder, runtimeFolder } from "../workspace/own-folders.ts";

interface Request {
  id: number;
  method: string;
  params: unknown;
  proof?: unknown;
}

/** What a request carries as proof of the person it names, and the challenge of its connection. */
export interface Proof {
  challenge: string;
  signature: unknown;
}

type Reply = { id: number; result: unknown } | { id: number; error: WireError };

// sun_path holds 108 bytes with the final zero; for a longer path the socket is in a private folder elsewhere.
const LONGEST_PATH = 92;
// The kernel accepts connections for a stopped process; only an answer shows that somebody is there.
const ANSWER_MS = 1000;
const PING_MS = 2000;
const PING = "ping";
// Far more than any command sends; a line without an end would fill the memory of this process.
const LONGEST_LINE = 64 * 1024 * 1024;

export function socketPath(dir: string): string {
  if (process.platform === "win32") return `\\\\.\\pipe\\cleared-${createHash("sha256").update(dir).digest("hex").slice(0, 24)}`;
  const path = join(dir, SOCKET);
  if (Buffer.byteLength(path) <= LONGEST_PATH) return path;
  return join(runtimeFolder(), `${createHash("sha256").update(dir).digest("hex").slice(0, 24)}.sock`);
}

/**
 * Serves until closed. The socket of a dead or replaced owner is replaced in one step: the caller has the lease. It is created under a unique
 * name, because closing removes that name, which could otherwise be the successor's socket. @throws FOLDER_UNSAFE
 */
export function serveSocket(
  dir: string,
  handle: (method: string, params: unknown, proof: Proof) => Promise<unknown>,
): Promise<{ close(): Promise<void> }> {
  const path = socketPath(dir);
  const folder = dirname(path);
  const open = new Set<Socket>();
  const isFile = process.platform !== "win32";
  const own = isFile ? `${path}-${randomBytes(3).toString("hex")}` : path;
  if (isFile) {
    makeOwnFolder(folder);
    // Left by a process killed before renaming it.
    for (const name of readdirSync(folder)) if (join(folder, name).startsWith(`${path}-`)) rmSync(join(folder, name), { force: true });
  }
  const inode = () => statSync(path, { throwIfNoEntry: false })?.ino;
  const server: Server = createServer((socket) => {
    open.add(socket);
    socket.on("close", () => open.delete(socket));
    socket.on("error", () => socket.destroy());
    const challenge = randomBytes(16).toString("hex");
    hear(socket, LONGEST_LINE, (line) => {
      void answer(line, challenge).then((reply) => socket.writable && socket.write(`${JSON.stringify(reply)}\n`));
    });
  });
  const answer = async (line: string, challenge: string): Promise<Reply> => {
    let id = 0;
    try {
      const request = JSON.parse(line) as Request;
      id = request.id;
      if (request.method === PING) return { id, result: challenge };
      const proof = { challenge, signature: request.proof };
      return { id, result: (await handle(request.method, request.params, proof)) ?? null };
    } catch (error) {
      return { id, error: toWire(error) };
    }
  };
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(own, () => {
      if (isFile) renameSync(own, path);
      const mine = inode();
      resolve({
        close: () =>
          new Promise<void>((done) => {
            if (isFile && mine !== undefined && inode() === mine) rmSync(path, { force: true });
            for (const socket of open) socket.destroy();
            server.close(() => done());
          }),
      });
    });
  });
}

/** Removes a socket that nobody serves: the caller has just taken the lease. */
export function dropSocket(dir: string): void {
  if (process.platform !== "win32") rmSync(socketPath(dir), { force: true });
}

export interface Connection {
  call(method: string, params: unknown): Promise<unknown>;
  close(): void;
}

/**
 * A connection to the owner, or null if nobody listens or the listener is stopped. `sign`: the signature of a request.
 * @throws FOLDER_UNSAFE
 */
export async function connectSocket(
  dir: string,
  sign: (method: string, params: unknown, challenge: string) => string | undefined = () => undefined,
): Promise<Connection | null> {
  const path = socketPath(dir);
  if (process.platform !== "win32" && ownFolder(dirname(path)) === null) return null;
  return new Promise((resolve) => {
    const socket = connect(path);
    const waiting = new Map<number, { resolve(value: unknown): void; reject(error: unknown): void }>();
    let next = 1;
    let silent = 0;
    let challenge: unknown;
    const ask = (method: string, params: unknown) =>
      new Promise<unknown>((done, reject) => {
        // One of an older version gives none, and asks for no proof.
        const proof = typeof challenge === "string" ? sign(method, params, challenge) : undefined;
        const id = next++;
        waiting.set(id, { resolve: done, reject });
        socket.write(`${JSON.stringify({ id, method, params, proof })}\n`);
      });
    const end = (words: string, ended = false) => {
      const callers = [...waiting.values()];
      waiting.clear();
      socket.destroy();
      const message = `The process that owns this workspace ${words}. Check with \`cleared runs\`; runs continue in it.`;
      for (const caller of callers) caller.reject(fromWire({ code: "OWNER_BUSY", message, data: { ended } }));
    };
    const pinging = whileAwake(PING_MS, (passed) => {
      silent += passed;
      if (silent > LEASE_MS) return end("stopped responding while it worked on this command");
      ask(PING, null).catch(() => undefined);
    });
    const unanswered = afterAwake(ANSWER_MS, () => end("does not answer"));
    socket.on("error", () => resolve(null));
    socket.on("close", () => {
      clearInterval(pinging);
      clearInterval(unanswered);
      end("ended while it worked on this command", true);
    });
    socket.once("connect", () => {
      hear(socket, Number.POSITIVE_INFINITY, (line) => {
        silent = 0;
        // A line may be cut off by the owner's end.
        const reply = (jsonOf(line) ?? null) as Reply | null;
        const caller = reply === null ? undefined : waiting.get(reply.id);
        if (reply === null || caller === undefined) return;
        waiting.delete(reply.id);
        if ("error" in reply) caller.reject(fromWire(reply.error));
        else caller.resolve(reply.result);
      });
      // An owner of an older version does not know the word, and answers that.
      const here = (given?: unknown) => {
        challenge = given;
        clearInterval(unanswered);
        resolve({ call: ask, close: () => socket.destroy() });
      };
      ask(PING, null).then(here, (error: { code?: string }) => (error.code === "OWNER_BUSY" ? resolve(null) : here()));
    });
  });
}

/** Lines as they arrive; one of more than `most` bytes ends the connection. */
function hear(socket: Socket, most: number, each: (line: string) => void): void {
  const cut = cutLines(most, (line) => (line === null ? socket.destroy() : each(line.toString("utf8"))));
  socket.on("data", cut).on("error", () => socket.destroy());
}
