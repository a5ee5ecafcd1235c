/**
 * The audit record: one file a line, `audit/YYYY-MM/DD-<id>.json`, canonical JSON.
 * Two runs or two clones never write the same file, so nothing is merged. Card numbers, keys and the like are hidden.
 */
import { createHash } from "node:crypto";
import { redact } from "../rules/privacy/redact.ts";
import type { PrimitivePorts } from "../kernel/ports.ts";
import { AUDIT } from "./layout.ts";
import type { Overlay } from "./overlay.ts";

/** The id is of content and key: a repeat changes nothing. The time is not part of it, as a repeat comes later. */
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
