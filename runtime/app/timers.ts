/**
 * Periodic work of a workspace's owner, which a command does once before it ends: sends notices, sends reminders about open cards whose script
 * asked for them (`remind: "1d"`; by mail, once per person and interval), accepts signed webhooks, and runs the guard on applied changes.
 */
import { createSender } from "../outside/notices/sender.ts";
import { readSecrets } from "../workspace/settings/secrets.ts";
import { acceptHook, type HookRequest } from "../outside/triggers/webhook.ts";
import type { Host } from "./host.ts";
import { keepLooking } from "./looks.ts";
import { minuteOf } from "../kernel/day.ts";
import { whileAwake } from "../kernel/processes.ts";
import { variables } from "../workspace/settings/variables.ts";
import { ableTo } from "../engine/authority.ts";
import { isVerified } from "../engine/signature.ts";
import { dueReminders, hasDecidedProposal } from "../engine/store/card-queries.ts";
import { tasksAtWork } from "../engine/store/run-queries.ts";
import { createOutbox, noticeId } from "../outside/notices/outbox.ts";
import type { Card, Notice, Step } from "../kernel/ports.ts";
import { oneLine, visible } from "../kernel/text.ts";

const EVERY_MS = 1000;
const GRACE_MS = 2000;

/** `page`: address of the status page for links, or null. */
export function senderOf(host: Host, page: string | null, note: (message: string) => void) {
  const { database, clock, trust } = host;
  const sender = createSender({
    database,
    clock,
    channels: trust.notices,
    asked: (notice, channel) => askedFor(host, notice, channel),
    isAnswer: (decision, card, question) => decision.card === card && decision.gate === question && isVerified(decision, trust.people),
    sent: host.world.sent,
    secret: async (name) => (await readSecrets(host.dir))(name),
    page,
    note,
  });
  return { deliver: async () => remind(host).then(() => sender.deliver()) };
}

async function askedFor({ cards, engine, trust }: Host, notice: Notice, channel: string): Promise<Notice | false | null> {
  const id = /^card\/(\d+)\/remind\//.exec(notice.key)?.[1];
  if (id !== undefined) {
    const card = cards.get(Number(id));
    const isTheirs = card?.run === notice.run && channel === "smtp" && trust.people.some(({ email }) => email === notice.to);
    return isTheirs ? { ...notice, ...wordsOf(card) } : false;
  }
  const run = await engine.get(notice.run);
  const asks = ({ effect, result }: Step) => {
    const told = JSON.parse((effect === "notify" ? result : null) ?? "null") as { notice?: string; channel?: string } | null;
    return told?.notice === noticeId(notice) && told.channel === channel;
  };
  if (run !== null && (await engine.steps(run.id)).some(asks)) return notice;
  return run?.status === "running" || run?.status === "queued" ? null : false;
}

/** A server that does not answer must not delay the end; an unfinished mail is asked about at the next start. */
export function keepSending(host: Host, page: string | null, note: (message: string) => void, onError: (error: unknown) => void) {
  return keepLooking(EVERY_MS, senderOf(host, page, note).deliver, onError, { graceMs: GRACE_MS });
}

export type Hooks = ReturnType<typeof hooksOf>;

/** Starts the agents with that webhook. @throws WEBHOOK_REFUSED, RUN_INPUT */
export function hooksOf(host: Host) {
  const { database, clock, trust } = host;
  const secret = async (name: string): Promise<string | null> => {
    const named = Object.hasOwn(trust.webhooks, name) ? trust.webhooks[name] : undefined;
    return named === undefined ? null : (await readSecrets(host.dir))(named.secret.slice("secret:".length));
  };
  return (request: HookRequest) =>
    acceptHook({ database, now: () => clock.now(), agents: () => host.agents(), start: host.start, secret }, request);
}

type Reminding = Pick<Host, "database" | "cards" | "clock" | "trust" | "engine" | "git" | "config">;

/** Puts due reminders into the outbox; repeatable. */
export async function remind({ database, cards, clock, trust, engine, git, config }: Reminding): Promise<void> {
  const now = clock.now();
  if (trust.notices.smtp === undefined || trust.people.every((one) => one.email === undefined)) return;
  for (const id of dueReminders(database, now)) {
    const card = cards.get(id);
    const run = card?.run == null ? null : await engine.get(card.run);
    if (card === null || run === null) continue;
    // Who may decide depends on the run's own ladder; quiet hours on the current one.
    const able = ableTo(card, trust.people, (await config(git.tree(run.pin.commit))).policy);
    const outbox = createOutbox(database, trust.notices, await config());
    for (const { name, email } of trust.people) {
      if (email === undefined || !able.includes(name) || card.said?.includes(name) === true) continue;
      const notice = { to: email, channel: "smtp", ...wordsOf(card), run: run.id, agent: run.agent };
      await outbox.send({ ...notice, key: `card/${card.id}/remind/${intervals(card, now)}/${name}` }, { now, live: true });
    }
  }
}

/** After a week without power, one reminder is sent, not seven. */
const intervals = (card: Card, now: number): number => Math.floor((now - card.at) / (card.remind ?? 1));

function wordsOf({ id, name, title, kind, at, expires }: Card): { subject: string; text: string } {
  const until = expires === null ? "" : ` It expires on ${minuteOf(expires)}.`;
  const how = kind === "form" ? `\`cleared answer ${name} name=value\`` : `\`cleared approve ${name}\` or \`cleared reject ${name}\``;
  return {
    subject: `Waits for you: ${visible(oneLine(title, 180))}`,
    text: `${visible(oneLine(title))}\n\nCard ${id} has waited since ${minuteOf(at)}.${until} Decide on the status page, or with ${how}.`,
  };
}

/** Ends tasks that have been working for longer than TASK_TIMEOUT while this process was awake; stopped by clearInterval. */
export function keepTaskTime({ database, engine }: Host, onError: (error: unknown) => void): NodeJS.Timeout {
  const { taskTimeoutMs } = variables();
  const worked = new Map<string, number>();
  return whileAwake(EVERY_MS, (passed) => {
    if (worked.size > 10_000) worked.clear(); // counting again gives a task more time, never less
    for (const id of tasksAtWork(database)) {
      const ms = (worked.get(id) ?? 0) + passed;
      worked.set(id, ms);
      if (ms > taskTimeoutMs) engine.cancel(id, `it was at work for ${taskTimeoutMs / 1000} s (TASK_TIMEOUT)`).catch(onError);
    }
  });
}

const LOOK_EVERY_MS = 60_000;
// Runs that end together are handled together.
const SOON_MS = 1000;

/** `rested`: called when a run has ended. */
export function keepGuarding(host: Host, note: (message: string) => void, onError: (error: unknown) => void) {
  let due = true;
  let lookedAt = performance.now();
  const guard = import("../change/proposals/guard.ts").then(({ createGuard }) => createGuard(host));
  const look = async (): Promise<void> => {
    if (!due && performance.now() - lookedAt < LOOK_EVERY_MS) return;
    due = false;
    lookedAt = performance.now();
    for (const said of await (await guard).look()) note(said);
  };
  return {
    ...keepLooking(SOON_MS, look, onError),
    rested(): void {
      due = true;
    },
  };
}

/** Runs the guard once, if any proposal has been decided. */
export async function guardOnce(host: Host, note: (message: string) => void): Promise<void> {
  if (!hasDecidedProposal(host.database)) return;
  const { createGuard } = await import("../change/proposals/guard.ts");
  for (const said of await createGuard(host).look()) note(said);
}
