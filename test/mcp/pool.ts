/** Tools as a run gets them, for tests: a trust.yaml as text, real servers, all ended at the end of each test. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach } from "vitest";
import type { Resolve } from "../../runtime/outside/mcp/addresses.ts";
import { createTools } from "../../runtime/outside/mcp/tools.ts";
import type { Json, ToolAnswer, Tools } from "../../runtime/kernel/ports.ts";
import { parseTrust } from "../../runtime/workspace/settings/config.ts";

export const SERVERS = join(import.meta.dirname, "../../node_modules/@modelcontextprotocol");
export const HOSTILE = join(import.meta.dirname, "hostile-server.ts");

const cleanups: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

export function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), "cleared-mcp-"));
  cleanups.push(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

export interface Run {
  tools: Tools;
  call(tool: string, params: Json, abort?: AbortSignal): Promise<ToolAnswer>;
  /** What a list had to leave out. */
  notes: string[];
  close(): Promise<void>;
}

export function run(
  trust: string,
  options: { dir?: string; given?: string; secrets?: Record<string, string>; resolve?: Resolve } = {},
): Run {
  const { given, secrets = {}, resolve, dir = folder() } = options;
  const pool = createTools({
    trust: parseTrust(trust),
    dir,
    sent: { has: () => false, keep: () => undefined },
    secrets: async () => (name) => secrets[name] ?? "",
    ...(resolve === undefined ? {} : { resolve }),
  });
  cleanups.push(() => pool.close());
  const notes: string[] = [];
  const tools = pool.forRun({ run: "run-1", given, note: (message) => void notes.push(message) });
  return {
    tools,
    notes,
    call: (tool, params, abort = new AbortController().signal) => tools.call({ tool, params }, { key: "run-1/7", now: 0, abort }),
    close: () => pool.close(),
  };
}

/** A hostile server in one of its modes, and the tool calls that reached it. `timeout_ms` must leave a slow machine time to start it. */
export function hostile(
  mode: string,
  more = "",
  timeout_ms = 10_000,
  { trusted = true, args = [] as string[] } = {},
): { trust: string; dir: string; reached(): string[] } {
  const dir = folder();
  const log = join(dir, "log", "reached.log");
  mkdirSync(dirname(log));
  const words = [HOSTILE, mode, log, ...args].join(", ");
  const trust = `mcp: {bad: {command: ${process.execPath}, args: [${words}], timeout_ms: ${timeout_ms}, trusted: ${trusted}${trusted ? "" : ", writes: [log, data/mail]"}${more}}}`;
  return { trust, dir, reached: () => linesOf(log) };
}

export function linesOf(file: string): string[] {
  try {
    return readFileSync(file, "utf8").trim().split("\n");
  } catch {
    return [];
  }
}

/** An HTTP server on a free port of this machine; answers its address. */
export async function serve(answer: (request: IncomingMessage, response: ServerResponse, body: string) => void): Promise<string> {
  const server: Server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
    request.on("end", () => answer(request, response, body));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  cleanups.push(() => {
    server.closeAllConnections();
    return new Promise((closed) => server.close(closed));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
