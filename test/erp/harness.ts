/** Starts the demo business on a fresh database and speaks with it over one of its three surfaces. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterEach } from "vitest";
import type { Json } from "../../runtime/kernel/ports.ts";

export const SERVER = join(import.meta.dirname, "../../examples/erp/server.ts");

export interface Answer {
  error: boolean;
  /** The answer's JSON, or its text where it is none. */
  result: Json;
}

export interface Erp {
  client: Client;
  call(tool: string, params?: Record<string, Json>): Promise<Answer>;
  /** The result. @throws Error with the server's text when the call failed */
  ok(tool: string, params?: Record<string, Json>): Promise<Record<string, Json>>;
}

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

export function freshDb(): string {
  const folder = mkdtempSync(join(tmpdir(), "erp-"));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "erp.db");
}

export async function overStdio(options: { db?: string; mode?: string } = {}): Promise<Erp> {
  const args = [SERVER, "--db", options.db ?? freshDb(), "--mode", options.mode ?? ""];
  return await connected(new StdioClientTransport({ command: process.execPath, args, env: { ...process.env } as Record<string, string> }));
}

export async function overHttp(options: { db?: string; mode?: string } = {}): Promise<Erp> {
  const { url } = await start(["--http", "0"], options);
  return await connected(new StreamableHTTPClientTransport(new URL(url)) as Parameters<Client["connect"]>[0]);
}

/** A server that prints where it listens. */
export async function start(args: string[], options: { db?: string; mode?: string } = {}): Promise<{ child: ChildProcess; url: string }> {
  const child = spawn(process.execPath, [SERVER, "--db", options.db ?? freshDb(), "--mode", options.mode ?? "", ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  cleanups.push(() => {
    child.kill();
    return ended;
  });
  for await (const line of createInterface({ input: child.stdout! })) {
    const url = /^erp: .*?(http:\S+)$/.exec(line)?.[1];
    if (url !== undefined) return { child, url };
  }
  throw new Error("the server ended before it listened");
}

async function connected(transport: Parameters<Client["connect"]>[0]): Promise<Erp> {
  const client = new Client({ name: "test", version: "1" });
  await client.connect(transport);
  cleanups.push(() => client.close());
  const call = async (tool: string, params: Record<string, Json> = {}): Promise<Answer> => {
    const answer = await client.callTool({ name: tool, arguments: params });
    const [part] = answer.content as { text: string }[];
    return { error: answer.isError === true, result: parsed(part?.text ?? "") };
  };
  const ok = async (tool: string, params: Record<string, Json> = {}): Promise<Record<string, Json>> => {
    const { error, result } = await call(tool, params);
    if (error) throw new Error(String(result));
    return result as Record<string, Json>;
  };
  return { client, call, ok };
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}
