/**
 * What a step did to its run, in words: the state it entered, the verdict, who decided, what a write changed. `cleared runs show` and the
 * run's page use the same words. Texts come from tools and people: whoever prints them must escape them.
 */
import { shortJson } from "../kernel/text.ts";
import { type Fields, isObject } from "../rules/tools/shape.ts";
import type { Card, Change, Json, RunRecord, State, Step, Verdict, VerifiedWrite } from "../kernel/ports.ts";

export interface Note {
  tone: "good" | "attention" | "bad" | "quiet";
  text: string;
}

export interface Told {
  /** The states the step entered, in order. */
  states: State[];
  notes: Note[];
}

/** cards: those of the run. time: formats a time. */
export function toldBy(step: Pick<Step, "seq" | "changes">, cards: readonly Card[], time: (ms: number) => string): Told {
  const states = step.changes.flatMap((change) => (change.op === "entered" ? [change.state] : []));
  const notes = step.changes.flatMap((change): Note[] => {
    if (change.op === "verdict") return verdictNotes(change.verdict);
    if (change.op === "verified") return writeNotes(change.write);
    if (change.op !== "decided") return [];
    return [decidedNote(change, cards.find((card) => card.gate?.startsWith(`gate_${step.seq}_`) && card.decision !== null) ?? null, time)];
  });
  return { states, notes };
}

function verdictNotes(verdict: Verdict): Note[] {
  const people = verdict.approvals > 1 ? `${verdict.approvals} people` : "";
  const who = [verdict.levels.join(" and ") || (verdict.level ?? ""), people, verdict.distinct_from_requester ? "not the requester" : ""];
  const asked = who.filter((one) => one !== "").join(", ");
  const tone = verdict.passed ? "good" : verdict.blocked ? "bad" : "attention";
  return [
    { tone, text: `verdict ${verdict.verdict}${asked === "" ? "" : ` (${asked})`}: ${verdict.summary}` },
    ...verdict.triggered.map((one) => ({ tone: "quiet" as const, text: `${one.rule}: ${one.description || one.action} (${one.source})` })),
    ...verdict.indeterminate.map((one) => ({
      tone: "attention" as const,
      text: `${one.rule}: cannot be decided without ${one.missing.join(", ")}`,
    })),
  ];
}

function decidedNote(change: Extract<Change, { op: "decided" }>, card: Card | null, time: (ms: number) => string): Note {
  const decided = card?.decision ?? null;
  const people = change.people ?? [{ by: change.by, at: decided?.at, ...(change.self === undefined ? {} : { self: change.self }) }];
  const named = people.map(
    ({ by, at, self }) => `${by}${at === undefined ? "" : `, ${time(at)}`}${self === true ? " (their own request)" : ""}`,
  );
  const level = card === null ? "" : (card.levels?.join(" and ") ?? card.level ?? "");
  const more = [level === "" ? "" : `level ${level}`, decided?.reason === undefined ? "" : `“${decided.reason}”`].filter(
    (one) => one !== "",
  );
  return {
    tone: change.decision === "rejected" ? "bad" : "good",
    text: `${change.decision === "edited" ? "approved with a change" : change.decision} by ${named.join(" and ")}${more.length === 0 ? "" : `; ${more.join("; ")}`}`,
  };
}

// A record of a tool may have hundreds of fields; expected ones come first.
const FIELDS = 12;

function writeNotes(write: VerifiedWrite): Note[] {
  const { status, tool, expected, before, after, diff } = write;
  const tone = status === "VERIFIED" ? "good" : status === "UNVERIFIABLE" ? "attention" : "bad";
  const changed = Object.keys(recordOf(after)).filter(
    (key) => JSON.stringify(recordOf(before)[key]) !== JSON.stringify(recordOf(after)[key]),
  );
  // A write that was not verified has no other values than those that were read.
  const proved = status === "VERIFIED" ? expected : {};
  const fields = [...new Set([...Object.keys(diff), ...Object.keys(proved), ...changed])].slice(0, FIELDS);
  return [
    { tone, text: `${status} ${tool}${write.read === null ? "" : `, read back with ${write.read.tool}`}` },
    ...fields.map((key): Note => {
      const wrong = Object.hasOwn(diff, key) ? diff[key] : undefined;
      if (wrong !== undefined)
        return { tone: "bad", text: `${key}: expected ${shortJson(wrong.expected, 80)}, is ${shortJson(wrong.actual, 80)}` };
      const [was, is] = [recordOf(before)[key], recordOf(after)[key] ?? proved[key]];
      const same = JSON.stringify(was) === JSON.stringify(is);
      return {
        tone: "quiet",
        text: `${key}: ${before === null || same ? shortJson(is, 80) : `${shortJson(was, 80)} -> ${shortJson(is, 80)}`}`,
      };
    }),
  ];
}

const recordOf = (value: Json): Fields => (isObject(value) ? value : {});

/** Number of outside acts without verification: those of plugins. */
export function actsUnread(steps: readonly Pick<Step, "effect" | "result" | "changes">[]): number {
  const isUnread = ({ effect, result, changes }: Pick<Step, "effect" | "result" | "changes">) =>
    effect === "external" && result !== null && !changes.some(({ op }) => op === "verified");
  return steps.filter(isUnread).length;
}

/** What a run is about, on one line: the `summary` of its result, else its input, else its cause. Empty if none of them has anything. */
export function summaryOf({ result, input, cause, meta }: Pick<RunRecord, "result" | "input" | "cause" | "meta">): string {
  const { summary } = recordOf(result);
  if (typeof summary === "string" && summary.trim() !== "") return summary.replace(/\s+/g, " ").trim();
  const given = Object.entries(recordOf(input)).filter(([, value]) => value !== null && typeof value !== "object");
  const isOld = recordOf(meta)["edited"] === true ? " (before the edit)" : "";
  if (given.length > 0) return given.map(([key, value]) => `${key}=${String(value)}`.replace(/\s+/g, " ")).join(", ") + isOld;
  return causeDetail(cause);
}

const HASH = /^[0-9a-f]{64}$/;

/** The words in a cause's detail: for {"files":["a.csv"],"again":[]} the names of the files. */
export function causeDetail({ detail }: RunRecord["cause"]): string {
  if (detail === undefined || detail === null) return "";
  if (typeof detail !== "object") return String(detail);
  return Object.values(detail)
    .flat()
    .filter((each) => typeof each === "string" && !HASH.test(each))
    .join(", ");
}

/** What each answer to a refused row or file does. */
export function rowAnswers({ body }: Pick<Card, "body">): { approve: string; reject: string } {
  const { about } = body as { about?: { dialect?: string; code?: string } | null };
  const dealtWith =
    about?.code === "CONFIG_INVALID"
      ? "nothing, before config.yaml is corrected and the file is imported again, which closes this card"
      : "it is dealt with: it is not booked, and not asked about again";
  return {
    approve: about?.dialect === undefined ? dealtWith : "files like this are read by the dialect shown here from now on",
    reject: "it stays out of the books, and is not asked about again",
  };
}
