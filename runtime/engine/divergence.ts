/** When script and history disagree: are two calls the same, and the message that names both. */
import { type At, ClearedError } from "../kernel/errors.ts";
import type { RunRecord } from "../kernel/ports.ts";
import { canonicalJson } from "../kernel/canonical.ts";
import { clip } from "../kernel/text.ts";

interface Call {
  name: string;
  /** JSON text. */
  params: string;
}

/** Equal name and equal parameters, whatever the order of their keys. */
export function sameCall(recorded: Call, call: Call): boolean {
  return (
    recorded.name === call.name &&
    (recorded.params === call.params || canonicalJson(JSON.parse(recorded.params)) === canonicalJson(JSON.parse(call.params)))
  );
}

/** `actual` null: the script ended instead. */
export function divergence(run: RunRecord, seq: number, recorded: Call, actual: Call | null, at?: At): ClearedError {
  const now = actual === null ? "the script ends here" : `the script now calls ${actual.name}(${clip(actual.params, 200)})`;
  return new ClearedError(
    "HISTORY_DIVERGED",
    `Step ${seq} of ${run.id} was recorded as ${recorded.name}(${clip(recorded.params, 200)}), but ${now}. ` +
      `Resume it on the version it began with (\`cleared runs resume ${run.id} --at <commit>\`), or cancel it (\`cleared runs cancel ${run.id}\`).`,
    { data: { step: seq, recorded, actual }, at },
  );
}
