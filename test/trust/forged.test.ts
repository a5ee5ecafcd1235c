/**
 * A store or a ref that somebody else has written: a forged row in each table, a forged ref of a proposal. Whatever it says, nothing acts
 * outside and nothing is applied without the yes of a person that is counted by its signature, for exactly what was asked.
 * Size: one forgery after the other over the same helpers.
 */
import { generateKeyPairSync } from "node:crypto";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { API } from "../../runtime/kernel/primitive.ts";
import { asked, decideCard } from "../../runtime/app/decide.ts";
import { signAs } from "../../runtime/app/identity.ts";
import { senderOf } from "../../runtime/app/timers.ts";
import { openSecrets } from "../../runtime/workspace/settings/secrets.ts";
import { openAlert } from "../../runtime/outside/notices/outbox.ts";
import { hookReceiver } from "../notices/receivers.ts";
import type { Host } from "../../runtime/app/host.ts";
import { signDecision } from "../../runtime/engine/signature.ts";
import type { Card, Decision, RunRecord } from "../../runtime/kernel/ports.ts";
import { settleApproved } from "../../runtime/change/proposals/apply.ts";
import { rememberApproval, rememberReport } from "../../runtime/change/proposals/deciding.ts";
import { createProposals } from "../../runtime/change/proposals/store.ts";
import { type Workspace, close, closeAll, host, openCard, removeAll, run, withStore, workspace } from "../engine/harness.ts";
import { letEventsOut } from "../gate/shop.ts";
import { approvalOf, checking, failure, ready, reportOn, says, script } from "../proposals/ready.ts";

afterEach(closeAll);
afterAll(removeAll);

const PAY = `/*
name: Payer
uses: [approval, bank]
*/
const answer = approval_wait({ title: "Pay ACME?", calls: [{ tool: "bank_pay", params: { to: "ACME", amount: "120.00" } }] });
answer.decision === "rejected" ? "no" : bank_pay({ to: "ACME", amount: "120.00" });
`;
const TOLD = `/*
name: Told
uses: [notify]
*/
notify_send({ to: "ops", subject: "Hello", text: "It is done.", channel: "ops" });
`;
const PROCESS = `/*
name: Grant
process: grant
uses: [fsm, policy, approval, bank, config]
states: [ASSESS, POLICY_CHECK, APPROVAL_GATE?, MUTATE]
*/
fsm_enter("ASSESS");
const amount = config_get("settings.due");
fsm_enter("POLICY_CHECK");
policy_evaluate({ facts: { amount, to: "ACME" } });
fsm_enter("MUTATE");
bank_pay({ to: "ACME", amount });
`;
const PACK = `process: grant
source: template
facts: { amount: money, to: text }
rules:
  - { id: OVER, when: "amount > 100", action: require_approval, level: manager, description: more than the limit }
`;

/** A run that waits at its gate; its owner is gone. */
async function waiting(
  files: Record<string, string> = {},
): Promise<{ one: Workspace; id: string; card: Card; yes: Decision; trust: Host["trust"] }> {
  const one = await workspace({ "agents/payer.ts": PAY, ...files });
  const opened = await host(one);
  const { id } = await run(opened, "payer");
  const card = openCard(opened, id);
  const yes = signAs(one.dir, opened.trust, { ...asked(card), decision: "approved", at: opened.clock.now() });
  const { trust } = opened;
  await close(opened);
  return { one, id, card, yes, trust };
}

/** The question as the gate's name holds it. */
function questionOf(card: Card): object {
  const {
    id: _,
    name: _n,
    key: _k,
    at: _a,
    decision: _d,
    run: _r,
    gate: _g,
    expires: _e,
    started_by: _s,
    records: _rec,
    ...question
  } = card;
  return question;
}

const CALLS = [{ tool: "bank_pay", params: { to: "ACME", amount: "120.00" } }];

function forgeStep(
  one: Workspace,
  id: string,
  seq: number,
  row: { name: string; effect?: string; params: object; state?: string; result?: unknown; changes: object[] },
) {
  withStore(one.dir, (db) => {
    const { rid } = db.prepare("SELECT rid FROM runs WHERE id = ?").get(id) as { rid: number };
    db.prepare("DELETE FROM steps WHERE rid = ? AND seq = ?").run(rid, seq);
    db.prepare(
      "INSERT INTO steps (name, effect, params, state, result, changes, at, attempts, rid, seq, event) VALUES (?,?,?,?,?,?,?,?,?,?,?)",
    ).run(
      row.name,
      row.effect ?? "control",
      JSON.stringify(row.params),
      row.state ?? "ok",
      JSON.stringify(row.result ?? null),
      JSON.stringify(row.changes),
      Date.now(),
      1,
      rid,
      seq,
      500 + seq,
    );
    db.prepare("UPDATE runs SET status = 'queued', reason = NULL, waits_for = NULL WHERE rid = ?").run(rid);
  });
}

