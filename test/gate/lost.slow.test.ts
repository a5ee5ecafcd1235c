/** Between a write and its record: whoever dies there, it is one write, or a card that asks a person. Never two. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import type { Host } from "../../runtime/app/host.ts";
import type { RunLog, RunRecord, Step } from "../../runtime/kernel/ports.ts";
import { confirm } from "../confirm.ts";
import { LATER, abandon, closeAll, decide, host, openCard, remove, removeAll, start } from "../engine/harness.ts";
import { serve } from "../mcp/pool.ts";
import { header, type Shop, shop, STATES } from "./shop.ts";
import type { Mood } from "./shop-tools.ts";
import { share } from "../share.ts";

const USES = "fsm, mcp, policy, approval, notify, schedule, agent:payer";
const begin = (more: string): string => `${header(USES, STATES + more)}fsm_enter("ASSESS");
mcp_call({ tool: "shop/get_invoice", params: { invoice_id: "I-1" } });
fsm_enter("COMPUTE");
fsm_enter("POLICY_CHECK");
`;
const PASSES = `policy_evaluate({ policy: "open", facts: { fine: true } });\nfsm_enter("MUTATE");\n`;
const INPUT = "input: {tool: {type: string, required: true}}\n";
const FILES = {
  "agents/buys.ts": `${begin(INPUT)}${PASSES}({ answer: mcp_call({ tool: "shop/" + input.tool, params: { invoice_id: "I-1" } }) });`,
  // Not declared at the gate: it is asked for when it is made.
  "agents/asks.ts": `${begin(INPUT)}policy_evaluate({ policy: "pay", facts: { amount: "500.00", kind: "x" } });
fsm_enter("APPROVAL_GATE");
approval_wait({ title: "Go on?", calls: [] });
fsm_enter("MUTATE");
({ answer: mcp_call({ tool: "shop/" + input.tool, params: { invoice_id: "I-1" } }) });`,
  "agents/payer.ts": `${header("fsm, mcp, policy", STATES)}fsm_enter("ASSESS");\nfsm_enter("COMPUTE");\nfsm_enter("POLICY_CHECK");\n${PASSES}mcp_call({ tool: "shop/pay_blind", params: { invoice_id: "child" } });\n1;`,
  "agents/tells.ts": `${begin("")}${PASSES}agent_call({ agent: "payer" });
fsm_enter("SCHEDULE_NOTIFY");
notify_send({ to: "pat", subject: "Paid", text: "Paid." });
schedule_run({ agent: "payer", at: "in 52w", input: {}, key: "later" });
({ done: true });`,
};

afterEach(closeAll);
afterAll(removeAll);

const children = new Set<ChildProcess>();
afterAll(() => {
  for (const child of children) child.kill("SIGKILL");
});

/** Where a run gets to. A write that nothing can look up is asked about before the run is over: the person lets it stand. */
async function rest(opened: Host, id: string): Promise<RunRecord> {
  const run = await opened.engine.result(id, { timeoutMs: 120_000 });
  if (run.status !== "waiting" || run.reason !== "escalation") return run;
  await decide(opened, id, "approved");
  return rest(opened, id);
}

/** The same for every run of a host, until it is told to stop. */
function letStand(opened: Host): () => void {
  const timer = setInterval(() => {
    for (const { run, kind } of opened.cards.list({ open: true }))
      if (kind === "escalation" && run !== null) void decide(opened, run, "approved").catch(() => undefined);
  }, 50);
  return () => clearInterval(timer);
}

/** What a person does who looks into the shop: says whether it happened. */
async function look(one: Shop, opened: Host, waiting: RunRecord): Promise<RunRecord> {
  expect(waiting.reason).toBe("in_doubt");
  expect(openCard(opened, waiting.id)).toMatchObject({ kind: "in_doubt" });
  one.mood({});
  await decide(opened, waiting.id, one.wrote().length > 0 ? "approved" : "rejected");
  return rest(opened, waiting.id);
}

