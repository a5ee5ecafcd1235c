/**
 * Webhooks start runs: `POST /hooks/NAME`, signed with the secret named for it in trust.yaml (format: outside/notices/webhook.ts). Each signed
 * request counts once, durably: a captured one starts nothing, whatever key it is sent with.
 */
import { dropFacts, keepFact } from "../../engine/store/facts.ts";
import { pauseOf, pauseWords } from "../../engine/store/pauses.ts";
import { ClearedError } from "../../kernel/errors.ts";
import { WINDOW_MS, checkSignature } from "../notices/webhook.ts";
import type { Cause, Json } from "../../kernel/ports.ts";
import type { Header } from "../../scripts/header.ts";
import { type StartPorts, listensTo } from "./events.ts";

const HOOK = "hook:";

export interface HookPorts extends Omit<StartPorts, "note"> {
  /** The shared secret of a webhook, or null if trust.yaml has none. @throws SECRET_MISSING */
  secret(name: string): Promise<string | null>;
}

export interface HookRequest {
  name: string;
  /** As received, byte for byte: the signature covers it. */
  body: Uint8Array;
  signature: string;
  /** Idempotency-Key, or empty: then the signature is the key. */
  key: string;
}

/**
 * Starts the listening agents. `created` is false if this key has started them before.
 * @throws WEBHOOK_REFUSED, AGENT_UNKNOWN, RUN_PAUSED, RUN_INPUT, RUN_KEY with another body, SECRET_MISSING
 */
export async function acceptHook(
  ports: HookPorts,
  { name, body, signature, key }: HookRequest,
): Promise<{ runs: string[]; created: boolean }> {
  const secret = await ports.secret(name);
  // An unknown name is checked like a wrong secret, and answered in the same way.
  const proof = checkSignature(signature, body, secret ?? crypto.randomUUID(), ports.now());
  if (secret === null || proof === null) throw refused("it is not signed with this webhook's secret, or more than 5 minutes off");
  if (!/^[\x21-\x7e]{0,200}$/.test(key)) throw refused("its Idempotency-Key is longer than 200 characters or not plain text");
  const listeners = (await ports.agents()).filter(({ header }) => listensTo(header, "webhook") && header.webhook === name);
  if (listeners.length === 0)
    throw new ClearedError(
      "AGENT_UNKNOWN",
      `No agent at HEAD has webhook: ${name}. Commit one with trigger: webhook and webhook: ${name}.`,
    );
  // Before anything is stored, and for all or none: the sender tries again later.
  const pause = listeners.map(({ name: agent }) => pauseOf(ports.database, agent)).find((one) => one !== null);
  if (pause != null) throw new ClearedError("RUN_PAUSED", `${pauseWords(pause)}. Send the webhook again then.`);
  const payload = parse(body);
  if (!isFirst(ports, proof, `${name} ${key}`)) throw refused("this very request was sent before under another Idempotency-Key");
  const runs: string[] = [];
  let created = false;
  for (const { name: agent, header } of listeners) {
    const cause: Cause = { kind: "webhook", key: `${name} ${key === "" ? proof : key}`, detail: { webhook: name } };
    const run = await ports.start(agent, { cause, input: inputFor(header, payload) });
    runs.push(run.id);
    created ||= run.created;
  }
  return { runs, created };
}

const refused = (why: string): ClearedError => new ClearedError("WEBHOOK_REFUSED", `The webhook is refused: ${why}.`);

function parse(body: Uint8Array): Json {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body)) as Json;
  } catch (cause) {
    throw new ClearedError("RUN_INPUT", "The body of the webhook is not JSON in UTF-8.", { cause });
  }
}

/** An agent with named fields gets the body as its fields; one that names `payload`, or none, gets the whole body as that. */
function inputFor(header: Header | null, payload: Json): Json {
  const fields = Object.keys(header?.input ?? {});
  return fields.length === 0 || fields.includes("payload") ? { payload } : payload;
}

/** The key is not signed, so the key first seen with a signature is recorded for as long as its time is accepted. */
function isFirst({ database, now }: HookPorts, proof: string, key: string): boolean {
  const kept = (value: string) => JSON.parse(value) as { at: number; key: string };
  return database.write(() => {
    dropFacts(database, HOOK, (value) => kept(value).at < now() - 3 * WINDOW_MS);
    return kept(keepFact(database, HOOK + proof, JSON.stringify({ at: now(), key }))).key === key;
  });
}
