/** Endpoints given to a run: detected as MCP or plain, untrusted, and reached only if the address rules allow it. */
import { ClearedError } from "../../kernel/errors.ts";
import type { ToolServer } from "../../workspace/settings/config.ts";
import { variables } from "../../workspace/settings/variables.ts";
import type { Fetch } from "./addresses.ts";
import type { Connection } from "./connection.ts";
import { connectPlain } from "./plain-http.ts";

/** The server name of its tools. */
export const GIVEN = "given";

/** The defaults that trust.yaml would have for it. */
export const UNDECLARED: Pick<ToolServer, "timeout_ms" | "concurrency" | "trusted" | "writes" | "tools" | "aliases"> = {
  timeout_ms: variables().toolTimeoutMs,
  concurrency: 4,
  trusted: false,
  writes: [],
  tools: {},
  aliases: {},
};

// Number of connections kept; a run that returns to an older endpoint reconnects.
const KEPT = 32;

export function createGiven(fetch: Fetch, dir: string) {
  const known = new Map<string, Promise<Connection>>();
  const end = async (url: string): Promise<void> => {
    const ending = known.get(url);
    known.delete(url);
    await ending?.then(
      (connection) => connection.close(),
      () => undefined,
    );
  };
  return {
    connect: (url: string, run: string): Promise<Connection> => {
      let found = known.get(url);
      if (found === undefined) {
        known.set(url, (found = find(url, run, fetch, dir)));
        found.catch(() => known.delete(url));
        const [oldest] = known.keys();
        if (known.size > KEPT && oldest !== undefined) void end(oldest);
      }
      return found;
    },
    close: async (): Promise<void> => void (await Promise.all([...known.keys()].map(end))),
  };
}

/** MCP at the address or below it, else the plain endpoint. @throws TOOL_REFUSED, TOOL_DOWN */
async function find(url: string, run: string, fetch: Fetch, dir: string): Promise<Connection> {
  const { connectMcp } = await import("./client.ts");
  const filled = async () => ({ env: {}, headers: {}, oauth: undefined });
  const mcp = (at: string) => connectMcp({ name: GIVEN, spec: { ...UNDECLARED, args: [], url: at }, filled, dir, fetch });
  const base = url.replace(/\/+$/, "");
  const ways = [
    () => mcp(url),
    ...(base.endsWith("/mcp") ? [] : [() => mcp(`${base}/mcp`)]),
    () => connectPlain({ ...UNDECLARED, name: GIVEN, url, filled, fetch }),
  ];
  for (const [tried, way] of ways.entries()) {
    const connection = way();
    try {
      await connection.list({ run, abort: new AbortController().signal });
      return connection;
    } catch (error) {
      await connection.close();
      const { data } = error as ClearedError;
      // A host that does not answer at all will not answer another protocol either.
      const answered = data?.["status"] !== undefined || data?.["why"] === "TOOL_ANSWER" || data?.["why"] === "TOOL_FAILED";
      if (!answered || tried === ways.length - 1) throw error;
    }
  }
  throw new ClearedError("INTERNAL", "No way to an endpoint was tried.");
}
