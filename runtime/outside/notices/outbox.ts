/**
 * The outbox: a table of the run store with one row per notice, and the alerts caused by notices. A row is written before anything is sent, and
 * moves only forward: queued -> (sending, for mail) -> sent; or -> doubt or dead, each with an alert card whose answer moves it on.
 */
import { createHash } from "node:crypto";
import { NOTHING_ASKED, openCard } from "../../engine/store/cards.ts";
import type { Database } from "../../engine/store/database.ts";
import { ALERT } from "../../engine/store/card-queries.ts";
import { type NoticeRow, addNotice, answeredNotices, moveNotice } from "../../engine/store/notices.ts";
import { ClearedError, didYouMean } from "../../kernel/errors.ts";
import { groupsOf } from "../../rules/privacy/judge.ts";
import { redact, scan } from "../../rules/privacy/scan.ts";
import type { Decision, Json, Notice, Notices, NoticeState, Once } from "../../kernel/ports.ts";
import { oneLine } from "../../kernel/text.ts";
import type { Config, NoticeChannels } from "../../workspace/settings/config.ts";

/** An outgoing notice. The receiver deduplicates by `id`; `at` (ms) is the time of writing, the same for each attempt. */
export interface Letter extends Notice {
  id: string;
  at: number;
  /** Page of its run, or null; opening it changes nothing. */
  link: string | null;
}

/**
 * The result of an attempt. `retry`: certainly not delivered, may succeed later. `never`: certainly not delivered, a repeat would fail too.
 * `unknown`: it may have been delivered.
 */
export type Delivered = { status: "sent" } | { status: "retry" | "never" | "unknown"; why: string };

// For a reader: one line, not a page of HTML.
export const whyOf = (error: unknown): string => oneLine(error instanceof Error ? error.message : String(error));

const ADDRESS = /^[^\s@<>,;"]+@[^\s@<>,;"]+$/;

/**
 * The id for deduplication: from the key and the run that wrote it first, so that two workspaces never share one, and from text and recipient:
 * the step that requested the notice records the id, which shows if the row was changed.
 */
export function noticeId({ key, run, to, subject, text }: Pick<Notice, "key" | "run" | "to" | "subject" | "text">): string {
  return `notice_${createHash("sha256").update([run, key, to, subject, text].join("\n")).digest("hex").slice(0, 24)}`;
}

/** The sending half for a run's view: quiet hours and the default channel are those of the run's commit. */
export function createOutbox(database: Database, channels: NoticeChannels, config: Config): Pick<Notices, "send"> {
  const { quiet_hours: quiet, default: fallback } = config.notify;
  return {
    async send(given, { now, live }) {
      // Card numbers, keys and the like are masked before anything is stored.
      const said = `${given.subject}\n${given.text}`;
      const barred = scan(said, groupsOf(["refuse"], "outbound", config.privacy))[0];
      if (barred !== undefined)
        throw new ClearedError(
          "PRIVACY_REFUSED",
          `The notice holds ${barred.kind}, which config.yaml privacy: does not let be sent. Leave it out.`,
        );
      const hidden = groupsOf(["redact"], "outbound", config.privacy);
      const [key, subject, text] = [given.key, given.subject, given.text].map((one) => redact(one, hidden)) as [string, string, string];
      const notice = { ...given, key, subject, text };
      const channel = channelOf(notice, channels, fallback);
      const hours = quiet === undefined ? null : { ...quiet, timezone: quiet.timezone ?? config.timezone };
      // A card on the page disturbs nobody.
      const due = channel === "page" || notice.urgent === true ? now : nextOpen(now, hours);
      const state: NoticeState = channel === "page" ? "sent" : "queued";
      if (!live) return { notice: noticeId(notice), channel, state, due };
      return database.write(() => {
        const payload = JSON.stringify(notice);
        const { row, isNew } = addNotice(database, { key: notice.key, channel, payload, state, due_at: due, at: now });
        if (isNew && channel === "page") openNote(database, notice, now);
        return { notice: noticeId(JSON.parse(row.payload) as Notice), channel: row.channel, state: row.state, due: row.due_at };
      });
    },
  };
}

