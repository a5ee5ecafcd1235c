/**
 * Reads and writes a proposal in git: the commit with its files, and the commits of its state. Text may come from another clone: anything
 * not exactly of our format makes the proposal unreadable, with the reason, and nothing else.
 */
import { z } from "zod";
import { ClearedError } from "../../kernel/errors.ts";
import { HARMS } from "../evidence/words.ts";
import type { Decision, Objects } from "../../kernel/ports.ts";
import { readYaml, writeYaml } from "../../scripts/yaml-text.ts";
import type { DiskCache } from "../../scripts/disk-cache.ts";
import { composeMessage, parseTrailers } from "../../workspace/git/past.ts";
import { WRITTEN_BYTES } from "../../workspace/layout.ts";
import { SIGNATURE } from "./author.ts";
import { tooMany, wrongForm } from "./paths.ts";
import { type AskedFor, askedSchema, PROPOSAL_STATES, type Proposal, type ProposalDraft, type Report } from "../proposal-types.ts";

const commit = z.string().regex(/^[0-9a-f]{40,64}$/);

/** proposal.yaml of a state commit. `by` and `at`: who set this state, and when (ms). */
const lifeSchema = z.strictObject({
  state: z.enum(PROPOSAL_STATES),
  why: z.string().max(4000).nullable(),
  by: z.string().max(200),
  at: z.int(),
  applied: commit.nullable(),
  reverted: commit.nullable(),
});
export type ProposalStatusRecord = z.output<typeof lifeSchema>;

const decisionSchema = z.looseObject({
  card: z.int(),
  decision: z.enum(["approved", "rejected", "expired", "edited"]),
  by: z.string().max(200),
  at: z.int(),
  gate: z.string().max(500).optional(),
  reason: z.string().max(20_000).optional(),
  despite: z.string().max(2000).optional(),
  signature: z.string().max(2000).optional(),
});

const place = z.looseObject({ file: z.string(), line: z.int().optional(), col: z.int().optional() });
const finding = z.looseObject({ code: z.string(), at: place, message: z.string(), why: z.string(), todo: z.string() });
const amount = z.string().regex(/^-?\d{1,40}(?:\.\d{1,18})?$/);
const money = z.array(
  z.looseObject({ account: z.string(), month: z.string(), currency: z.string(), was: z.string(), now: z.string(), difference: z.string() }),
);
const counted = z.looseObject({ count: z.int(), sum: amount.nullable() });
const act = z.looseObject({
  kind: z.enum(["call", "notice", "question", "review", "event"]),
  what: z.string(),
  was: counted,
  now: counted,
  differ: z.int(),
  fields: z.array(z.looseObject({ key: z.string(), count: z.int(), says: z.string() })),
});
const reportSchema = z.looseObject({
  on: commit,
  at: z.number(),
  checks: z.array(
    z.looseObject({
      check: z.string(),
      status: z.enum(["ok", "failed", "skipped"]),
      says: z.string(),
      findings: z.array(finding),
      ms: z.number(),
    }),
  ),
  widening: z.array(z.looseObject({ kind: z.string(), text: z.string(), at: place.nullable() })),
  backtests: z.array(
    z.looseObject({
      agent: z.string(),
      code: z.string(),
      runs: z.int(),
      days: z.number().nullable(),
      counts: z.record(z.string(), z.int()),
      money,
      net: z.record(z.string(), z.string()),
      moves: z.array(z.looseObject({ from: z.string(), to: z.string(), entries: z.int(), amount: z.string(), currency: z.string() })),
      entries: z.int().optional(),
      acts: z.array(act).optional(),
      harm: z.array(z.looseObject({ kind: z.enum(HARMS), count: z.int(), about: z.string() })).optional(),
      facts: z.array(z.looseObject({ name: z.string(), runs: z.int() })).optional(),
      differences: z.array(
        z.looseObject({
          ...{ run: z.string(), class: z.string(), why: z.array(z.string()), money, entries: z.array(z.unknown()) },
          files: z.array(z.looseObject({ path: z.string(), kind: z.string(), says: z.array(z.string()) })).optional(),
        }),
      ),
      waiting: z.array(z.looseObject({ run: z.string(), moves: z.boolean(), why: z.string().nullable() })),
    }),
  ),
  cases: z.looseObject({ passed: z.int(), failed: z.array(z.string()), open: z.array(z.string()), fixed: z.array(z.string()) }),
  dryRun: z.array(z.looseObject({ agent: z.string(), lines: z.array(z.string()) })),
  freezes: z.record(z.string(), z.string()),
  mended: z.array(z.string()).optional(),
  changes: z.array(z.looseObject({ kind: z.string(), text: z.string(), at: place.nullable() })).optional(),
  unproven: z.array(z.string()).optional(),
  elsewhere: z.array(z.string()).optional(),
  vouched: z.record(z.string(), decisionSchema).optional(),
  rests: z.looseObject({ people: z.string(), runs: z.string() }).optional(),
  since: z.number().optional(),
  level: z.string().nullable(),
  levels: z.array(z.string()),
  approvals: z.int(),
});

// A report of a large backtest is some 100 kB, a frozen case some 20 kB.
const MAX_TEXT = 4_000_000;
const MAX_SIGNS = 250_000;

