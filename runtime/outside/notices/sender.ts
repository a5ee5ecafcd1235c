/**
 * Delivers the outbox; one sender per workspace, in the process that owns it. Webhooks are delivered at least once (the receiver knows the
 * key); mail at most once without a person: a mail that may have been sent, without an answer, becomes a question, never a second mail.
 */
import type { Database } from "../../engine/store/database.ts";
import { type NoticeRow, dueNotices, moveNotice, sendingNotices } from "../../engine/store/notices.ts";
import { toWire } from "../../kernel/errors.ts";
import type { Clock, Notice, Once } from "../../kernel/ports.ts";
import type { NoticeChannels } from "../../workspace/settings/config.ts";
import { type Delivered, type IsAnswer, type Letter, heedAnswers, noticeId, raise } from "./outbox.ts";
import { mailNotice } from "./smtp.ts";
import { postNotice } from "./webhook.ts";

interface SenderOptions {
  database: Database;
  clock: Clock;
  channels: NoticeChannels;
  /** The notice as requested by a run or a card: a row of the outbox alone proves nothing. False: not requested; null: the run is not finished. */
  asked(notice: Notice, channel: string): Promise<Notice | false | null>;
  isAnswer: IsAnswer;
  /** Mails that were sent, as kept beside the store. */
  sent: Once;
  /** Value of a secret by name. @throws SECRET_MISSING */
  secret(name: string): Promise<string>;
  /** Address of the status page, or null. */
  page: string | null;
  /** Called once for each notice that is given up or in doubt. */
  note(message: string): void;
}

// 30 s, 2 min, 8 min, 32 min, then every 2 h: enough for a mail server that is down for an afternoon.
const FIRST_WAIT_MS = 30_000;
const LONGEST_WAIT_MS = 7_200_000;
export const MOST_TRIES = 8;

/** Time from a notice's n-th failure (1 is the first) to the next attempt, ms. */
export function waitAfter(failures: number): number {
  return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 4 ** (failures - 1));
}

/** Mails that an earlier process left in flight become doubtful. */
export function createSender({ database, clock, channels, asked, isAnswer, sent, secret, page, note }: SenderOptions) {
  let pass: Promise<void> | null = null;
  // A person has just said that they are to be sent again.
  const released = new Set<string>();

  const stop = (row: NoticeRow, state: "doubt" | "dead", why: string) => {
    database.write(() => raise(database, row, state, why, clock.now()));
    const { to, subject } = JSON.parse(row.payload) as Notice;
    note(`${state === "dead" ? "Not delivered" : "Perhaps not delivered"}: "${subject}" to ${to}: ${why}. \`cleared queue\` has its card.`);
  };
  for (const row of sendingNotices(database)) stop(row, "doubt", "the computer stopped while the mail was under way");

  const send = async (row: NoticeRow, notice: Notice): Promise<Delivered> => {
    const letter: Letter = { ...notice, id: noticeId(notice), at: row.at, link: page === null ? null : `${page}/runs/${notice.run}` };
    const { smtp } = channels;
    try {
      if (row.channel === "smtp" && smtp !== undefined) {
        const password = smtp.password === undefined ? null : await secret(nameOf(smtp.password));
        return await mailNotice(smtp, letter, { password, leaving: () => moveNotice(database, row.key, "sending") });
      }
      const channel = Object.hasOwn(channels.webhooks, row.channel) ? channels.webhooks[row.channel] : undefined;
      if (channel === undefined) return { status: "never", why: `trust.yaml no longer names a channel "${row.channel}"` };
      return await postNotice(channel, letter, { secret: await secret(nameOf(channel.secret)), now: clock.now() });
    } catch (error) {
      return { status: "retry", why: toWire(error).message };
    }
  };

  const one = async (row: NoticeRow, notice: Notice): Promise<Delivered["status"]> => {
    const mail = `mail ${row.key} ${noticeId(notice)}`;
    if (row.channel === "smtp" && !released.has(row.key) && sent.has(mail)) {
      stop(row, "doubt", "it was sent before, although the run store does not say so: the store is an older one, or was changed");
      return "unknown";
    }
    const end = await send(row, notice);
    if (row.channel === "smtp" && (end.status === "sent" || end.status === "unknown")) sent.keep(mail);
    if (end.status !== "retry") released.delete(row.key);
    const failures = row.attempts + 1;
    if (end.status === "sent") moveNotice(database, row.key, "sent", { attempts: failures });
    else if (end.status === "unknown") stop(row, "doubt", end.why);
    else if (end.status === "never" || failures >= MOST_TRIES) stop(row, "dead", end.why);
    else moveNotice(database, row.key, "queued", { due: clock.now() + waitAfter(failures), attempts: failures, why: end.why });
    return end.status;
  };

  const deliverAll = async () => {
    for (const key of heedAnswers(database, clock.now(), isAnswer, sent)) released.add(key);
    // Channels are independent; behind a server that is down, the rest of its channel waits for the next pass.
    await Promise.all(
      [...Map.groupBy(dueNotices(database, clock.now()), (row) => row.channel).values()].map(async (rows) => {
        for (const row of rows) {
          const known = await asked(JSON.parse(row.payload) as Notice, row.channel);
          if (known === false) stop(row, "dead", "no run has asked for it, so it was written into the run store by something else");
          else if (known !== null && (await one(row, known)) === "retry") return;
        }
      }),
    );
  };

  return {
    /** One pass over what is due. Passes never overlap. */
    deliver(): Promise<void> {
      pass ??= deliverAll().finally(() => {
        pass = null;
      });
      return pass;
    },
  };
}

const nameOf = (reference: string): string => reference.slice("secret:".length);
