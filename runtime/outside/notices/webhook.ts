/** Notices as signed webhooks. A repeat after a crash carries the same Idempotency-Key, so the receiver can recognize it. */
import type { NoticeChannels } from "../../workspace/settings/config.ts";
import { type Delivered, type Letter, whyOf } from "./outbox.ts";
import { createHmac, timingSafeEqual } from "node:crypto";

const PATIENCE_MS = 10_000;
// Busy, or not ready; any other 4xx would be repeated.
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
      // A redirect would carry the notice to an unconfirmed address.
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

/**
 * The signature of webhooks, outgoing and incoming: `t=UNIX,v1=HEX`, where v1 is HMAC-SHA256 over `t.body` with the shared secret.
 * The time is signed too, so that a captured request is worthless five minutes later.
 */
export const SIGNATURE_HEADER = "x-cleared-signature";
export const KEY_HEADER = "idempotency-key";
/** Tolerance for the sender's clock and the duration of a request: 5 minutes, in ms. */
export const WINDOW_MS = 300_000;

export function signBody(body: Uint8Array | string, secret: string, now: number): string {
  const t = Math.floor(now / 1000);
  return `t=${t},v1=${mac(body, secret, String(t)).toString("hex")}`;
}

/** The signature's hex, or null if it is not for this body, this secret and this time. */
export function checkSignature(header: string, body: Uint8Array | string, secret: string, now: number): string | null {
  const [, t = "", hex = ""] = /^t=(\d{1,12}),v1=([0-9a-f]{64})$/.exec(header.trim()) ?? [];
  const given = Buffer.from(hex, "hex");
  const wanted = mac(body, secret, t);
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) return null;
  return Math.abs(now - Number(t) * 1000) <= WINDOW_MS ? hex : null;
}

function mac(body: Uint8Array | string, secret: string, t: string): Buffer {
  return createHmac("sha256", secret).update(`${t}.`).update(body).digest();
}
