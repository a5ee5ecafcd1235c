/**
 * What goes out of a workspace and comes in signed, for its owner: the sender of the outbox, now and then for as long as it owns the
 * workspace or once before a command ends; and the webhooks that start runs.
 */
import { type Sender, createSender } from "../outside/notices/sender.ts";
import { readSecrets } from "../workspace/settings/secrets.ts";
import type { Hooks } from "./page-facts.ts";
import { acceptHook } from "../outside/triggers/webhook.ts";
import type { Host } from "./host.ts";
import { remind } from "./reminders.ts";

const EVERY_MS = 1000;
const GRACE_MS = 2000;

/** `page`: address of the status page, for links, or null. */
export function senderOf(host: Host, page: string | null, note: (message: string) => void): Sender {
  const { database, clock, trust } = host;
  const sender = createSender({
    database,
    clock,
    channels: trust.notices,
    secret: async (name) => (await readSecrets(host.dir))(name),
    page,
    note,
  });
  return { ...sender, deliver: async () => remind(host).then(() => sender.deliver()) };
}

/** Sends until stopped; a pass under way is let finish for a moment. */
export function keepSending(host: Host, page: string | null, note: (message: string) => void, onError: (error: unknown) => void) {
  const sender = senderOf(host, page, note);
  let last: Promise<void> = Promise.resolve();
  let stopped = false;
  const timer = setInterval(() => {
    last = sender.deliver().catch((error) => void (stopped || onError(error)));
  }, EVERY_MS);
  return {
    async stop(): Promise<void> {
      stopped = true;
      clearInterval(timer);
      // A server that does not answer must not hold the end up; a mail that was under way is asked about at the next start.
      await Promise.race([last, new Promise((resolve) => setTimeout(resolve, GRACE_MS).unref())]);
    },
  };
}

export function hooksOf(host: Host): Hooks {
  const { database, clock, trust } = host;
  const secret = async (name: string): Promise<string | null> => {
    const named = Object.hasOwn(trust.webhooks, name) ? trust.webhooks[name] : undefined;
    return named === undefined ? null : (await readSecrets(host.dir))(named.secret.slice("secret:".length));
  };
  return (request) => acceptHook({ database, now: () => clock.now(), agents: () => host.agents(), start: host.start, secret }, request);
}
