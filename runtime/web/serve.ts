/** Serves the status page of a workspace on the loopback address. */
import { type Listening, listen } from "../outside/http.ts";
import type { Clock } from "../kernel/ports.ts";
import { createStatusApp } from "./app.ts";
import type { Facts, Hooks } from "../app/page-facts.ts";

/** @throws PORT_BUSY */
export function serveWeb(facts: Facts, clock: Clock, port: number, hooks?: Hooks): Promise<Listening> {
  return listen(createStatusApp(facts, clock, hooks), port);
}
