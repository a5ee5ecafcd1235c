/** Agents that ask, people with keys of their own, and what they say: for the tests of approvals. */
import { generateKeyPairSync } from "node:crypto";
import { type Decided, asked, decideCard } from "../../runtime/app/decide.ts";
import type { Host } from "../../runtime/app/host.ts";
import { signDecision } from "../../runtime/engine/signature.ts";
import type { Card, Decision, Json, RunRecord } from "../../runtime/kernel/ports.ts";
import { expect } from "vitest";
import { host, openCard, workspace, type Workspace } from "./harness.ts";

export const POLICY = `process: pay
source: test
facts: {amount: money, kind: text, to: text, note: text}
thresholds: {manager: "100.00"}
rules:
  - {id: BIG, when: "amount > threshold.manager", action: require_approval, level: manager, description: a test}
  - {id: LAW, when: "kind == law", action: require_approval, level: legal, description: a test}
  - {id: ODD, when: "kind == odd", action: escalate, description: a test}
  - {id: TWO, when: "kind == two", action: require_approval, level: manager, approvals: 2, description: a test}
  - {id: OTHER, when: "kind == other", action: require_approval, level: manager, distinct_from_requester: true, description: a test}
`;
export const AGENT = `/*
name: Test
description: test
uses: [fsm, policy, approval, bank, ctx]
states: [ASSESS, POLICY_CHECK, APPROVAL_GATE, MUTATE]
input: {kind: {type: string, default: plain}, amount: {type: money, default: "120.00"}}
*/
fsm_enter("ASSESS");
const rate = bank_rate({ day: input.amount, failures: 0 }).rate;
fsm_enter("POLICY_CHECK");
policy_evaluate({ policy: "pay", facts: { amount: input.amount, kind: input.kind, to: "ACME", note: "first" } });
fsm_enter("APPROVAL_GATE");
const answer = approval_wait({ title: "Pay ACME?", calls: [{ tool: "bank_pay", params: { to: "ACME", amount: rate, note: "first" } }], expires: "3d", remind: "1d" });
fsm_enter("MUTATE");
for (const call of answer.calls) bank_pay(call.params);
({ by: answer.by, decision: answer.decision, calls: answer.calls });
`;
export const SIMPLE = `/*
name: Simple
description: test
uses: [approval, bank, data]
input: {params: {type: object}, level: {type: string}, fixed: {type: boolean, default: false}}
*/
const question = { title: "Pay?", calls: [{ tool: "bank_pay", params: input.params }], fixed: input.fixed };
const answer = approval_wait(input.level ? { ...question, level: input.level } : question);
for (const call of answer.calls) bank_pay(call.params);
data_write({ path: "data/last.txt", text: answer.by });
({ by: answer.by, calls: answer.calls, reason: answer.reason ?? null });
`;
export const FORM = `/*
name: Form
description: test
uses: [fsm, policy, approval, bank]
states: [ASSESS, POLICY_CHECK, APPROVAL_GATE, MUTATE]
*/
fsm_enter("ASSESS");
fsm_enter("POLICY_CHECK");
policy_evaluate({ policy: "pay", facts: { amount: "1.00", kind: "plain" } });
fsm_enter("APPROVAL_GATE");
const told = approval_form({ title: "What did the taxi cost?", fields: { amount: { type: "money", required: true }, days: { type: "integer" }, kind: { type: "string", enum: ["taxi", "train"] } } });
const pay = { to: "TAXI", amount: told.values.amount };
approval_wait({ title: "Pay it?", calls: [{ tool: "bank_pay", params: pay }] });
fsm_enter("MUTATE");
bank_pay(pay);
({ told });
`;
export const BANK = `import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { definePrimitive, z } from "cleared";
const FILE = join(import.meta.dirname, "../.cleared/bank.jsonl");
export const bank_pay = definePrimitive({ name: "bank_pay", effect: "external", access: "external", summary: "Pay.", idempotent: "key",
  params: z.object({ to: z.string(), amount: z.string(), note: z.string().optional(), currency: z.string().optional(), ccy: z.string().optional(), quantity: z.number().optional(),
    invoice_id: z.string().optional(), pay_date: z.string().optional(), approved_by: z.string().optional(), method: z.string().optional(), cost_center: z.string().optional(), lines: z.any().optional() }),
  returns: z.object({ ref: z.string() }), errors: [], example: 'bank_pay({ to: "A", amount: "1" })', dryRun: () => ({ ref: "dry" }),
  run: (p, ctx) => {
    const there = existsSync(FILE) && readFileSync(FILE, "utf8").includes(ctx.key + '"');
    if (!there) appendFileSync(FILE, JSON.stringify({ what: p.to + " " + p.amount, key: ctx.key }) + "\\n");
    return { ref: ctx.key };
  } });
// The figure that is read in ASSESS: what it is asked for.
export const bank_rate = definePrimitive({ name: "bank_rate", effect: "read", access: "read", summary: "Rate.", params: z.object({ day: z.string(), failures: z.int() }), returns: z.object({ rate: z.string() }), errors: [], example: 'bank_rate({ day: "1", failures: 0 })', run: (p) => ({ rate: p.day }) });
`;