describe("the owner is killed", () => {
  const ways: [tool: string, at: "before" | "after", asks: boolean][] = [
    ["pay_keyed", "before", false],
    ["pay_keyed", "after", false],
    ["pay_invoice", "before", false],
    ["pay_invoice", "after", false],
    ["pay_blind", "before", true],
    ["pay_blind", "after", true],
  ];
  test.each(share(ways, 2, String))("at %s, %s it is written: one write, a person is asked: %s %s", async (tool, at, asks) => {
    // From its jail a server cannot kill the owner.
    const one = await shop(FILES, true);
    const agent = tool === "pay_keyed" ? "asks" : "buys";
    const child = spawn(process.execPath, [join(import.meta.dirname, "owner-child.ts"), one.dir, agent, JSON.stringify({ tool })], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    children.add(child);
    one.mood({ kill: "owner", at, once: true, owner: child.pid ?? 0 });
    let id = "";
    child.stdout?.on("data", (text) => (id += String(text)));
    expect(await once(child, "exit")).toEqual([null, "SIGKILL"]);
    expect(one.wrote()).toHaveLength(at === "after" ? 1 : 0);
    const opened = await host(one, { clock: LATER });
    let end = await rest(opened, id.trim());
    expect(end.status === "waiting", String(end.error?.message)).toBe(asks);
    if (asks) end = await look(one, opened, end);
    expect(end, String(end.error?.message)).toMatchObject({ status: "done", outcome: "completed" });
    expect(one.wrote()).toHaveLength(1);
    // Who said yes before the kill is not forgotten.
    if (agent === "asks") expect(end.meta).toMatchObject({ approvals: [{ by: "Pat" }, { by: "Pat" }] });
    remove(one);
  });
});

describe("the tool's server dies", () => {
  const ways: [what: string, mood: Mood, asks: Record<string, boolean>][] = [
    ["once, before it wrote", { kill: "self", at: "before", once: true }, { pay_keyed: false, pay_invoice: false, pay_blind: true }],
    ["once, after it wrote", { kill: "self", at: "after", once: true }, { pay_keyed: false, pay_invoice: false, pay_blind: true }],
    ["at every call, before it wrote", { kill: "self", at: "before" }, { pay_keyed: true, pay_invoice: true, pay_blind: true }],
    ["at every call, after it wrote", { kill: "self", at: "after" }, { pay_keyed: true, pay_invoice: false, pay_blind: true }],
    ["and does not come back", { kill: "self", at: "after", shut: true }, { pay_keyed: true, pay_invoice: true, pay_blind: true }],
  ];
  test.each(share(ways, 3, String))(
    "%s",
    async (_, mood, asks) => {
      await Promise.all(
        Object.keys(asks).map(async (tool) => {
          const one = await shop(FILES);
          const opened = await host(one);
          one.mood(mood);
          const id = await start(opened, "buys", { tool });
          let end = await rest(opened, id);
          expect([tool, end.status === "waiting", end.error?.message]).toEqual([tool, asks[tool], undefined]);
          if (end.status === "waiting") end = await look(one, opened, end);
          expect([tool, end.status, one.wrote().length]).toEqual([tool, "done", 1]);
        }),
      );
    },
    120_000,
  );
});

describe("the tool's server lives on and", () => {
  /** A bank over HTTP that carries out what it is asked to only some time after whoever asks has given up. */
  async function bank(status: number | null, afterMs: number, says = "upstream timed out"): Promise<{ trust: string; reached: string[] }> {
    const [reached, paid]: [string[], string[]] = [[], []];
    const listed = ["get_invoice", "pay_invoice"].map((name) => ({ name, description: name, input_schema: { type: "object" } }));
    const url = await serve((request, response, body) => {
      const { tool, params } = body === "" ? {} : (JSON.parse(body) as { tool?: string; params?: { invoice_id: string } });
      if (tool !== undefined) reached.push(tool);
      const id = params?.invoice_id ?? "";
      if (tool !== "pay_invoice")
        return void response.end(
          JSON.stringify(
            request.method === "GET" ? listed : { invoice_id: id, amount: "1.10", status: paid.includes(id) ? "paid" : "open" },
          ),
        );
      setTimeout(() => paid.push(id), afterMs).unref();
      if (status === CUT) response.destroy();
      else if (status !== null) response.writeHead(status).end(says);
    });
    const verify = "verify: {read: get_invoice, key: {invoice_id: invoice_id}, expect: {status: paid}, before: {status: open}}";
    return { trust: `mcp: {shop: {plain: "${url}", timeout_ms: 4000, tools: {pay_invoice: {class: mutate, ${verify}}}}}`, reached };
  }
  const CUT = 0;
  test("answers too late: it is asked to pay once, whether it pays late or never", async () => {
    const ways: [status: number | null, afterMs: number, end: string, reason: string | null, says?: string][] = [
      [null, 4500, "done", null],
      [504, 500, "done", null],
      [504, 600_000, "waiting", "in_doubt"],
      // A gateway that gives up, or cuts the connection, says nothing about the server behind it.
      [502, 600_000, "waiting", "in_doubt"],
      [CUT, 500, "done", null],
      [CUT, 600_000, "waiting", "in_doubt"],
      [408, 600_000, "waiting", "in_doubt", '{"error":"took too long"}'],
      [200, 600_000, "waiting", "in_doubt", '{"error":"upstream timed out"}'],
    ];
    const ends = await Promise.all(
      ways.map(async ([status, afterMs, , , says]) => {
        const { trust, reached } = await bank(status, afterMs, says);
        const one = await shop(FILES);
        one.commit({ "trust.yaml": one.read("trust.yaml").replace(/^mcp:(?:\n {2}.*)*$/m, trust) }, "trust");
        confirm(one.dir);
        const opened = await host(one);
        const end = await rest(opened, await start(opened, "buys", { tool: "pay_invoice" }));
        return [end.status, end.reason, reached.filter((tool) => tool === "pay_invoice").length];
      }),
    );
    expect(ends).toEqual(ways.map(([, , end, reason]) => [end, reason, 1]));
  });
});

class Killed extends Error {}

/** The owner dies in this operation on the record of this step. */
function killAt(opened: Host, name: string, operation: "intent" | "settle", when: "before" | "after"): Promise<void> {
  const { view } = opened.world;
  const { promise, resolve } = Promise.withResolvers<void>();
  let dead = false;
  const die = () => {
    dead = true;
    resolve();
    throw new Killed();
  };
  opened.world.view = async (run, log, now) => {
    for (const one of ["record", "intent", "settle", "wait", "end", "requeue", "release", "flush"] as const) {
      const inner = log[one].bind(log) as (...args: unknown[]) => unknown;
      Object.assign(log, {
        [one]: (...args: unknown[]) => {
          const here = one === operation && (args[0] as Step).name === name;
          if (dead || (here && when === "before")) die();
          const value = inner(...args);
          if (here) die();
          return value;
        },
      } satisfies Partial<Record<keyof RunLog, unknown>>);
    }
    return view(run, log, now);
  };
  return promise;
}

describe("the owner dies in", () => {
  const points = ["agent_call", "notify_send", "schedule_run"].flatMap((name) =>
    (["after intent", "before settle"] as const).map((point) => [name, point] as const),
  );
  test.each(share(points, 3, String))("%s, %s: notified once, started once", async (name, point) => {
    const one = await shop(FILES);
    let opened = await host(one);
    const [when, operation] = point.split(" ") as ["before" | "after", "intent" | "settle"];
    const killed = killAt(opened, name, operation, when);
    let stop = letStand(opened);
    const id = await start(opened, "tells");
    await killed;
    stop();
    await abandon(opened);
    opened = await host(one);
    stop = letStand(opened);
    const end = await opened.engine.result(id, { ended: true, timeoutMs: 30_000 }).finally(stop);
    expect(end, String(end.error?.message)).toMatchObject({ status: "done", result: { done: true } });
    const notices = opened.database.all<{ key: string }>("SELECT key FROM notices");
    const runs = (await opened.engine.list({ limit: 50 })).map((run) => `${run.agent} ${run.cause.kind}`).sort();
    expect([notices.length, runs]).toEqual([1, ["payer agent", "payer schedule", "tells command"]]);
    expect(one.wrote()).toEqual([{ tool: "shop/pay_blind", params: { invoice_id: "child" } }]);
  });
});
