/**
 * Cards (what a person must decide), as stored. A card and its decision are self-contained documents:
 * they can be read without the other tables. Cards of a run are opened in history.ts, in the run's own flush.
 */
import { hash } from "node:crypto";
import { minuteOf } from "../../kernel/day.ts";
import { ClearedError, type WireError } from "../../kernel/errors.ts";
import { canonicalJson } from "../../kernel/canonical.ts";
import type { Card, CardDraft, CardKind, Cards, Change, Decision, Json, Outcome, Released, RunRecord, Step } from "../../kernel/ports.ts";
import { clip } from "../../kernel/text.ts";
import { standing } from "../../rules/answers/mutations.ts";
import type { Database } from "./database.ts";
import { differences, editWords, leavesOf, titleOf } from "../../rules/edits.ts";
import { getFact } from "./facts.ts";

// A proposal in another state waits for its checks or its proposer, not for a person's decision.
const OPEN_CARDS = "decision IS NULL AND (kind != 'proposal' OR json_extract(document, '$.body.state') IN ('ready', 'unproven'))";

interface Row {
  id: number;
  key: string;
  document: string;
  at: number;
  decision: string | null;
}

function toCard(row: Row): Card {
  const draft = JSON.parse(row.document) as CardDraft;
  return {
    ...draft,
    id: row.id,
    name: draft.restated === undefined ? String(row.id) : `${row.id}.${draft.restated.version}`,
    key: row.key,
    at: row.at,
    decision: row.decision === null ? null : (JSON.parse(row.decision) as Decision),
  };
}

/**
 * A key that is already open changes nothing; inside the caller's transaction. The card of a gate where a run waits is always open and names
 * who must decide today, even if an answer that no longer counts had closed it: no run waits on a card that nobody can answer.
 */
export function openCard(database: Database, key: string, card: CardDraft, at: number): void {
  const proposed = getFact(database, `${PROPOSED}${key}`);
  const isOpen = "SELECT 1 FROM cards WHERE id = ? AND decision IS NULL";
  if (proposed !== null && database.get(isOpen, Number(proposed)) !== undefined) return;
  // Decided, and asked again by another run because its import or its decision was undone: a new card beside the old answer. A remark
  // on a statement is made again only if an undo closed it unanswered.
  database.run(
    "UPDATE cards SET key = key || '#' || id WHERE key = ? AND decision IS NOT NULL AND (? IS NULL OR run IS NOT ?)" +
      " AND (key NOT GLOB 'note:*' OR decision ->> 'decision' = 'expired')",
    key,
    card.run,
    card.run,
  );
  const row = database.get<Row>("SELECT * FROM cards WHERE key = ?", key);
  if (row === undefined) {
    const sql = "INSERT INTO cards (key, kind, run, document, at) VALUES (?, ?, ?, ?, ?)";
    database.run(sql, key, card.kind, card.run, JSON.stringify(card), at);
    return;
  }
  if (card.gate === null) return;
  const old = toCard(row);
  const now = old.decision === null ? { ...card, edited: old.edited, said: old.said } : card;
  database.run("UPDATE cards SET decision = NULL, document = ? WHERE id = ?", JSON.stringify(rewritten(old, now)), row.id);
}

/** What a card shows to whoever decides it, by path; of a proposal its commit, and since when its report says the same. */
function shownBy({ kind, title, body, ...card }: CardDraft): Map<string, Json> {
  const { commit, since } = (body ?? {}) as { commit?: string; since?: number | null };
  if (kind === "proposal") return leavesOf(Object.entries({ commit, since }));
  const { calls, edited, fields, otherwise, level, levels, approvals, fixed, state, started_by, brief } = card;
  // Only the sections of the brief are shown, not the time at which it was written.
  const { sections } = (brief ?? {}) as { sections?: Json };
  const who = { level, levels, approvals, state, started_by };
  return leavesOf(Object.entries({ title, body, calls: edited ?? calls, fields, otherwise, fixed, brief: sections, ...who }));
}

