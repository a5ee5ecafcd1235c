/** The official clients of both generations, over both transports, as one. */
import { Client as Modern, StreamableHTTPClientTransport as ModernHttp } from "@modelcontextprotocol/client";
import { StdioClientTransport as ModernStdio } from "@modelcontextprotocol/client/stdio";
import { Client as Legacy } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as LegacyStdio } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as LegacyHttp } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Any } from "../a2a/client.ts";
import { ENV, MAIN } from "../cli/command-line.ts";

/** An agent that makes so many calls before it answers. */
export const slowAgent = (calls: number): string => `/*
name: Slow
trigger: mcp
mutates: false
uses: [ctx]
*/
let sum = 0;
for (let i = 0; i < ${calls}; i++) sum += String(ctx_today()).length;
({ summary: "counted " + sum });
`;

export type Generation = "2025" | "2026";

export interface Connected {
  client: Any;
  /** Of `cleared mcp`; 0 over HTTP. */
  pid: number;
  call(name: string, args?: Any, options?: Any): Promise<{ failed: boolean; value: Any }>;
  close(): Promise<void>;
}

const INFO = { name: "test", version: "1" };
const clientOf = (generation: Generation): Any =>
  generation === "2025" ? new Legacy(INFO) : new Modern(INFO, { versionNegotiation: { mode: { pin: "2026-07-28" } } });

function connected(client: Any, generation: Generation, pid: number): Connected {
  return {
    client,
    pid,
    async call(name, args = {}, options) {
      const params = { name, arguments: args };
      const answer = generation === "2025" ? await client.callTool(params, undefined, options) : await client.callTool(params, options);
      const value = JSON.parse(answer.content[0].text);
      if (answer.structuredContent !== undefined && JSON.stringify(answer.structuredContent) !== JSON.stringify(value))
        throw new Error("an answer says one thing as text and another as data");
      return { failed: answer.isError === true, value };
    },
    close: () => client.close(),
  };
}

export async function overStdio(dir: string, generation: Generation): Promise<Connected> {
  const [command = "", ...args] = MAIN;
  const env = Object.fromEntries(Object.entries(ENV).filter((one): one is [string, string] => one[1] !== undefined));
  const how = { command, args: [...args, "mcp"], cwd: dir, env, stderr: "ignore" as const };
  const transport: Any = generation === "2025" ? new LegacyStdio(how) : new ModernStdio(how);
  const client = clientOf(generation);
  await client.connect(transport);
  return connected(client, generation, transport.pid ?? 0);
}

export async function overHttp(
  url: string,
  generation: Generation,
  token?: string,
  headers: Record<string, string> = {},
): Promise<Connected> {
  const all = { ...headers, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) };
  const [at, how] = [new URL(`${url}/mcp`), { requestInit: { headers: all } }];
  const client = clientOf(generation);
  await client.connect((generation === "2025" ? new LegacyHttp(at, how) : new ModernHttp(at, how)) as Any);
  return connected(client, generation, 0);
}
