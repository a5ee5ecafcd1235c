/** A workspace with the shop of shop-server.ts, and what reached the shop. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Host } from "../../runtime/app/host.ts";
import { deliverEvents } from "../../runtime/outside/triggers/events.ts";
import type { Call, RunRecord } from "../../runtime/kernel/ports.ts";
import { decide, openCard, type Workspace, workspace } from "../engine/harness.ts";
import type { Mood, Reached } from "./shop-tools.ts";

export const header = (uses: string, more = ""): string => `/*\nname: Test\ndescription: test\nuses: [${uses}]\n${more}*/\n`;
export const STATES = "states: [ASSESS, COMPUTE, POLICY_CHECK, APPROVAL_GATE?, MUTATE, SCHEDULE_NOTIFY]\n";

export const PACK = (name: string): string => `process: ${name}
source: test
facts: {amount: money, kind: text}
rules:
  - {id: BIG, when: "amount > 100.00", action: require_approval, level: manager, description: a test}
  - {id: ODD, when: "kind == odd", action: escalate, description: a test}
  - {id: BAD, when: "kind == bad", action: block, description: a test}
`;

export interface Shop extends Workspace {
  reached(): Reached[];
  /** What changed something, as canonical calls without the key that the runtime adds. */
  wrote(): Call[];
  mood(mood: Mood): void;
}

/** A fresh workspace whose trust.yaml names the shop (in a jail unless it is trusted), with the packs `pay` and `open` (which lets everything pass). */
export async function shop(files: Record<string, string> = {}, trusted = false): Promise<Shop> {
  const one = await workspace();
  // Beside the workspace: an untrusted server does not see .cleared.
  const folder = `${one.dir} shop`;
  mkdirSync(folder, { recursive: true });
  const verify = "verify: {read: get_invoice, key: {invoice_id: invoice_id}, expect: {status: paid}, before: {status: open}}";
  const server = `mcp:
  shop:
    command: ${process.execPath}
    args: [${join(import.meta.dirname, "shop-server.ts")}, ${folder}]
    timeout_ms: 10000
    trusted: ${trusted}
    writes: ${trusted ? "[]" : JSON.stringify([folder])}
    tools:
      pay_invoice: {class: mutate, ${verify}}
      pay_keyed: {class: mutate, idempotency_key: request_id}
      pay_blind: {class: mutate}
`;
  const trust = one.read("trust.yaml").replace(/^mcp: \{\}.*(?:\n {2}.*)*$/m, server);
  const open =
    "process: open\nsource: test\nfacts: {fine: boolean}\nrules:\n  - {id: NOT_FINE, when: '!fine', action: inform, description: a test}\n";
  one.commit({ "trust.yaml": trust, "policies/pay.yaml": PACK("pay"), "policies/open.yaml": open, ...files }, "agent: gate");
  const reached = (): Reached[] => {
    const file = join(folder, "reached.jsonl");
    if (!existsSync(file)) return [];
    const lines = readFileSync(file, "utf8").trim().split("\n");
    return lines.map((line) => JSON.parse(line) as Reached);
  };
  return {
    ...one,
    reached,
    wrote: () =>
      reached()
        .filter((one) => one.wrote)
        .map(({ tool, args: { request_id: _, ...params } }) => ({ tool: `shop/${tool}`, params })),
    mood: (mood) => writeFileSync(join(folder, "mood.json"), JSON.stringify(mood)),
  };
}

/** What people have said yes to, by run. */
export type Yes = Map<string, Call[]>;

/** Says yes to everything a run asks until it has ended, and writes down what that was. */
export async function sayYes(opened: Host, id: string, yes: Yes, most = 16): Promise<RunRecord> {
  let run = await opened.engine.result(id, { timeoutMs: 100_000 });
  for (let n = 0; n < most && run.status === "waiting"; n++) {
    if (run.reason === "child") run = await sayYesToChildren(opened, run, yes);
    else {
      yes.set(id, [...(yes.get(id) ?? []), ...openCard(opened, id).calls]);
      run = await decide(opened, id, "approved");
    }
  }
  return run;
}

async function sayYesToChildren(opened: Host, run: RunRecord, yes: Yes): Promise<RunRecord> {
  for (const child of await opened.engine.list({ status: ["waiting"], limit: 100 }))
    if (child.parent === run.id) await sayYes(opened, child.id, yes);
  return opened.engine.result(run.id, { timeoutMs: 100_000 });
}

/** Starts what listens to the events that were let out, as the owner's triggers do. */
export async function letEventsOut(opened: Host): Promise<void> {
  await deliverEvents({
    database: opened.database,
    agents: () => opened.agents(),
    start: (agent, options) => opened.start(agent, options),
    emitted: () => opened.emitted(),
    takeEmitted: (key) => opened.takeEmitted(key),
    cause: async (run) => (await opened.engine.get(run))?.cause ?? null,
    note: () => undefined,
  });
}
