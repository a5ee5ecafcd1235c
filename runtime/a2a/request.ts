/** What a caller asks for, and what it is answered, apart from how either is spelled. */
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
  /** The message is not here as it came. */
  large: Large | null;
  /** Where this request has reached us. */
  url: string;
  /** Nobody waits for the answer any more. */
  abort: AbortSignal;
}

/** One value, or the events of a stream. */
export type Answer = { value: Json } | { events: AsyncIterable<Json> };
export type Operation = (asked: Asked) => Promise<Answer>;
