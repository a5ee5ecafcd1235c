/**
 * A request's body as JSON. One that is larger than a message may be is parsed in a thread of its own, so that nobody else waits for it, and only
 * the beginning of its message is returned: what is left out is never acted on (`tooLarge` in app/task-intake.ts).
 */
import { createHash } from "node:crypto";
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { Large } from "../app/task-intake.ts";
import { fromWire, toWire, type WireError } from "../kernel/errors.ts";
import type { Json } from "../kernel/ports.ts";
import { wrong } from "./wire.ts";
import { type Fields, isObject } from "../rules/tools/shape.ts";

export interface Body {
  value: Json;
  /** Null for a message that is complete. */
  large: Large | null;
}

const DEEPEST = 200;
/** Kept of each part that is left out, and of fields beside the message, such as a policy_doc. */
const SHOWN = 1000;
const BESIDE = 524_288;

/** `count`: of all its values. @throws TASK_REQUEST, also for nesting deeper than any later walk could follow */
function parsed(bytes: ArrayBuffer): { value: Json; count: number } {
  let level: Json[];
  try {
    level = [JSON.parse(Buffer.from(bytes).toString("utf8")) as Json];
  } catch {
    throw wrong(-32700, "The body is not JSON.");
  }
  const [value = null] = level;
  let count = 0;
  for (let depth = 0; level.length > 0; depth++) {
    count += level.length;
    if (depth > DEEPEST) throw wrong(-32600, `The body is nested deeper than ${DEEPEST} levels.`);
    level = level.flatMap((one) => (typeof one === "object" && one !== null ? Object.values(one) : []));
  }
  return { value, count };
}

/** `most`: characters in a message's texts and data. @throws TASK_REQUEST */
export async function readBody(bytes: ArrayBuffer, most: number): Promise<Body> {
  if (bytes.byteLength <= most) return shrunk(parsed(bytes), most);
  const mine = waiting.then(() => inThread(bytes, most));
  waiting = mine.catch(() => undefined);
  const answer = await mine;
  if ("error" in answer) throw fromWire(answer.error);
  return answer;
}

type Answer = Body | { error: WireError };

// One at a time: each may need a few hundred megabytes while it is parsed.
let waiting: Promise<unknown> = Promise.resolve();

function inThread(bytes: ArrayBuffer, most: number): Promise<Answer> {
  const file = new URL(`./body-thread${extname(import.meta.url)}`, import.meta.url);
  const thread = new Worker(file, { workerData: { bytes, most }, transferList: [bytes], resourceLimits: { maxOldGenerationSizeMb: 768 } });
  return new Promise((resolve) => {
    const failed = () => resolve({ error: toWire(wrong(-32602, "The body is too large to be read. Send less in one message.")) });
    thread.once("message", resolve).once("error", failed).once("exit", failed);
  });
}

/** The work of the thread. */
export function readAlone(bytes: ArrayBuffer, most: number): Answer {
  try {
    const body = shrunk(parsed(bytes), most);
    if (JSON.stringify(body.value).length > most + BESIDE)
      throw wrong(-32602, `What stands beside the message is larger than ${BESIDE / 1024} KiB; a policy_doc is a few pages.`);
    return body;
  } catch (error) {
    return { error: toWire(error) };
  }
}

/** With only the beginning of a message that has too many characters or values: each value counts as 64 characters. */
function shrunk({ value, count }: { value: Json; count: number }, most: number): Body {
  const message = messageOf(value);
  const parts = message?.["parts"];
  if (message === null || !Array.isArray(parts)) return { value, large: null };
  const texts = parts.map((one) => (isObject(one) && typeof one["text"] === "string" ? one["text"] : JSON.stringify(one)));
  const size = texts.reduce((sum, text) => sum + text.length, 0);
  if (size <= most && count <= most / 64) return { value, large: null };
  message["parts"] = parts.slice(0, 10).map((one, i) => beginning(one, texts[i] ?? ""));
  return { value, large: { size, count, most, digest: createHash("sha256").update(JSON.stringify(texts)).digest("hex") } };
}

/** In `params` for JSON-RPC, at the top level for REST. */
function messageOf(value: Json): Fields | null {
  const params = isObject(value) && isObject(value["params"]) ? value["params"] : value;
  const message = isObject(params) ? params["message"] : undefined;
  return isObject(message) ? message : null;
}

function beginning(part: Json, text: string): Json {
  return text.length <= SHOWN ? part : { text: `${text.slice(0, SHOWN)} ... (${text.length - SHOWN} more characters are left out)` };
}
