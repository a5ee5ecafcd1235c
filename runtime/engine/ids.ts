/**
 * Run ids: `run_` + 9 characters of time + 5 of chance, Crockford base32, so that they sort by creation and never collide on one machine.
 * None looks like a number that the privacy guard hides: a model, a notice or a person could not name the run.
 */
import { randomUUID } from "node:crypto";
import { ALL, redact } from "../rules/privacy/scan.ts";

const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

// Changes every character of the tail but the first, and keeps the order.
const STEP = 32 ** 3 + 32 ** 2 + 32 + 1;

let lastTime = 0;
let lastTail = 0;

export function newRunId(now: number): string {
  // Within one millisecond the tail counts up, so that ids keep the order of creation.
  if (now <= lastTime) lastTail += 1;
  // The first 24 bits of a UUID are chance, and Node draws it for many at once.
  else [lastTime, lastTail] = [now, Number.parseInt(randomUUID().slice(0, 6), 16)];
  for (; ; lastTail += STEP) {
    const id = `run_${encode(lastTime, 9)}${encode(lastTail, 5)}`;
    if (redact(id, ALL) === id) return id;
  }
}

function encode(value: number, length: number): string {
  let text = "";
  for (let rest = value; text.length < length; rest = Math.floor(rest / 32)) text = (ALPHABET[rest % 32] ?? "0") + text;
  return text;
}
