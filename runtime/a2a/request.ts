/** A caller's request and its answer, independent of their encoding. */
import type { Caller } from "../app/callers.ts";
import type { Large } from "../app/task-intake.ts";
import type { Tasks } from "../app/tasks.ts";
import type { Json } from "../kernel/ports.ts";
import type { Fields } from "../rules/tools/shape.ts";
import type { Dialect } from "./wire.ts";

export interface Asked {
  tasks: Tasks;
  caller: Caller;
  dialect: Dialect;
  params: Fields;
  /** Idempotency-Key of the request. */
  key: string | undefined;
  /** Set if the message is not here as it came. */
  large: Large | null;
  /** The address by which this request arrived. */
  url: string;
  /** Aborted when nobody waits for the answer. */
  abort: AbortSignal;
}

/** A value, or the events of a stream. */
export type Answer = { value: Json } | { events: AsyncIterable<Json> };
export type Operation = (asked: Asked) => Promise<Answer>;
