/**
 * The signature of webhooks, ours and others': `t=UNIX,v1=HEX`, where v1 is HMAC-SHA256 over `t.body` with the shared secret.
 * The time is signed too, so that what was overheard is worth nothing five minutes later.
 */
import { createHmac, timingSafeEqual } from "node:crypto";

export const SIGNATURE_HEADER = "x-cleared-signature";
export const KEY_HEADER = "idempotency-key";
/** How far the sender's clock may be off, and how long a request may take: 5 minutes, in ms. */
export const WINDOW_MS = 300_000;

export function signBody(body: Uint8Array | string, secret: string, now: number): string {
  const t = Math.floor(now / 1000);
  return `t=${t},v1=${mac(body, secret, String(t)).toString("hex")}`;
}

/** The signature's hex, or null when it is not this body's, not this secret's or not of now. */
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