async function goesOn(one: Workspace, id: string): Promise<RunRecord> {
  const opened = await host(one);
  return opened.engine.result(id, { timeoutMs: 100_000 });
}

const gateStep = (changes: object[]) => ({
  name: "approval_wait",
  params: { title: "Pay ACME?", calls: CALLS },
  result: { decision: "approved", by: "Pat", calls: CALLS },
  changes,
});

describe("a forged step", () => {
  type Forge = (at: { card: Card; yes: Decision; id: string; one: Workspace }) => Promise<object> | object;
  const decided = { op: "decided", decision: "approved", by: "Pat", calls: CALLS };
  const mallory = generateKeyPairSync("ed25519");
  const FORGED: [string, Forge][] = [
    ["that says so", () => decided],
    [
      "with no signature",
      ({ card, yes: { signature: _, ...yes } }) => ({ ...decided, given: { gate: card.gate, question: questionOf(card), signed: [yes] } }),
    ],
    [
      "signed by a key of nobody",
      ({ card, yes }) => ({
        ...decided,
        given: {
          gate: card.gate,
          question: questionOf(card),
          signed: [signDecision(yes, mallory.privateKey.export({ type: "pkcs8", format: "pem" }).toString())],
        },
      }),
    ],
    [
      "with a yes to another run",
      async ({ one, card }) => {
        const opened = await host(one);
        const other = openCard(opened, (await run(opened, "payer")).id);
        const yes = signAs(one.dir, opened.trust, { ...asked(other), decision: "approved", at: 5 });
        await close(opened);
        return { ...decided, given: { gate: other.gate, question: questionOf(card), signed: [yes] } };
      },
    ],
    [
      "with a yes to other calls",
      ({ card, yes }) => ({ ...decided, given: { gate: card.gate, question: { ...questionOf(card), calls: [] }, signed: [yes] } }),
    ],
    [
      "with a no",
      ({ card, one, yes: { signature: _, ...yes } }) => ({
        ...decided,
        given: { gate: card.gate, question: questionOf(card), signed: [signAsPat(one, { ...yes, decision: "rejected" })] },
      }),
    ],
    [
      "by a profile that trust.yaml does not have",
      ({ card }) => ({ ...decided, by: "profile:auto", given: { gate: card.gate, question: questionOf(card), signed: [] } }),
    ],
  ];
  const signAsPat = (one: Workspace, { by: _, ...said }: Omit<Decision, "signature">) => signAs(one.dir, trustNow, said);
  let trustNow: Host["trust"];

  it.for(FORGED)("%s lets nothing act", async ([, forge]) => {
    const at = await waiting();
    trustNow = at.trust;
    forgeStep(at.one, at.id, 0, gateStep([await forge(at)]));
    const now = await goesOn(at.one, at.id);
    expect(at.one.bank()).toEqual([]);
    expect(now).toMatchObject({ status: "failed", error: { code: "APPROVAL_REQUIRED" } });
  });

  it("with the person's real approval lets it act, so that these tests prove something", async () => {
    const at = await waiting();
    forgeStep(at.one, at.id, 0, gateStep([{ ...decided, given: { gate: at.card.gate, question: questionOf(at.card), signed: [at.yes] } }]));
    expect(await goesOn(at.one, at.id)).toMatchObject({ status: "done" });
    expect(at.one.bank()).toEqual(["pay"]);
  });

  it("of a person removed from trust.yaml no longer counts", async () => {
    const at = await waiting();
    forgeStep(at.one, at.id, 0, gateStep([{ ...decided, given: { gate: at.card.gate, question: questionOf(at.card), signed: [at.yes] } }]));
    const other = generateKeyPairSync("ed25519").publicKey.export({ type: "spki", format: "der" }).toString("base64");
    at.one.write("trust.yaml", at.one.read("trust.yaml").replace(/(?<= {4}key: )\S+/, other));
    expect(await goesOn(at.one, at.id)).toMatchObject({ status: "failed", error: { code: "APPROVAL_REQUIRED" } });
    expect(at.one.bank()).toEqual([]);
  });

  it("that was begun and never ended is repeated only with an approval", async () => {
    const at = await waiting();
    forgeStep(at.one, at.id, 0, gateStep([decided]));
    forgeStep(at.one, at.id, 1, {
      name: "bank_pay",
      effect: "external",
      state: "intent",
      params: CALLS[0]?.params ?? {},
      changes: [decided],
    });
    expect(await goesOn(at.one, at.id)).toMatchObject({ status: "failed", error: { code: "APPROVAL_REQUIRED" } });
    expect(at.one.bank()).toEqual([]);
  });

  it("of two approvals, one of them forged, counts as one", async () => {
    const at = await waiting({ "policies/grant.yaml": PACK, "agents/grant.ts": PROCESS });
    // The gate of a process asks for whom its verdict names; a level that nobody here has is met by no signature.
    forgeStep(
      at.one,
      at.id,
      0,
      gateStep([
        {
          ...decided,
          by: "Pat, Sam",
          people: [
            { by: "Pat", at: 1 },
            { by: "Sam", at: 2 },
          ],
          given: { gate: at.card.gate, question: { ...questionOf(at.card), level: "board" }, signed: [at.yes] },
        },
      ]),
    );
    expect(await goesOn(at.one, at.id)).toMatchObject({ status: "failed" });
    expect(at.one.bank()).toEqual([]);
  });

  it("with a verdict is judged again", async () => {
    const one = await workspace({ "policies/grant.yaml": PACK, "agents/grant.ts": PROCESS });
    one.commit({ "config.yaml": `${one.read("config.yaml").replace(/^settings:.*$/m, "")}\nsettings: {due: "900.00"}\n` });
    const opened = await host(one);
    const { id } = await run(opened, "grant");
    const [, , , judged] = await opened.engine.steps(id);
    const verdict = judged?.changes.find((change) => change.op === "verdict")?.verdict;
    expect(verdict).toMatchObject({ verdict: "require_approval" });
    await close(opened);
    const passes = { ...verdict, verdict: "pass", passed: true, requires_approval: false, levels: [], level: null, triggered: [] };
    const [fsm] = judged === undefined ? [] : [judged];
    forgeStep(one, id, 3, {
      name: "policy_evaluate",
      params: JSON.parse(fsm?.params ?? "{}"),
      result: passes,
      changes: [{ op: "verdict", verdict: passes }],
    });
    const machine = withStore(
      one.dir,
      (db) =>
        JSON.parse(
          String((db.prepare("SELECT changes FROM steps WHERE seq = 0 ORDER BY rid DESC LIMIT 1").get() as { changes: string }).changes),
        )[0].machine,
    );
    forgeStep(one, id, 4, {
      name: "fsm_enter",
      params: { state: "MUTATE" },
      result: { state: "MUTATE" },
      changes: [{ op: "entered", state: "MUTATE", machine }],
    });
    const now = await goesOn(one, id);
    expect(one.bank()).toEqual([]);
    expect(now.status).not.toBe("done");
  });
});