/** The name of a card identifies its content: if the content changes, the version in the name rises. `by`: the person who changed it. */
function rewritten(old: CardDraft, now: CardDraft, by?: string): CardDraft {
  // Before its first report a proposal is not shown to anybody.
  const changes = differences(shownBy(old), shownBy(now)).filter(({ from }) => now.kind !== "proposal" || from !== null);
  if (changes.length === 0) return { ...now, restated: old.restated };
  const what = now.kind === "proposal" ? "its report says something else" : editWords(changes);
  return { ...now, restated: { version: (old.restated?.version ?? 1) + 1, by, what: clip(what, 300) } };
}

/** The last change of its content, and the person who made it, if any; null while it is as it was opened. */
export const restatedBy = ({ restated }: CardDraft): string | null =>
  restated === undefined ? null : `changed${restated.by === undefined ? "" : ` by ${restated.by}`}: ${restated.what}`;

/** A decision names the card as its person saw it. @throws CARD_CHANGED when its content has changed since, except by that person */
export function assertNamed(card: Card, name: string, by: string): void {
  const { restated, decision } = card;
  if (decision !== null || restated?.by === by || Number(name.split(".")[1] ?? 1) === (restated?.version ?? 1)) return;
  const next = `Look at it with \`cleared queue show ${card.id}\`, then decide it as ${card.name}`;
  throw new ClearedError(
    "CARD_CHANGED",
    `Card ${name} is now ${card.name}: ${restatedBy(card) ?? "it was never changed"}. Nothing was decided. ${next}.`,
  );
}

/** The gate was answered, or its run canceled, since the run read its signals: opening its card again would lose that decision. */
export function isOvertaken(database: Database, run: string, gate: string | null, seen: number): boolean {
  const since = "status = 'canceled' OR (SELECT count(*) FROM signals WHERE signals.rid = runs.rid AND gate = ?) > ?";
  return gate !== null && database.get(`SELECT 1 FROM runs WHERE id = ? AND (${since})`, run, gate, seen) !== undefined;
}

export function closed(card: number, { decision, by, at, reason }: Decision): ClearedError {
  const said =
    by === "runtime"
      ? `is closed since ${minuteOf(at)} without a decision: ${reason ?? "nothing waits for it"}`
      : `was ${decision} by ${by} on ${minuteOf(at)}`;
  return new ClearedError("CARD_CLOSED", `Card ${card} ${said.replace(/\.$/, "")}.`);
}

export function createCards(database: Database): Cards {
  return {
    open: (key, card, at) => database.write(() => openCard(database, key, card, at)),
    get(id) {
      const row = database.get<Row>("SELECT * FROM cards WHERE id = ?", id);
      return row === undefined ? null : toCard(row);
    },
    list(query = {}) {
      const where = [
        query.open === true ? OPEN_CARDS : query.decided === true ? "decision IS NOT NULL" : "1",
        // SQLite uses the index on proposals only for exactly this text.
        query.kind === "proposal" ? "kind = 'proposal'" : query.kind === undefined ? "1" : "kind = ?",
        query.run === undefined ? "1" : "run = ?",
      ];
      const values = [query.kind === "proposal" ? undefined : query.kind, query.run].filter((value) => value !== undefined);
      const order = query.last === undefined ? "id" : "id DESC";
      const sql = `SELECT * FROM cards WHERE ${where.join(" AND ")} ORDER BY ${order} LIMIT ?`;
      const rows = database.all<Row>(sql, ...values, query.first ?? query.last ?? -1);
      return (query.last === undefined ? rows : rows.reverse()).map(toCard);
    },
    waiting: () => database.get<{ n: number }>(`SELECT count(*) AS n FROM cards WHERE ${OPEN_CARDS}`)?.n ?? 0,
    decide(id, decision) {
      database.write(() => {
        const card = this.get(id);
        if (card === null) throw new ClearedError("CARD_UNKNOWN", `There is no card ${id}. \`cleared queue\` lists the open ones.`);
        if (card.decision !== null) throw closed(id, card.decision);
        // A person's answer is being carried out: the runtime does not close the card meanwhile.
        if (decision.by === "runtime" && getFact(database, `${DECIDING}${id}`) !== null) return;
        database.run("UPDATE cards SET decision = ? WHERE id = ?", JSON.stringify(decision), id);
      });
    },
    restate: (id, { title, body }) => rewrite(database, id, (old) => rewritten(old, { ...old, title, body })),
    revise: (id, { edited, said }) =>
      rewrite(database, id, (old, decision) => {
        if (decision !== null) return old;
        const [was, now] = [titleOf({ ...old, decision }), titleOf({ ...old, edited, decision })];
        // What the run waits for, as it is listed.
        if (was !== now) database.run("UPDATE runs SET waits_for = ? WHERE id = ? AND waits_for = ?", now, old.run, was);
        return rewritten(old, { ...old, edited, said }, said[0]);
      }),
  };
}

