/** A run's changes outside, returned with its answer: the mutation log (spec/worker.md 14, R) in text and JSON, and the run's metadata (18, R). */
import type { Json, Verdict, VerifiedWrite } from "../../kernel/ports.ts";
import { jsonOf } from "../../kernel/text.ts";

export function mutationLog(writes: readonly VerifiedWrite[]) {
  const count = (...words: VerifiedWrite["status"][]): number => writes.filter((one) => words.includes(one.status)).length;
  const verified = count("VERIFIED");
  return {
    writes: writes.length,
    verified,
    failed: count("MISMATCH", "WRITE_FAILED"),
    unverifiable: count("UNVERIFIABLE"),
    /** True only when every write is verified; null without writes. */
    mutation_verified: writes.length === 0 ? null : verified === writes.length,
    log: [...writes],
  };
}

/** The log for people. */
export function mutationText(writes: readonly VerifiedWrite[]): string {
  const log = mutationLog(writes);
  return [
    "## Mutation Verification Log",
    `Writes executed: ${log.writes} | Verified: ${log.verified} | Failed: ${log.failed} | Unverifiable: ${log.unverifiable}`,
    ...writes.flatMap((one, i) => [
      `${i + 1}. [${one.status}] ${callText(one.tool, one.params)} -> ${answerText(one.answer)}`,
      `   Read-back: ${readBack(one)}`,
    ]),
  ].join("\n");
}

function readBack(one: VerifiedWrite): string {
  if (one.read === null) return "none";
  const wrong = Object.entries(one.diff).map(
    ([field, { expected, actual }]) => `${field}: ${brief(expected)} expected, ${brief(actual)} found`,
  );
  const found = Object.entries(one.status === "VERIFIED" ? one.expected : ((one.after ?? {}) as { [name: string]: Json }));
  const seen = wrong.length > 0 ? wrong : found.map(([field, value]) => `${field}=${brief(value)}`);
  return `${callText(one.read.tool, one.read.params)}${seen.length === 0 ? "" : ` -> ${seen.join(", ")}`}`;
}

/** What a run has left outside, a line for each write: verified writes, and those that differ or could not be checked. */
export function standing(writes: readonly VerifiedWrite[]): { stands: string[]; not_verified: string[] } {
  const line = (one: VerifiedWrite): string => {
    const wrong = Object.entries(one.diff).map(([field, { expected, actual }]) => `${field} is ${brief(actual)}, not ${brief(expected)}`);
    const details = one.status === "VERIFIED" ? [] : one.status === "MISMATCH" ? wrong : [...wrong, one.answer];
    return `${one.status} ${callText(one.tool, one.params)}${details.length === 0 ? "" : `: ${details.join(", ")}`}`;
  };
  const verified = (one: VerifiedWrite): boolean => one.status === "VERIFIED";
  return { stands: writes.filter(verified).map(line), not_verified: writes.filter((one) => !verified(one)).map(line) };
}

const cut = (text: string, at: number): string => {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > at ? `${line.slice(0, at - 3)}...` : line;
};

/** A scalar cut to 40 characters, the kind of anything else (spec/worker.md 14). */
const brief = (value: Json): string =>
  Array.isArray(value) ? "list" : typeof value === "object" && value !== null ? "object" : cut(String(value), 40);

/** `pay_invoice(invoice_id=INV-1, amount=5.00)`: the first four parameters. */
function callText(tool: string, params: Json): string {
  const all = typeof params === "object" && params !== null && !Array.isArray(params) ? Object.entries(params) : [];
  const shown = all.slice(0, 4).map(([name, value]) => `${name}=${brief(value)}`);
  return `${tool}(${[...shown, ...(all.length > 4 ? ["..."] : [])].join(", ")})`;
}

const TELLING = ["status", "state", "id", "result", "message", "success"];

/** The tool's answer in brief: its error, else the most telling field, else the first. `answer` is JSON or text, perhaps cut off. */
export function answerText(answer: string): string {
  const value = jsonOf(answer);
  // Cut off, or plain text: shown as it is.
  if (value === undefined) return cut(answer, 120) || "ok, empty";
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value === null ? "ok, empty" : cut(answer, 120);
  const known = Object.entries(value).filter(([, one]) => one !== null);
  const error = known.find(([name]) => name === "error");
  if (error !== undefined) return `error: ${cut(typeof error[1] === "string" ? error[1] : JSON.stringify(error[1]), 80)}`;
  const word = TELLING.find((name) => known.some(([one]) => one === name));
  const [name, one] = known.find(([each]) => each === word) ?? known[0] ?? ["", null];
  return one === null ? "ok, empty" : cut(`${name}=${typeof one === "object" ? JSON.stringify(one) : String(one)}`, 120);
}

export type RunMetadata = ReturnType<typeof runMetadata>;

export interface Approval {
  by: string;
  /** ms */
  at: number;
  level?: string | null;
  self?: boolean;
}

export function runMetadata(run: {
  process: string;
  verdict: Verdict | null;
  writes: readonly VerifiedWrite[];
  duration_ms: number;
  approvals: readonly Approval[];
  /** Who rejected it, and why, as a sentence. */
  rejected: string | null;
  /** It ran to its end and was not canceled. */
  completed?: boolean;
}) {
  const { process, verdict, writes, duration_ms, approvals, rejected, completed = true } = run;
  const people = new Set(approvals.map((one) => one.by)).size;
  const approved = verdict?.blocked !== true && people >= Math.max(1, verdict?.approvals ?? 1);
  const judged = verdict?.passed === true ? "PASSED" : approved ? "APPROVED" : verdict === null ? "NOT EVALUATED" : "FAILED";
  const { verified } = mutationLog(writes);
  return {
    process,
    /** APPROVED also where no policy was evaluated and people approved; REJECTED whenever a person rejected. */
    policy: rejected === null ? judged : ("REJECTED" as const),
    writes: { n: writes.length, verified, ...(verified === writes.length && completed ? {} : standing(writes)) },
    duration_ms,
    approvals: [...approvals],
    ...(rejected === null ? {} : { rejected }),
  };
}

/**
 * `[Process: invoice_reconciliation | Policy: APPROVED by Ann | Writes: 1, verified: 1 | 812 ms]`, appended to prose only. `unread`: acts
 * outside without a read-back, such as those of plugins.
 */
export function footer(run: RunMetadata, unread = 0): string {
  const people = [...new Set(run.approvals.map(({ by }) => by))].join(", ");
  const detail = run.rejected !== undefined ? `: ${cut(run.rejected, 300)}` : run.policy === "APPROVED" ? ` by ${people}` : "";
  const writes = `Writes: ${run.writes.n + unread}, verified: ${run.writes.verified}${unread === 0 ? "" : `, not read back: ${unread}`}`;
  return `[Process: ${run.process} | Policy: ${run.policy}${detail} | ${writes} | ${run.duration_ms} ms]`;
}
