/** Serves the status page of a workspace, tasks of other agents, and tools for chat clients; on the loopback address unless told. */
import { createTaskServer, type TaskServing } from "../a2a/server.ts";
import type { McpApi } from "../app/mcp-api.ts";
import type { Tasks } from "../app/tasks.ts";
import { type Context, isMcp, type Listening, listen } from "../outside/http.ts";
import type { Clock } from "../kernel/ports.ts";
import { createMcpServer } from "../mcp-server/http.ts";
import { createStatusApp } from "./app.ts";
import type { Facts, Hooks } from "../app/page-facts.ts";

type Served = TaskServing & { hooks: Hooks; tasks: Tasks; mcp: McpApi; host: string };

/** @throws PORT_BUSY */
export function serveWeb(facts: Facts, clock: Clock, port: number, { hooks, tasks, mcp, host, ...more }: Served): Promise<Listening> {
  const others = createTaskServer(tasks, more);
  const clients = createMcpServer(tasks, mcp, more.onError);
  const serve = (context: Context) => (isMcp(context) ? clients(context) : others.serve(context));
  return listen(createStatusApp(facts, clock, hooks, { ...others, serve }), port, host);
}
