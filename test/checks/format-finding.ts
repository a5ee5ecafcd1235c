/** A finding as one line, for comparing: `file:line:col CODE message`. */
import { formatAt } from "../../runtime/errors.ts";
import type { Finding } from "../../runtime/ports.ts";

export function formatFinding({ at, code, message }: Finding): string {
  return `${formatAt(at)} ${code} ${message}`;
}