/** @throws PROPOSAL_UNKNOWN with what is wrong with the text */
function parseText<S extends z.ZodType>(file: string, text: string, schema: S, cache: DiskCache): z.output<S> {
  const source = { file, code: "PROPOSAL_UNKNOWN" as const, maxLength: MAX_TEXT, maxSigns: MAX_SIGNS, written: true as const, cache };
  const parsed = schema.safeParse(readYaml(text, source).value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw unreadable(`${file}: ${issue?.path.join(".")}: ${issue?.message}`);
}

const unreadable = (why: string): ClearedError => new ClearedError("PROPOSAL_UNKNOWN", why);
const missing = (why: string): ClearedError => new ClearedError("GIT_FAILED", why);

/** YAML of a value; its parts are copied first, because the same object twice would be written as a reference. */
const toYaml = (value: unknown): string => writeYaml(JSON.parse(JSON.stringify(value)));

type StatusFiles = Map<string, { mode: string; text: string } | null>;
/** The files of a state commit. `first`: the number of the first of these decisions. */
export function statusFiles(life: ProposalStatusRecord, report: Report | null, decisions: readonly Decision[], first = 1): StatusFiles {
  const values: [string, unknown][] = [
    ["proposal.yaml", life],
    ...(report === null ? [] : [["report.yaml", report] satisfies [string, Report]]),
    ...decisions.map((one, i): [string, Decision] => [`decisions/${first + i}.yaml`, one]),
  ];
  return new Map(values.map(([path, value]) => [path, { mode: "100644", text: toYaml(value) }]));
}

/** The message of the commit that holds the proposal's files. */
export function changeMessage(id: string, { title, reason, by, despite, from, starter, asked }: ProposalDraft, signature?: string): string {
  return composeMessage(`${title}\n\n${reason}`, {
    Proposal: id,
    "Proposed-by": by,
    ...(despite === undefined ? {} : { Despite: despite }),
    ...(from === undefined ? {} : { "Asked-in": JSON.stringify(from) }),
    ...(starter === undefined ? {} : { "Started-by": starter }),
    ...(asked === undefined ? {} : { "Asked-for": JSON.stringify(asked) }),
    ...(signature === undefined ? {} : { [SIGNATURE]: signature }),
  });
}

/** A proposal as its refs have it, without its number and what the branch says. */
export type Kept = Omit<Proposal, "number">;

/**
 * A proposal from its two commits; without a state commit it has not been checked yet.
 * @throws PROPOSAL_UNKNOWN, GIT_FAILED for text not written by Cleared
 */
export async function readProposal(
  objects: Objects,
  id: string,
  refs: { change?: string; state?: string },
  cache: DiskCache,
): Promise<Kept> {
  const change = await objects.commit(refs.change || "-");
  if (change === null || refs.change === undefined) throw missing("its change is not a commit of this repository");
  const [base, ...others] = change.parents;
  if (base === undefined || others.length > 0) throw unreadable("its change has not exactly one parent");
  const trailers = parseTrailers(change.message);
  const by = trailers["Proposed-by"];
  if (trailers["Proposal"] !== id || by === undefined)
    throw unreadable("its change does not carry its trailers Proposal: and Proposed-by:");
  const changed = await objects.changes(base, refs.change);
  const many = tooMany(changed.length);
  if (many !== null) throw unreadable(many);
  const odd = changed.find(({ path, now }) => wrongForm(path) !== null || (now !== null && now.mode !== "100644" && now.mode !== "100755"));
  if (odd !== undefined) throw unreadable(`its change holds "${odd.path.slice(0, 200)}", which is not a plain file of a workspace`);
  for (const { path, now } of changed) if (now !== null) await objects.find(now.oid, WRITTEN_BYTES, path);
  const [title = "", ...rest] = change.message.trimEnd().split(/\n{2,}/);
  const kept: Kept = {
    id,
    title: title.replace(/\s+/g, " "),
    reason: rest.slice(0, -1).join("\n\n"),
    ...{ by, starter: trailers["Started-by"] ?? null, signature: trailers[SIGNATURE] ?? null },
    at: change.at,
    since: change.at,
    base,
    commit: refs.change,
    files: changed.map(({ path, was, now }) => ({ path, change: was === null ? "added" : now === null ? "removed" : "changed" })),
    state: "draft",
    why: null,
    despite: trailers["Despite"] ?? null,
    asked: askedIn(trailers["Asked-for"]),
    report: null,
    decisions: [],
    applied: null,
    reverted: null,
  };
  return refs.state === undefined ? kept : { ...kept, ...(await readLife(objects, refs.state, cache)) };
}

/** @throws PROPOSAL_UNKNOWN for another format: without its claims a change would be trusted too much */
function askedIn(trailer: string | undefined): AskedFor | null {
  if (trailer === undefined) return null;
  try {
    return askedSchema.parse(JSON.parse(trailer));
  } catch {
    throw unreadable("its trailer Asked-for: is not what a request leaves");
  }
}

/** The contents of a state commit. @throws PROPOSAL_UNKNOWN, GIT_FAILED */
async function readLife(objects: Objects, state: string, cache: DiskCache) {
  if ((await objects.commit(state || "-")) === null) throw missing("its state is not a commit of this repository");
  const tree = objects.tree(state);
  const { by: _, at: since, ...life } = parseText("proposal.yaml", (await tree.read("proposal.yaml")) ?? "", lifeSchema, cache);
  const report = await tree.read("report.yaml");
  const texts: [path: string, text: string][] = [];
  for (const { path } of (await tree.list("decisions")).sort((a, b) => numberOf(a.path) - numberOf(b.path))) {
    texts.push([path, (await tree.read(path)) ?? ""]);
    if (texts.reduce((sum, [, { length }]) => sum + length, 0) > MAX_TEXT)
      throw unreadable(`its decisions have more than ${MAX_TEXT} characters`);
  }
  const decisions = texts.map(([path, text]) => parseText(path, text, decisionSchema, cache) as unknown as Decision);
  return {
    ...life,
    since,
    report: report === null ? null : (parseText("report.yaml", report, reportSchema, cache) as unknown as Report),
    decisions,
  };
}

const numberOf = (path: string): number => Number(/(\d+)\.yaml$/.exec(path)?.[1] ?? 0);
