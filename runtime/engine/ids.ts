/** Run ids: `run_` + 9 characters of time + 5 of chance, Crockford base32, so that they sort by creation and never collide on one machine. */
import { randomBytes } from "node:crypto";

const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

let lastTime = 0;
let lastTail = 0;

export function newRunId(now: number): string {
  // Within one millisecond the tail counts up, so that ids keep the order of creation.
  if (now <= lastTime) lastTail += 1;
  else [lastTime, lastTail] = [now, randomBytes(4).readUInt32BE() % 2 ** 24];
  return `run_${encode(lastTime, 9)}${encode(lastTail, 5)}`;
}

function encode(value: number, length: number): string {
  let text = "";
  for (let rest = value; text.length < length; rest = Math.floor(rest / 32)) text = (ALPHABET[rest % 32] ?? "0") + text;
  return text;
}
