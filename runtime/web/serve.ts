/** Serves the status page of a workspace on the loopback address. */
import { type Listening, listen } from "../http.ts";
import type { Clock } from "../ports.ts";
import { type Hooks, createStatusApp } from "./app.ts";
import type { Facts } from "./facts.ts";

/** @throws PORT_BUSY */
export function serveWeb(facts: Facts, clock: Clock, port: number, hooks?: Hooks): Promise<Listening> {
  return listen(createStatusApp(facts, clock, hooks), port);
}
