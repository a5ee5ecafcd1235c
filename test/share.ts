/** Which of a long list a run of the tests tries: a fixed, seeded share; all of them with CLEARED_LONG=1 (`npm run test:long`). */
import { createHash } from "node:crypto";

/** One of `of`, chosen by name, so that a list that grows keeps what was tried. Never none. */
export function share<T>(all: readonly T[], of: number, name: (one: T) => string): T[] {
  if (process.env["CLEARED_LONG"] === "1") return [...all];
  const draw = (one: T) =>
    createHash("sha256")
      .update(`1 ${name(one)}`)
      .digest()
      .readUInt32BE(0);
  return [...all].sort((a, b) => draw(a) - draw(b)).slice(0, Math.ceil(all.length / of));
}
