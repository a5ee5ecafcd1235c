/**
 * Reminders of open cards whose script asked for them (`remind: "1d"`): by mail, once for each person and interval, to those who may still
 * decide; where no mail goes out, every command tells of the card instead (outside/notices/alerts.ts). The owner's timer, not the script, sends them.
 */
import { minuteOf } from "../kernel/day.ts";
import { ableTo } from "../engine/authority.ts";
import { REMINDING } from "../outside/notices/alerts.ts";
import { createOutbox } from "../outside/notices/outbox.ts";
import type { Card } from "../kernel/ports.ts";
import { oneLine, visible } from "../kernel/text.ts";
import type { Host } from "./host.ts";

type Reminding = Pick<Host, "database" | "cards" | "clock" | "trust" | "engine" | "git" | "config">;

/** Puts what is due into the outbox; repeatable. */
export async function remind({ database, cards, clock, trust, engine, git, config }: Reminding): Promise<void> {
  const now = clock.now();
  if (trust.notices.smtp === undefined || trust.people.every((one) => one.email === undefined)) return;
  for (const { id } of database.all<{ id: number }>(`SELECT id FROM cards WHERE ${REMINDING}`, now)) {
    const card = cards.get(id);
    const run = card?.run == null ? null : await engine.get(card.run);
    if (card === null || run === null) continue;
    // Who may decide counts by the run's own ladder; quiet hours are those of now.
    const able = ableTo(card, trust.people, (await config(git.tree(run.pin.commit))).policy);
    const outbox = createOutbox(database, trust.notices, await config());
    for (const { name, email } of trust.people) {
      if (email === undefined || !able.includes(name) || card.said?.includes(name) === true) continue;
      const notice = { to: email, channel: "smtp", ...wordsOf(card), run: run.id, agent: run.agent };
      await outbox.send({ ...notice, key: `card/${card.id}/remind/${intervals(card, now)}/${name}` }, { now, live: true });
    }
  }
}

/** After a week of sleep there is one reminder to send, not seven. */
const intervals = (card: Card, now: number): number => Math.floor((now - card.at) / (card.remind ?? 1));

function wordsOf({ id, title, kind, at, expires }: Card): { subject: string; text: string } {
  const until = expires === null ? "" : ` It expires on ${minuteOf(expires)}.`;
  const how = kind === "form" ? `\`cleared answer ${id} name=value\`` : `\`cleared approve ${id}\` or \`cleared reject ${id}\``;
  return {
    subject: `Waits for you: ${visible(oneLine(title, 180))}`,
    text: `${visible(oneLine(title))}\n\nCard ${id} waits since ${minuteOf(at)}.${until} Decide on the status page, or with ${how}.`,
  };
}