function rewrite(database: Database, id: number, change: (old: CardDraft, decision: string | null) => CardDraft): void {
  database.write(() => {
    const row = database.get<Row>("SELECT * FROM cards WHERE id = ?", id);
    if (row === undefined) return;
    const draft = change(JSON.parse(row.document) as CardDraft, row.decision);
    database.run("UPDATE cards SET document = ? WHERE id = ?", JSON.stringify(draft), id);
  });
}

/** Fields of a card that covers no calls. */
export const NOTHING_ASKED = { gate: null, calls: [], level: null, expires: null };

/** What a change releases once it is committed, or null. */
export function toReleased(run: RunRecord, seq: number, index: number, change: Change, doubted = false): Released | null {
  const key = `${run.id}/${seq}/${index}`;
  if (change.op === "emit") return { kind: "event", key, event: change.event, payload: change.payload, doubted };
  if (change.op === "propose") {
    // Trials and dry runs open no proposals.
    if (run.mode !== "live") return null;
    const { op: _, base, evidence, ...draft } = change;
    const from = { run: run.id, step: seq, ...(evidence === null ? {} : { evidence }) };
    const body = { state: "draft", base, draft: { ...draft, from, ...(run.by === undefined ? {} : { starter: run.by }) } };
    return { kind: "card", key, card: { ...NOTHING_ASKED, kind: "proposal", title: change.title, body, run: run.id } };
  }
  if (change.op === "remove") return { kind: "withdrawn", key: `entry:${change.id}` };
  if (change.op !== "review") return null;
  const remark = hash("sha256", canonicalJson([change.title, change.body])).slice(0, 16);
  const again = change.statement === undefined ? key : `note:${change.statement}:${remark}`;
  const { kind, unique, about } = questionOf(change) ?? { kind: "note" as const, unique: again, about: {} };
  return {
    kind: "card",
    key: unique,
    card: {
      kind,
      title: change.title,
      body: { ...about, about: change.body, ...(change.booked === undefined ? {} : { booked: change.booked }) },
      run: run.id,
      ...NOTHING_ASKED,
    },
  };
}

/** What the card is about, and the key that makes it the same card when it is asked again; null for a note. */
function questionOf({
  entry,
  row,
  rows,
}: Extract<Change, { op: "review" }>): { kind: CardKind; unique: string; about: { [key: string]: Json } } | null {
  if (entry !== null) return { kind: "entry", unique: `entry:${entry}`, about: { entry } };
  if (row !== undefined) return { kind: "row", unique: `row:${row.hash}:${row.line}`, about: row };
  if (rows === undefined) return null;
  const { kind, ...about } = rows;
  // One question for all statements of an account: its answer applies to each of them.
  if (rows.kind === "account") return { kind, unique: `${kind}:${canonicalJson(rows.match)}`, about };
  const which = rows.kind === "same" ? rows.question : hash("sha256", rows.ids.join()).slice(0, 16);
  return { kind, unique: `${kind}:${rows.hash}:${which}`, about };
}