/** Pays without a gate of its own: the runtime asks. */
export const PAYS = `/*
name: Pays
description: test
uses: [fsm, bank, policy]
states: [ASSESS, POLICY_CHECK, APPROVAL_GATE?, MUTATE]
*/
fsm_enter("ASSESS");
const { rate } = bank_rate({ day: "1.00", failures: 0 });
fsm_enter("POLICY_CHECK");
policy_evaluate({ policy: "pay", facts: { amount: "5.00", kind: "plain" } });
fsm_enter("MUTATE");
bank_pay({ to: "A", amount: rate });
`;

const pairs = new Map<string, { pem: string; key: string }>();
export function keysOf(name: string): { pem: string; key: string } {
  let found = pairs.get(name);
  if (found === undefined) {
    const { publicKey, privateKey } = generateKeyPairSync("ed25519");
    found = {
      pem: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
      key: publicKey.export({ type: "spki", format: "der" }).toString("base64"),
    };
    pairs.set(name, found);
  }
  return found;
}

export type People = Record<string, { roles?: string[]; email?: string; ids?: Record<string, string> }>;

/** trust.yaml with these people, whose keys the test holds. */
export function trustWith(one: Workspace, people: People, more = ""): void {
  const text = one
    .read("trust.yaml")
    .replace(/^people:\n(?: {2}.*\n)*/m, "")
    .replace(/^approvals:.*\n(?: {2}.*\n)*/m, "")
    .replace(/^notices:.*\n/gm, "");
  const list = Object.entries(people).map(([name, rest]) => `  - ${JSON.stringify({ name, key: keysOf(name).key, ...rest })}\n`);
  one.write("trust.yaml", `${text}\npeople:\n${list.join("")}${more}`);
}

export async function made(
  people: People,
  more = "",
  options: { clock?: { now(): number } } = {},
): Promise<{ one: Workspace; opened: Host }> {
  const one = await workspace({
    "policies/pay.yaml": POLICY,
    "agents/asks.ts": AGENT,
    "agents/simple.ts": SIMPLE,
    "agents/form.ts": FORM,
    "agents/pays.ts": PAYS,
    "plugins/bank.ts": BANK,
  });
  trustWith(one, people, more);
  return { one, opened: await host(one, options) };
}

let keys = 0;
export async function begin(opened: Host, agent: string, input: Json = {}, by?: string): Promise<RunRecord> {
  const cause = { kind: "command" as const, key: `k${++keys}` };
  const { id } = await opened.start(agent, { cause, input, ...(by === undefined ? {} : { by }) });
  return opened.engine.result(id, { timeoutMs: 100_000 });
}

/** Signed with that person's own key. */
export function signedBy(name: string, opened: Host, card: Card, decision: Decision["decision"], more: Partial<Decision> = {}): Decision {
  return signDecision({ ...asked(card), decision, at: opened.clock.now(), by: name, ...more }, keysOf(name).pem);
}
export async function say(
  name: string,
  opened: Host,
  id: string,
  decision: Decision["decision"] = "approved",
  more: Partial<Decision> = {},
): Promise<Decided> {
  return decideCard(opened, signedBy(name, opened, openCard(opened, id), decision, more));
}
export const refused = (code: string, words: RegExp) => ({ code, message: expect.stringMatching(words) });
export const ended = (opened: Host, id: string) => opened.engine.result(id, { ended: true, timeoutMs: 100_000 });
export async function logs(opened: Host, id: string): Promise<string[]> {
  const said: string[] = [];
  for await (const { type, body } of opened.engine.events(id, 1)) if (type === "log") said.push((body as { message: string }).message);
  return said;
}

export const TEAM: People = { Ann: { roles: ["manager"] }, Bob: { roles: ["director"] }, Leo: { roles: ["legal"] }, Zoe: {} };