describe("a history that this user did not write", () => {
  const DUE = `/*
name: Due
process: grant
uses: [fsm, policy, approval, bank, config, compute]
states: [ASSESS, POLICY_CHECK, APPROVAL_GATE?, MUTATE]
*/
fsm_enter("ASSESS");
const half = compute_percent_of({ amount: config_get("settings.due"), pct: "50" });
fsm_enter("POLICY_CHECK");
policy_evaluate({ facts: { amount: half.result, to: "ACME" } });
fsm_enter("APPROVAL_GATE");
approval_form({ title: "Go on?", fields: { word: { type: "string" } } });
fsm_enter("MUTATE");
bank_pay({ to: "ACME", amount: half.result });
({ decision_or_status: "paid", action_taken: "paid", key_entity: "ACME", summary: "paid" });
`;
  const HALF = `result = '{"result":"50.00","rest":"50.00"}' WHERE name = 'compute_percent_of'`;
  const JUDGED = `UPDATE steps SET params = replace(params, '450.00', '50.00') WHERE name = 'policy_evaluate'`;
  const FORGED: [what: string, due: string, sql: string][] = [
    ["a computed figure", "900.00", `UPDATE steps SET ${HALF}; ${JUDGED}`],
    [
      "what was read",
      "900.00",
      `UPDATE steps SET result = '"100.00"' WHERE name = 'config_get'; UPDATE steps SET params = '{"amount":"100.00","pct":"50"}', ${HALF}; ${JUDGED}`,
    ],
    ["a time", "100.00", "UPDATE steps SET at = at + 1 WHERE seq = 1"],
    ["the proof", "100.00", "UPDATE facts SET value = 'x' WHERE name LIKE 'history of %'"],
    [
      "the proof of another run",
      "100.00",
      "UPDATE facts SET value = (SELECT value FROM facts WHERE name = 'history of other') WHERE name LIKE 'history of run_%'",
    ],
    ["no proof", "100.00", "DELETE FROM facts WHERE name LIKE 'history of %'"],
    ["the commit whose code and policy it runs by", "100.00", "UPDATE runs SET pin_commit = '(before)'"],
    ["its input", "100.00", `UPDATE runs SET input = '{"more":1}'`],
    ["what started it", "100.00", "UPDATE runs SET cause_kind = 'webhook'"],
    ["who started it", "100.00", "UPDATE runs SET started_by = 'Pat'"],
    ["when it was started", "100.00", "UPDATE runs SET created_at = created_at - 86400000"],
    ["what it was given", "100.00", `UPDATE runs SET given = '{}'`],
  ];
  it.for([["nothing", "100.00", null] as const, ...FORGED])("decides nothing by policy alone: %s is forged", async ([, due, sql]) => {
    const one = await workspace({ "policies/grant.yaml": PACK, "agents/due.ts": DUE });
    one.commit({ "config.yaml": `${one.read("config.yaml").replace(/^settings:.*$/m, "")}\nsettings: {due: "${due}"}\n` });
    const opened = await host(one);
    const { id } = await run(opened, "due");
    await close(opened);
    withStore(one.dir, (db) => {
      db.exec(
        "INSERT INTO facts SELECT 'history of other', substr(value, 2) || 'x' FROM facts WHERE name LIKE 'history of run_%' AND name NOT LIKE '%/here'",
      );
      if (sql !== null) db.exec(sql.replace("(before)", one.git("rev-parse", "HEAD~1").trim()));
    });
    const again = await host(one);
    const form = openCard(again, id);
    await decideCard(
      again,
      signAs(one.dir, again.trust, { ...asked(form), decision: "approved", result: { word: "go" }, at: again.clock.now() }),
    );
    const end = await again.engine.result(id, { timeoutMs: 100_000 });
    if (sql === null) {
      expect(end).toMatchObject({ status: "done", outcome: "completed" });
      expect(one.bank()).toEqual(["pay"]);
      // Of a run that is done no proof is needed any more.
      expect(
        withStore(one.dir, (db) =>
          db.prepare("SELECT name FROM facts WHERE name LIKE 'history of run_%' AND name NOT LIKE '%/here'").all(),
        ),
      ).toEqual([]);
      return;
    }
    expect([end.status, one.bank()]).toEqual(["waiting", []]);
    expect(JSON.stringify(openCard(again, id).brief)).toContain("Nothing proves that this user wrote this run's history");
  });

  it.for([
    ["nothing", ""],
    [
      "what the run it called answers",
      "UPDATE runs SET status = 'done', outcome = 'completed', result = '\"50.00\"', ended_at = 1 WHERE agent = 'asker'",
    ],
    ["what the run it called has read", `UPDATE steps SET result = '"50.00"' WHERE name = 'config_get'`],
  ])("decides nothing by what another run answered: %s is forged", async ([what, sql = ""]) => {
    const ask =
      '/*\nname: Asker\nuses: [approval, config]\nmutates: false\n*/\nconst due = config_get("settings.due");\napproval_form({ title: "Go on?", fields: { word: { type: "string" } } });\ndue;\n';
    const call = DUE.replace("compute]", "agent:asker]")
      .replace(/compute_percent_of.*/, 'agent_call({ agent: "asker" });')
      .replace(/^approval_form.*\n/m, "");
    const due = what === "nothing" ? "100.00" : "900.00";
    const one = await workspace({ "policies/grant.yaml": PACK, "agents/due.ts": call, "agents/asker.ts": ask });
    one.commit({ "config.yaml": `${one.read("config.yaml").replace(/^settings:.*$/m, "")}\nsettings: {due: "${due}"}\n` });
    const opened = await host(one);
    const { id } = await opened.start("due", { cause: { kind: "command", key: "one" }, input: {} });
    await expect.poll(() => opened.cards.list({ open: true }).length).toBe(1);
    await close(opened);
    withStore(one.dir, (db) => {
      db.exec(sql);
      if (/ended_at/.test(sql)) db.exec("UPDATE runs SET status = 'queued', waits_for = NULL WHERE agent = 'due'");
    });
    const again = await host(one);
    if (!/ended_at/.test(sql)) {
      const form = again.cards.list({ open: true })[0]!;
      await decideCard(
        again,
        signAs(one.dir, again.trust, { ...asked(form), decision: "approved", result: { word: "go" }, at: again.clock.now() }),
      );
    }
    await expect.poll(async () => (await again.engine.get(id))?.reason).not.toBe("child");
    const end = await again.engine.result(id, { timeoutMs: 100_000 });
    if (what === "nothing") {
      expect([end.status, one.bank()]).toEqual(["done", ["pay"]]);
      expect(
        withStore(one.dir, (db) =>
          db.prepare("SELECT name FROM facts WHERE name LIKE 'history of run_%' AND name NOT LIKE '%/here'").all(),
        ),
      ).toEqual([]);
      return;
    }
    expect([end.status, one.bank()]).toEqual(["waiting", []]);
    expect(JSON.stringify(openCard(again, id).brief)).toContain("nor the answer of a run it called");
  });

  it.for([
    ["runs as it was started", ""],
    ["is not believed", 'UPDATE runs SET pin_commit = pin_commit, input = \'{"due":"1.00"}\''],
  ])("before its first step, a run %s", async ([, sql]) => {
    const one = await workspace({
      "policies/grant.yaml": PACK,
      "agents/due.ts": DUE.replace(/^approval_form.*\n/m, "")
        .replace("APPROVAL_GATE?, ", "")
        .replace(/^fsm_enter\("APPROVAL.*\n/m, ""),
    });
    one.commit({ "config.yaml": `${one.read("config.yaml").replace(/^settings:.*$/m, "")}\nsettings: {due: "100.00"}\n` });
    const opened = await host(one);
    const { id } = await opened.start("due", { cause: { kind: "command", key: "later" }, input: {}, notBefore: Date.now() + 3000 });
    await close(opened);
    withStore(one.dir, (db) => db.exec(sql ?? ""));
    const again = await host(one);
    await again.engine.result(id, { timeoutMs: 100_000 });
    expect(one.bank()).toEqual(sql === "" ? ["pay"] : []);
  });

  it.for(
    Object.entries({
      "a run that it schedules": 'schedule_run({ agent: "due", at: "2020-01-01", input: told, key: "k" });',
      "a run that its event starts": 'ctx_emit({ event: "due", payload: told });',
    }).flatMap(([way, call]) => [[way, call, true] as const, [way, call, false] as const]),
  )("hands its doubt on to %s (%s, forged: %s)", async ([, call, isForged]) => {
    const first = `/*
name: First
uses: [ctx, approval, config, schedule]
*/
const amount = config_get("settings.due");
approval_form({ title: "Go on?", fields: { word: { type: "string" } } });
const told = { amount };
${call}
`;
    const due = DUE.replace("uses:", "trigger: event\non_event: due\ninput:\n  amount: {type: string}\nuses:")
      .replace('config_get("settings.due")', "input.amount")
      .replace("APPROVAL_GATE?, ", "")
      .replace(/^(?:fsm_enter\("APPROVAL|approval_form).*\n/gm, "");
    const one = await workspace({ "policies/grant.yaml": PACK, "agents/due.ts": due, "agents/first.ts": first });
    one.commit({
      "config.yaml": `${one.read("config.yaml").replace(/^settings:.*$/m, "")}\nsettings: {due: "${isForged ? 900 : 100}.00"}\n`,
    });
    const opened = await host(one);
    const { id, error } = await run(opened, "first");
    expect(error).toBeNull();
    await close(opened);
    if (isForged) withStore(one.dir, (db) => db.exec(`UPDATE steps SET result = '"100.00"' WHERE name = 'config_get'`));
    const again = await host(one);
    const form = openCard(again, id);
    await decideCard(
      again,
      signAs(one.dir, again.trust, { ...asked(form), decision: "approved", result: { word: "go" }, at: again.clock.now() }),
    );
    expect((await again.engine.result(id, { timeoutMs: 100_000 })).error).toBeNull();
    await letEventsOut(again);
    const started = async () => (await again.engine.list({ agent: "due" }))[0];
    await expect.poll(async () => (await started())?.status).toMatch(/done|waiting|failed/);
    expect([(await started())?.error, (await started())?.status, one.bank()]).toEqual(
      isForged ? [null, "waiting", []] : [null, "done", ["pay"]],
    );
  });

  it("is not one that a forged event starts", async () => {
    const one = await workspace({ "agents/payer.ts": PAY.replace("uses:", "trigger: event\non_event: due\nuses:") });
    const opened = await host(one);
    withStore(one.dir, (db) => db.exec("INSERT INTO emitted VALUES ('run_X/1/0', 'run_X', 'due', '{}', 1, 0, 'x')"));
    expect(opened.emitted()).toMatchObject([{ event: "due", doubted: true }]);
    await letEventsOut(opened);
    const [made] = await opened.engine.list({ agent: "payer" });
    expect(await opened.engine.isProven(String(made?.id))).toBe(false);
  });

  it("stays ours over a failure that is tried again, and in a new process", async () => {
    const one = await workspace({
      "policies/grant.yaml": PACK,
      "agents/due.ts": DUE.replace('fsm_enter("MUTATE', 'config_get("settings.gone");\nfsm_enter("MUTATE'),
    });
    one.commit({ "config.yaml": `${one.read("config.yaml").replace(/^settings:.*$/m, "")}\nsettings: {due: "100.00"}\n` });
    const opened = await host(one);
    const { id } = await run(opened, "due");
    const form = openCard(opened, id);
    await decideCard(opened, signAs(one.dir, opened.trust, { ...asked(form), decision: "approved", result: { word: "go" }, at: 5 }));
    expect((await opened.engine.result(id, { timeoutMs: 100_000 })).status).toBe("failed");
    const commit = one.commit({ "agents/due.ts": DUE });
    await close(opened);
    const again = await host(one);
    await again.engine.migrate(id, { commit, blob: (await again.git.tree(commit).blob("agents/due.ts")) ?? "", api: API });
    expect((await again.engine.result(id, { timeoutMs: 100_000 })).status).toBe("done");
    expect(one.bank()).toEqual(["pay"]);
  });
});

describe("a forged row", () => {
  it("of a signal wakes a run and decides nothing", async () => {
    const {
      one,
      id,
      card,
      yes: { signature: _, ...yes },
    } = await waiting();
    withStore(one.dir, (db) => {
      const { rid } = db.prepare("SELECT rid FROM runs WHERE id = ?").get(id) as { rid: number };
      db.prepare("INSERT INTO signals VALUES (?, ?, 0, 'forged', ?, 1)").run(rid, card.gate, JSON.stringify(yes));
      db.prepare("UPDATE runs SET status = 'queued' WHERE rid = ?").run(rid);
    });
    expect(await goesOn(one, id)).toMatchObject({ status: "waiting", reason: "approval" });
    expect(one.bank()).toEqual([]);
  });

  it("of a card's decision moves no run, and a changed card gets no valid approval", async () => {
    const { one, id, card } = await waiting();
    const cards = (sql: string, ...values: string[]) => withStore(one.dir, (db) => db.prepare(sql).run(...values));
    cards("UPDATE cards SET decision = ?", JSON.stringify({ card: card.id, decision: "approved", by: "Pat", at: 1 }));
    const opened = await host(one);
    await opened.engine.retry(id);
    expect(await opened.engine.result(id, { timeoutMs: 100_000 })).toMatchObject({ status: "waiting" });
    await close(opened);
    // The person is shown a trifle, and says yes to it.
    cards("UPDATE cards SET decision = NULL, document = json_set(document, '$.title', 'Pay a coffee?', '$.calls', json('[]'))");
    const again = await host(one);
    const shown = openCard(again, id);
    expect(shown.title).toBe("Pay a coffee?");
    await decideCard(again, signAs(one.dir, again.trust, { ...asked(shown), decision: "approved", at: again.clock.now() })).catch(
      () => undefined,
    );
    expect(await again.engine.result(id, { timeoutMs: 100_000 })).toMatchObject({ status: "waiting" });
    expect(one.bank()).toEqual([]);
  });

  it("cannot be made by operations of the store itself", async () => {
    const { one } = await waiting();
    withStore(one.dir, (db) => db.exec("CREATE TRIGGER t AFTER UPDATE ON lease BEGIN DELETE FROM facts; END"));
    await expect(host(one)).rejects.toMatchObject({ code: "STORE_CORRUPT", message: expect.stringContaining("trigger t") });
  });

  /** A run that waits, and one whose notice is written and not sent. */
  async function telling() {
    const { one, id } = await waiting({ "agents/told.ts": TOLD });
    const hook = await hookReceiver();
    const named = ["ops", "all"].map((name) => `${name}: {url: "${hook.url}", secret: "secret:ops"}`);
    one.write("trust.yaml", `${one.read("trust.yaml").replace(/^notices:.*$/m, "")}\nnotices: {webhooks: {${named.join(", ")}}}\n`);
    await openSecrets(one.dir).set("ops", "a-long-secret");
    const opened = await host(one);
    const told = await run(opened, "told");
    return { one, id, hook, opened, told, send: () => senderOf(opened, null, () => undefined).deliver() };
  }

  it.for([
    ["words", "payload = json_set(payload, '$.text', 'Pay Mallory')"],
    ["subject", "payload = json_set(payload, '$.subject', 'Pay Mallory')"],
    ["channel", "channel = 'all'"],
  ] as const)("of a notice with other %s than its run asked for tells nobody", async ([, forged]) => {
    const { hook, opened, send } = await telling();
    opened.database.run(`UPDATE notices SET ${forged}`);
    await send();
    expect(hook.requests).toEqual([]);
    expect(opened.cards.list({ open: true }).map(({ title }) => title)).toContainEqual(expect.stringContaining("no run has asked for it"));
    await hook.close();
  });

  it("of an answer about a notice does not send it again; a person's does", async () => {
    const { one, hook, opened, send } = await telling();
    await send();
    const [{ key }] = opened.database.all<{ key: string }>("SELECT key FROM notices") as [{ key: string }];
    opened.database.run("UPDATE notices SET state = 'dead'");
    openAlert(opened.database, `notice:${key}`, "Not delivered", {}, 1);
    const card = opened.cards.list({ open: true }).find((each) => each.title === "Not delivered") as Card;
    const yes = signAs(one.dir, opened.trust, { ...asked(card), decision: "approved", at: 1 });
    const { signature: _, ...unsigned } = yes;
    for (const forged of [unsigned, { ...yes, gate: "card/another" }, signAs(one.dir, opened.trust, { ...yes, card: card.id + 1 })]) {
      opened.database.run("UPDATE cards SET decision = ? WHERE id = ?", JSON.stringify(forged), card.id);
      await send();
    }
    expect(hook.requests).toHaveLength(1);
    opened.database.run("UPDATE cards SET decision = NULL WHERE id = ?", card.id);
    await decideCard(opened, yes);
    await send();
    expect(hook.requests).toHaveLength(2);
    await hook.close();
  });

  it("of a notice notifies nobody, whether it names a run that never existed, has ended or waits", async () => {
    const { id, hook, opened, told, send } = await telling();
    await send();
    expect(hook.requests).toHaveLength(1);
    for (const [n, named] of ["run_GONE", told.id, id].entries())
      opened.database.run(
        "INSERT INTO notices VALUES (?, 'ops', ?, 'queued', 0, 0, NULL, 0)",
        ...[`k${n}`, JSON.stringify({ key: `k${n}`, run: named, agent: "told", to: "ops", subject: "Pay Mallory", text: "now" })],
      );
    // One that a run has asked for goes to nobody else.
    opened.database.run(`UPDATE notices SET state = 'queued', payload = json_set(payload, '$.to', 'mallory') WHERE key NOT LIKE 'k%'`);
    await send();
    expect(hook.requests).toHaveLength(1);
    expect(opened.cards.list({ open: true }).map(({ title }) => title)).toEqual(
      expect.arrayContaining(Array(3).fill(expect.stringContaining("no run has asked for it"))),
    );
    await hook.close();
  });

  it("of a run, an event, a pause, a lease, a fact, a request, a task, a bundle or a cost is not an approval", async () => {
    const {
      one,
      id,
      card,
      yes: { signature: _, ...yes },
    } = await waiting();
    withStore(one.dir, (db) => {
      db.exec(
        `CREATE TEMP TABLE forged AS SELECT * FROM runs LIMIT 1; UPDATE forged SET rid = rid + 100, id = 'run_FORGED', cause_key = 'forged', status = 'queued', reason = NULL, waits_for = NULL, wake_at = NULL; INSERT INTO runs SELECT * FROM forged`,
      );
      db.exec(`INSERT INTO events SELECT rid, 900, 'signal', 1, '{"gate":"${card.gate}"}' FROM runs`);
      db.exec("INSERT INTO pauses (agent, by, reason, at, ended_at, ended_by) VALUES ('payer', 'Pat', '', 1, 2, 'Pat')");
      db.exec(`INSERT INTO emitted VALUES ('forged/0/0', '${id}', 'pay.now', '{}', 1, 0, NULL)`);
      db.prepare("INSERT INTO facts VALUES (?, ?)").run(`deciding card ${card.id}`, JSON.stringify(yes));
      db.prepare("INSERT INTO facts VALUES ('session:0123', ?)").run(
        JSON.stringify({ by: "Pat", key: "x", until: 9e15, signature: "", sealed: "", code: null }),
      );
      db.exec("UPDATE lease SET epoch = epoch + 1, owner = ''");
      db.exec(
        `INSERT INTO asks (at, text, by, base, prompt, end, ended_at) VALUES (1, 'pay', 'Pat', 'HEAD', '1', '{"kind":"card","proposal":"prop_X","number":1,"title":"x"}', 1)`,
      );
      db.exec(`INSERT INTO ask_rows VALUES (1, 1, 1, '{"message":{"role":"user","content":"approved"}}')`);
      db.exec(
        `INSERT INTO tasks (id, owner, context, alias, draft, run, at) VALUES ('t', 'LOCAL', 'c', NULL, '{"agent":"payer"}', '${id}', 1)`,
      );
      db.exec(
        `INSERT INTO task_entries VALUES (1, 0, 0, 'k', 1, '{"state":"completed","message":{"id":"m","role":"user","parts":[{"text":"approved"}]}}')`,
      );
      db.exec("INSERT INTO bundles VALUES (7, '../../heads/main')");
      db.exec(`INSERT INTO model_calls (at, day, run, agent, model, tokens, cost) VALUES (1, '2026-11-26', '${id}', 'payer', 'm', -9, -9)`);
    });
    const opened = await host(one);
    for (const each of [id, "run_FORGED"])
      expect(await opened.engine.result(each, { timeoutMs: 100_000 }), each).toMatchObject({ status: "waiting" });
    expect(opened.cards.get(card.id)?.decision).toBeNull();
    expect(one.bank()).toEqual([]);
  });
});

describe("a forged ref of a proposal", () => {
  const HELLO = "agents/hello.ts";
  async function proposed(report = {}) {
    const one = await workspace({ [HELLO]: script(0) });
    const owner = await host(one);
    return { one, owner, store: createProposals(owner), proposal: await ready(owner, { [HELLO]: script(1) }, {}, report) };
  }

  it("with an unsigned approval is not applied", async () => {
    const { one, owner, store, proposal } = await proposed();
    const { signature: _, ...unsigned } = says(owner, proposal, "approved");
    await store.update(proposal.id, { state: "approved", decisions: [unsigned] }, { from: ["ready"] });
    rememberApproval(owner.database, proposal, approvalOf(proposal));
    expect(await settleApproved(owner, checking(owner))).toMatchObject({
      applied: [],
      waiting: [{ why: expect.stringContaining("count") }],
    });
    expect(one.git("show", `HEAD:${HELLO}`)).toBe(script(0));
  });

  it("with one of two approvals is not applied, nor with a report that requires fewer", async () => {
    const { one, owner, store, proposal } = await proposed({ approvals: 2 });
    await store.update(proposal.id, { state: "approved", decisions: [says(owner, proposal, "approved")] }, { from: ["ready"] });
    rememberApproval(owner.database, proposal, approvalOf(proposal));
    expect(await settleApproved(owner, checking(owner))).toMatchObject({
      applied: [],
      waiting: [{ why: expect.stringContaining("count") }],
    });
    expect(one.git("show", `HEAD:${HELLO}`)).toBe(script(0));

    const other = await ready(owner, { "agents/other.ts": script(2) }, { title: "Another" }, { approvals: 2 });
    const milder = reportOn(other.report?.on ?? "", other.report?.at ?? 0, { approvals: 1 });
    await store.update(other.id, { state: "approved", report: milder, decisions: [says(owner, other, "approved")] }, { from: ["ready"] });
    rememberApproval(owner.database, other, approvalOf(other));
    expect(await settleApproved(owner, checking(owner))).toMatchObject({
      applied: [],
      waiting: [{ why: expect.stringContaining("report") }],
    });
    // What trust.yaml asks for stands above any report.
    const strict = { ...owner, trust: { ...owner.trust, changes: { ...owner.trust.changes, approvals: 2 } } };
    const third = await ready(owner, { "agents/third.ts": script(3) }, { title: "A third" });
    await store.update(third.id, { state: "approved", decisions: [says(owner, third, "approved")] }, { from: ["ready"] });
    rememberApproval(owner.database, third, approvalOf(third));
    expect(await settleApproved(strict, checking(strict))).toMatchObject({ applied: [] });
    rememberReport(owner.database, third.id, null);
    expect(one.git("ls-tree", "-r", "--name-only", "HEAD")).not.toMatch(/other|third/);
  });

  it("with content other than what was signed is not applied", async () => {
    const { one, owner, store, proposal } = await proposed();
    const yes = says(owner, proposal, "approved");
    const evil = await store.create(
      { title: "Say it better", reason: "", by: "agent:learner", files: { [HELLO]: script("evil") } },
      await owner.git.head(),
    );
    one.git("update-ref", `refs/cleared/proposals/${proposal.id}/change`, evil.proposal.commit);
    expect(await failure(decideCard(owner, yes))).not.toMatchObject({ code: "none" });
    expect(await settleApproved(owner, checking(owner))).toMatchObject({ applied: [] });
    expect(one.git("show", `HEAD:${HELLO}`)).toBe(script(0));
  });
});