/** @throws NOTICE_CHANNEL, NOTICE_ADDRESS */
function channelOf({ channel, to }: Notice, { smtp, webhooks }: NoticeChannels, fallback: string): string {
  const known = ["page", ...(smtp === undefined ? [] : ["smtp"]), ...Object.keys(webhooks)];
  const chosen = channel ?? fallback;
  if (!known.includes(chosen)) {
    throw new ClearedError(
      "NOTICE_CHANNEL",
      `There is no channel "${chosen}" for notices.${didYouMean(chosen, known)} There are ${known.join(", ")}; more are named in trust.yaml under notices:.`,
    );
  }
  if (chosen === "smtp" && !ADDRESS.test(to))
    throw new ClearedError("NOTICE_ADDRESS", `"${to.slice(0, 100)}" is not a mail address; write one, such as ann@example.com.`);
  return chosen;
}

const note = (title: string, about: Json) => ({ ...NOTHING_ASKED, kind: "note" as const, title, body: { about } });

function openNote(database: Database, { key, run, agent, to, subject, text }: Notice, now: number): void {
  openCard(database, `notice:${key}`, { ...note(subject, { to, text, agent }), run }, now);
}

// ---------------------------------------------------------------- for the sender

/** A card that every command reports until a person has answered it. */
export function openAlert(database: Database, key: string, title: string, about: Json, now: number): void {
  database.write(() => openCard(database, ALERT + key, { ...note(title, about), run: null }, now));
}

/** Stops the notice until a person has answered its card. Call inside a transaction. */
export function raise(database: Database, row: NoticeRow, state: "doubt" | "dead", why: string, now: number): void {
  moveNotice(database, row.key, state, { why, attempts: row.attempts + 1 });
  const { to, subject, run, agent, text } = JSON.parse(row.payload) as Notice;
  const title =
    state === "dead"
      ? `Not delivered: "${subject}" to ${to} (${row.channel}): ${why}. Approve to send it again, reject to let it be.`
      : `Was this mail sent? "${subject}" to ${to}. Look there: approve if it arrived, reject if it did not (then it is sent again).`;
  openAlert(database, `notice:${row.key}`, title, { to, subject, text, channel: row.channel, why, agent, run }, now);
}

/** Whether a person gave this answer to that question: a row of the store alone proves nothing. */
export type IsAnswer = (decision: Decision, card: number, question: string) => boolean;

/** Carries out answers, each once: a dead notice is sent again or dropped, one in doubt counts as sent or is sent again. Keys of those sent again. */
export function heedAnswers(database: Database, now: number, isAnswer: IsAnswer, sent: Once): string[] {
  const released: string[] = [];
  for (const row of answeredNotices(database)) {
    const decision = JSON.parse(row.decision) as Decision;
    const answer = `answer ${row.key} ${decision.signature}`;
    if (!isAnswer(decision, row.card, `card/${ALERT}notice:${row.key}`) || sent.has(answer)) continue;
    const yes = decision.decision === "approved";
    const again = (row.state === "dead") === yes;
    if (again) moveNotice(database, row.key, "queued", { due: now, attempts: 0 });
    else moveNotice(database, row.key, row.state === "dead" ? "dropped" : "sent");
    if (again) released.push(row.key);
    sent.keep(answer);
  }
  return released;
}

/** Quiet hours: what is not urgent waits for the next minute outside of them. Every minute is tested, so midnight and clock changes are handled. */
export interface QuietHours {
  /** HH:MM; before `to` they begin and end on one day, else they go over midnight. */
  from: string;
  to: string;
  /** IANA name. */
  timezone: string;
}

const MINUTE = 60_000;

/** `now`, or the first full minute after it (ms) outside of quiet hours. */
export function nextOpen(now: number, quiet: QuietHours | null): number {
  if (quiet === null || !isQuiet(now, quiet)) return now;
  let at = Math.floor(now / MINUTE) * MINUTE;
  // Terminates: `from` differs from `to`, so a day has an open minute (with a clock change at the latest the next day).
  do at += MINUTE;
  while (isQuiet(at, quiet));
  return at;
}

function isQuiet(ms: number, { from, to, timezone }: QuietHours): boolean {
  const clock = Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(timezone).toPlainTime().toString().slice(0, 5);
  return from < to ? from <= clock && clock < to : from <= clock || clock < to;
}
