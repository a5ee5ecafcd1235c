/**
 * How commands reach the owner of a workspace: one JSON document a line over a local socket. The folder it lies in is only the user's.
 * A call that fails answers with the error's wire form; the caller throws it as if it had happened here.
 */
import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, rmSync } from "node:fs";
import { type Server, type Socket, connect, createServer } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type WireError, fromWire, toWire } from "../errors.ts";
import { SOCKET } from "../workspace/layout.ts";

interface Request {
  id: number;
  method: string;
  params: unknown;
}

type Reply = { id: number; result: unknown } | { id: number; error: WireError };

// sun_path holds 108 bytes with its final zero; a workspace deeper than that gets a socket in a private folder of the temporary directory.
const LONGEST_PATH = 100;
// Far more than any command sends; a line without an end would fill this process.
const LONGEST_LINE = 64 * 1024 * 1024;

export function socketPath(dir: string): string {
  if (process.platform === "win32") return `\\\\.\\pipe\\cleared-${createHash("sha256").update(dir).digest("hex").slice(0, 24)}`;
  const path = join(dir, SOCKET);
  if (Buffer.byteLength(path) <= LONGEST_PATH) return path;
  return join(tmpdir(), `cleared-${userInfo().uid}`, `${createHash("sha256").update(dir).digest("hex").slice(0, 24)}.sock`);
}

/** Serves until closed. A leftover socket of a dead owner is replaced: the caller holds the lease. */
export function serveSocket(
  dir: string,
  handle: (method: string, params: unknown) => Promise<unknown>,
): Promise<{ close(): Promise<void> }> {
  const path = socketPath(dir);
  const folder = join(path, "..");
  const open = new Set<Socket>();
  if (process.platform !== "win32") {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    chmodSync(folder, 0o700);
    rmSync(path, { force: true });
  }
  const server: Server = createServer((socket) => {
    open.add(socket);
    socket.on("close", () => open.delete(socket));
    socket.on("error", () => socket.destroy());
    let unended = 0;
    socket.on("data", (chunk: Buffer) => {
      const end = chunk.lastIndexOf(10);
      unended = end === -1 ? unended + chunk.length : chunk.length - end - 1;
      if (unended > LONGEST_LINE) socket.destroy();
    });
    createInterface({ input: socket, crlfDelay: Number.POSITIVE_INFINITY }).on("line", (line) => {
      void answer(line).then((reply) => socket.writable && socket.write(`${JSON.stringify(reply)}\n`));
    });
  });
  const answer = async (line: string): Promise<Reply> => {
    let id = 0;
    try {
      const request = JSON.parse(line) as Request;
      id = request.id;
      return { id, result: (await handle(request.method, request.params)) ?? null };
    } catch (error) {
      return { id, error: toWire(error) };
    }
  };
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, () =>
      resolve({
        close: () =>
          new Promise<void>((done) => {
            for (const socket of open) socket.destroy();
            server.close(() => done());
          }),
      }),
    );
  });
}

export interface Connection {
  call(method: string, params: unknown): Promise<unknown>;
  close(): void;
}

/** A connection to the owner, or null when nobody listens. */
export function connectSocket(dir: string): Promise<Connection | null> {
  return new Promise((resolve) => {
    const socket = connect(socketPath(dir));
    const waiting = new Map<number, { resolve(value: unknown): void; reject(error: unknown): void }>();
    let next = 1;
    socket.once("error", () => resolve(null));
    socket.once("connect", () => {
      createInterface({ input: socket, crlfDelay: Number.POSITIVE_INFINITY }).on("line", (line) => {
        const reply = JSON.parse(line) as Reply;
        const caller = waiting.get(reply.id);
        waiting.delete(reply.id);
        if ("error" in reply) caller?.reject(fromWire(reply.error));
        else caller?.resolve(reply.result);
      });
      socket.on("close", () => {
        for (const caller of waiting.values())
          caller.reject(
            fromWire({
              code: "OWNER_BUSY",
              message:
                "The process that owns this workspace ended while it worked on this command. Look with `cleared runs`; runs go on by themselves.",
            }),
          );
      });
      resolve({
        call: (method, params) =>
          new Promise((done, reject) => {
            const id = next++;
            waiting.set(id, { resolve: done, reject });
            socket.write(`${JSON.stringify({ id, method, params })}\n`);
          }),
        close: () => socket.destroy(),
      });
    });
  });
}
