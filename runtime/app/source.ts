/** The script that `cleared exec` was given. */
import type { Cause } from "../kernel/ports.ts";

/** A script that is in no commit: `cleared exec` carries its text in the cause, so that even such a run can be resumed or forked. */
export function execSource(cause: Cause): { file: string; text: string; lint: boolean } | null {
  // Only these two are made from a file a person named; any other cause may carry words from outside.
  if (cause.kind !== "exec" && cause.kind !== "fork") return null;
  const detail = cause.detail as { file?: string; text?: string; lint?: boolean } | undefined;
  if (detail?.text === undefined || detail.file === undefined) return null;
  return { file: detail.file, text: detail.text, lint: detail.lint !== false };
}
