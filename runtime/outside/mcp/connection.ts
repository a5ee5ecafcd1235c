/** A tool server as seen by the rest of the runtime, whatever its transport; time limits; and what a failed call means. */
import { ClearedError } from "../../kernel/errors.ts";
import type { Json } from "../../kernel/ports.ts";
import { afterAwake } from "../../kernel/processes.ts";
import { provesRefusal, isUnanswered } from "../../rules/tools/refusal.ts";
import { forPeople } from "./answer.ts";

/** A tool as its server describes it; all of it is untrusted text. */
export interface ListedTool {
  name: string;
  description: string;
  input_schema: Json;
  /** Null if it declares no schema for its answer. */
  output_schema: Json;
  annotations: { readOnlyHint?: boolean | undefined; destructiveHint?: boolean | undefined };
}

export interface CallOptions {
  /** The run's id: the session of the plain HTTP endpoint. */
  run: string;
  /** A write is sent at most once: if its outcome is unknown, that is reported (TOOL_LOST), and nothing is repeated. */
  write: boolean;
  abort: AbortSignal;
  /** Called right before a write is sent; if it throws, nothing is sent. */
  leaving?: (() => void) | undefined;
}

export interface Connection {
  /** @throws TOOL_DOWN, TOOL_TIMEOUT, TOOL_ANSWER, TOOL_REFUSED */
  list(options: { run: string; abort: AbortSignal }): Promise<ListedTool[]>;
  /** The next `list` asks the server again. */
  forget(): void;
  /** @throws TOOL_FAILED with the tool's message, TOOL_DOWN (it did not happen), TOOL_TIMEOUT, TOOL_ANSWER, TOOL_REFUSED; TOOL_LOST for a write */
  call(tool: string, args: Record<string, Json>, options: CallOptions): Promise<Json>;
  close(): Promise<void>;
}

// A tool that reports progress may take its server's timeout times this.
export const PROGRESS = 10;

export function createPatience(ms: number, abort: AbortSignal) {
  const own = new AbortController();
  const last = performance.now() + ms * PROGRESS;
  const give = (within: number) => afterAwake(Math.max(0, within), () => own.abort());
  let timer = give(ms);
  let renewed = false;
  return {
    signal: AbortSignal.any([abort, own.signal]),
    /** Progress: the time starts again, up to the maximum. */
    renew: (): void => {
      renewed = true;
      clearInterval(timer);
      timer = give(Math.min(ms, last - performance.now()));
    },
    /** True if the time limit, not the caller, ended it. */
    late: () => own.signal.aborted,
    /** The error if the time limit or the caller ended it before its answer, else null. */
    fault: (said = ""): ClearedError | null => {
      const late = own.signal.aborted;
      const within = renewed ? `${(ms * PROGRESS) / 1000} s, although it reported progress` : `${ms / 1000} s`;
      const why = late ? `It did not answer within ${within}.${said}` : "The call was given up.";
      return late || abort.aborted ? new ClearedError("TOOL_TIMEOUT", why) : null;
    },
    end: () => clearInterval(timer),
  };
}

/** The ClearedError in an error or its causes: streams wrap what broke them. */
export function clearedIn(error: unknown): ClearedError | null {
  for (let one = error, depth = 0; one instanceof Error && depth < 5; one = one.cause, depth++) if (one instanceof ClearedError) return one;
  return null;
}

/**
 * The meaning of a failure for the caller. TOOL_FAILED is the tool's own statement, TOOL_DOWN and TOOL_REFUSED mean that nothing happened; after
 * anything else a write may have happened. A lost read has changed nothing.
 */
export function meaningOf(error: ClearedError, where: string, write: boolean): ClearedError {
  const message = `${where}: ${forPeople(error.message)}`;
  if (error.code === "OWNER_FENCED" || error.code === "TRUST_CHANGED") return error;
  const sure = ["TOOL_FAILED", "TOOL_DOWN", "TOOL_REFUSED", "SECRET_MISSING"].includes(error.code);
  if (!write || sure)
    return new ClearedError(error.code === "TOOL_LOST" ? "TOOL_DOWN" : error.code, message, { data: error.data, cause: error.cause });
  return new ClearedError("TOOL_LOST", `${message} Whether it happened is not known.`, { data: { ...error.data, why: error.code } });
}

/** The meaning of an HTTP status for a call that was sent. */
export function statusError(status: number, body: string): ClearedError {
  const says = body.trim() === "" ? "" : `: ${forPeople(body)}`;
  const refused = provesRefusal(status, body);
  if (refused && status < 400) {
    return new ClearedError("TOOL_REFUSED", `The server points to another address${says}. Name that address itself.`, { data: { status } });
  }
  const late = status === 408 || status === 504 || isUnanswered(body);
  const code = refused ? "TOOL_DOWN" : late ? "TOOL_TIMEOUT" : "TOOL_ANSWER";
  return new ClearedError(code, `The server answered with HTTP ${status}${says}.`, { data: { status } });
}

/** A tool's own statement that it failed. `refused`: which proves that it did nothing; `told` is the server's, and cannot say so. */
export const toolFailed = (message: string, told: Record<string, unknown>, refused: boolean): ClearedError =>
  new ClearedError("TOOL_FAILED", message, { data: { ...told, refused } });

/** A connection whose code is loaded on first use. */
export function later(make: () => Promise<Connection>): Connection {
  let made: Promise<Connection> | null = null;
  const use = () => (made ??= make());
  return {
    list: async (options) => (await use()).list(options),
    call: async (...call) => (await use()).call(...call),
    forget: () => void made?.then((one) => one.forget()),
    close: async () => (await made)?.close(),
  };
}
