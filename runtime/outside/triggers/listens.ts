/** What a header says about its triggers. */
import type { Header } from "../../scripts/header.ts";
import { IMPORT } from "../../workspace/layout.ts";

export function listensTo(header: Header | null, trigger: string): header is Header {
  return header !== null && (header.trigger as readonly string[]).includes(trigger);
}

/** The folder an agent watches, with one slash at its end. */
export function watchedFolder(header: Header): string {
  return `${(header.watch ?? IMPORT).replace(/\/+$/, "")}/`;
}