/** Asks a person about a run that lost its sandbox repeatedly: an approval lets it continue from its last recorded step. */
export function crashCards(run: RunRecord, { code, message }: WireError): Released[] {
  if (code !== "SANDBOX_CRASHED" || run.mode !== "live") return [];
  const title = `${run.agent} lost its sandbox process repeatedly. Approve to continue the run, reject to leave it.`;
  return [
    { kind: "card", key: `${CRASH}${run.id}`, card: { kind: "note", title, body: { about: { message } }, run: run.id, ...NOTHING_ASKED } },
  ];
}

/** Prefix of the keys of cards about a run that crashed. */
export const CRASH = "crash:";

/** What a run did outside, a line for each act; null when nothing. */
function leftOutside(run: Pick<RunRecord, "mode" | "reason">, steps: readonly Step[]): { stands: string[]; not_verified: string[] } | null {
  // An intent that waits for a called run is not an act of this run: the called run reports its own.
  const isAct = ({ effect, state }: Step) => effect === "external" && (state === "ok" || (state === "intent" && run.reason !== "child"));
  const acts = run.mode === "live" ? steps.filter(isAct) : [];
  if (acts.length === 0) return null;
  const written = ({ changes }: Step) => changes.flatMap((one) => (one.op === "verified" ? [one.write] : []));
  const { stands, not_verified: wrong } = standing(acts.flatMap(written));
  const lineFor = ({ name, params, state }: Step) =>
    `${name} ${params.slice(0, 300)}${state === "ok" ? "" : ": it is unknown whether it happened"}`;
  return { stands, not_verified: [...wrong, ...acts.filter((step) => written(step).length === 0).map(lineFor)] };
}

/** What a canceled run did outside before, as a card and in words; null when nothing. The run does not continue. */
export function leftBy(run: Pick<RunRecord, "id" | "agent" | "mode" | "reason">, steps: readonly Step[], why: string) {
  const left = leftOutside(run, steps);
  if (left === null) return null;
  const title = `${run.agent} was canceled after it had acted outside. Check whether its acts should stay.`;
  const card: CardDraft = { ...NOTHING_ASKED, kind: "note", title, body: { about: { why, ...left } }, run: run.id };
  const says = `${why}. It had acted outside: ${[...left.stands, ...left.not_verified].join("; ")}`;
  return { key: `left:${run.id}`, card, says };
}

/** The metadata of the result as JSON text; for a run that did not complete, also what it did outside. */
export function metaText(run: RunRecord, steps: readonly Step[], end: { outcome?: Outcome; meta?: Json }): string | null {
  const left = end.outcome === "completed" ? null : leftOutside(run, steps);
  const meta = left === null ? (end.meta ?? null) : { ...(end.meta as { [key: string]: Json } | undefined), left };
  return meta === null ? null : JSON.stringify(meta);
}

/** Cards of proposals whose checks have not finished: released by a run, recorded and not checked, or interrupted; oldest first. */
export function unsettledProposals(database: Database): number[] {
  return database
    .all<{ id: number }>(
      "SELECT id FROM cards WHERE decision IS NULL AND kind = 'proposal' AND json_extract(document, '$.body.state') IN ('draft', 'checking') ORDER BY id",
    )
    .map(({ id }) => id);
}

/** Fact: the commit whose books the cards have followed. */
export const FOLLOWED = "cards follow the books of";

/** Prefix of facts, followed by the key of a card: the number of the proposal that its answer became. While that waits, nothing is asked again. */
export const PROPOSED = "proposed by the answer to ";

/** Prefix of facts, followed by the number of a card: an answer to it is being carried out. */
export const DECIDING = "deciding card ";
