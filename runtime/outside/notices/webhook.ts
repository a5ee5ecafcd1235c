/** Notices as signed webhooks. A repeat after a crash carries the same Idempotency-Key, by which the receiver knows it. */
import type { NoticeChannels } from "../../workspace/settings/config.ts";
import { type Delivered, type Letter, whyOf } from "./delivery.ts";
import { KEY_HEADER, SIGNATURE_HEADER, signBody } from "./signature.ts";

const PATIENCE_MS = 10_000;
// Busy, or not yet there; every other 4xx says the same to a repeat.
const TRANSIENT = new Set([408, 425, 429]);

export async function postNotice(
  channel: NoticeChannels["webhooks"][string],
  letter: Letter,
  { secret, now }: { secret: string; now: number },
): Promise<Delivered> {
  const { id, to, subject, text, run, agent, at, link } = letter;
  const body = JSON.stringify({ id, at: new Date(at).toISOString(), to, subject, text, run, agent, ...(link === null ? {} : { link }) });
  try {
    const answer = await fetch(channel.url, {
      method: "POST",
      headers: { "content-type": "application/json", [KEY_HEADER]: id, [SIGNATURE_HEADER]: signBody(body, secret, now) },
      body,
      // A redirect would carry the notice to an address nobody has confirmed.
      redirect: "manual",
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    await answer.body?.cancel();
    if (answer.ok) return { status: "sent" };
    const status = answer.status >= 500 || TRANSIENT.has(answer.status) ? "retry" : "never";
    return { status, why: `it answered ${answer.status}` };
  } catch (error) {
    const { cause } = error as Error;
    return { status: "retry", why: whyOf(cause instanceof Error ? cause : error) };
  }
}
