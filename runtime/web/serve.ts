/** Serves the status page of a workspace, tasks of other agents, and tools for chat clients, on the loopback address. */
import { createTaskServer } from "../a2a/server.ts";
import type { Figures } from "../app/figures.ts";
import type { McpApi } from "../app/mcp-api.ts";
import type { Tasks } from "../app/tasks.ts";
import { type Listening, listen } from "../outside/http.ts";
import type { Clock } from "../kernel/ports.ts";
import { createMcpServer } from "../mcp-server/http.ts";
import { createStatusApp } from "./app.ts";
import type { Facts, Hooks } from "../app/page-facts.ts";

interface Serving {
  hooks?: Hooks;
  tasks?: Tasks;
  mcp?: McpApi;
  figures: () => Figures;
  /** The address to listen on; loopback unless told. */
  host?: string;
  cardUrl?: string | undefined;
  onError: (error: unknown) => void;
}

/** @throws PORT_BUSY */
export function serveWeb(facts: Facts, clock: Clock, port: number, { hooks, tasks, mcp, ...more }: Serving): Promise<Listening> {
  const others = tasks === undefined ? undefined : createTaskServer(tasks, more);
  const clients = tasks === undefined || mcp === undefined ? undefined : createMcpServer(tasks, mcp, more.onError);
  return listen(createStatusApp(facts, clock, hooks, others, clients), port, more.host);
}
