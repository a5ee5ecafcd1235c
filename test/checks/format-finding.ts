/** A finding as one line, for comparing: `file:line:col CODE message`. */
import { formatAt } from "../../runtime/kernel/errors.ts";
import type { Finding } from "../../runtime/kernel/ports.ts";

export function formatFinding({ at, code, message }: Finding): string {
  return `${formatAt(at)} ${code} ${message}`;
}
