/** Serves the status page of a workspace, and tasks of other agents, on the loopback address. */
import { createTaskServer } from "../a2a/server.ts";
import type { Tasks } from "../app/tasks.ts";
import { type Listening, listen } from "../outside/http.ts";
import type { Clock } from "../kernel/ports.ts";
import { createStatusApp } from "./app.ts";
import type { Facts, Hooks } from "../app/page-facts.ts";

/** @throws PORT_BUSY */
export function serveWeb(
  facts: Facts,
  clock: Clock,
  port: number,
  { hooks, tasks, onError }: { hooks?: Hooks; tasks?: Tasks; onError: (error: unknown) => void },
): Promise<Listening> {
  return listen(createStatusApp(facts, clock, hooks, tasks === undefined ? undefined : createTaskServer(tasks, onError)), port);
}
