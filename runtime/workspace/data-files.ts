/**
 * Files agents own: text below data/, nothing else. Paths come from scripts and are not trusted. A file that somebody else changed
 * after the run first touched it is never overwritten: the commit compares with the content seen then.
 */
import { lstatSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { ClearedError } from "../kernel/errors.ts";
import type { DataFiles, PrimitivePorts } from "../kernel/ports.ts";
import { DATA, AUDIT } from "./layout.ts";
import { oddKind, plainFolder } from "./own-folders.ts";
import type { Overlay } from "./overlay.ts";
import { createHash } from "node:crypto";
import { redact } from "../rules/privacy/scan.ts";

const MAX_BYTES = 1024 * 1024;

export function createDataFiles(dir: string, overlay: Overlay): DataFiles {
  return {
    read: async (path) => {
      assertPath(dir, path);
      const own = overlay.files.get(path);
      return own === undefined ? (await overlay.head()).read(path) : own.text;
    },
    write: async (path, text) => {
      assertPath(dir, path);
      if (Buffer.byteLength(text) > MAX_BYTES)
        throw new ClearedError("FILE_TOO_LARGE", `${path} would have more than 1 MiB.`, { at: { file: path } });
      if (text.includes("\0") || !text.isWellFormed())
        throw new ClearedError("FILE_INVALID", `The text for ${path} holds a NUL or half a character; data/ holds text.`, {
          at: { file: path },
        });
      const own = overlay.files.get(path);
      const base = own === undefined ? await (await overlay.head()).blob(path) : own.base;
      overlay.record({ op: "file", path, text, base });
    },
  };
}

/** @throws FILE_INVALID unless the path stays below data/, in letters that are the same file everywhere */
function assertPath(dir: string, path: string): void {
  const parts = path.split("/");
  const plain =
    path.length <= 200 &&
    path.startsWith(DATA) &&
    parts.length > 1 &&
    parts.every((part) => /^[A-Za-z0-9_][A-Za-z0-9_. -]*$/.test(part) && !part.endsWith(".") && !part.endsWith(" "));
  if (!plain) {
    throw new ClearedError(
      "FILE_INVALID",
      `"${path.slice(0, 100)}" is not a path of a data file. Write ${DATA}NAME with letters, digits, "_", "-" and "."; no part begins with a dot.`,
    );
  }
  // A link in the work tree would lead the refresh after the commit out of the folder.
  const found = lstatSync(join(plainFolder(dir, dirname(path)), basename(path)), { throwIfNoEntry: false });
  const odd = found === undefined ? null : oddKind(found);
  if (odd !== null) throw new ClearedError("FILE_INVALID", `${path} is ${odd} and is not used. Move it away.`, { at: { file: path } });
}

/**
 * The audit record: one file a line, `audit/YYYY-MM/DD-<id>.json`, canonical JSON.
 * Two runs or two clones never write the same file, so nothing is merged. Card numbers, keys and the like are hidden.
 * The id is of content and key: a repeat changes nothing. The time is not part of it, as a repeat comes later.
 */
export function createAudit(overlay: Overlay): PrimitivePorts["audit"] {
  return async ({ date, at, agent, run, refs, ...said }, key) => {
    const [subject, text] = [redact(said.subject), redact(said.text)];
    const id = createHash("sha256")
      .update(JSON.stringify([key, agent, subject, text, refs]))
      .digest("hex")
      .slice(0, 16);
    const file = `${AUDIT}${date.slice(0, 7)}/${date.slice(8)}-${id}.json`;
    const own = overlay.files.get(file);
    const base = own === undefined ? await (await overlay.head()).blob(file) : own.base;
    if (base === null && own === undefined)
      overlay.record({ op: "file", path: file, text: `${JSON.stringify({ id, date, at, agent, run, subject, text, refs })}\n`, base });
    return { id, file };
  };
}
