/** A store that is older than what was done, or whose rows say that something was begun or accepted: nothing is sent twice, nothing without a person. */
import { copyFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, expect, it } from "vitest";
import { createApi } from "../../runtime/app/api.ts";
import { pauseAgents, resumeAgents } from "../../runtime/app/pause.ts";
import { asked, decideCard } from "../../runtime/app/decide.ts";
import { signAs } from "../../runtime/app/identity.ts";
import { settleApproved } from "../../runtime/change/proposals/apply.ts";
import { DECIDING } from "../../runtime/engine/store/cards.ts";
import type { Card, Json, RunRecord } from "../../runtime/kernel/ports.ts";
import { confirm } from "../confirm.ts";
import { createSent } from "../../runtime/workspace/settings/sent.ts";
import { close, closeAll, copyOf, decide, host, openCard, removeAll, run, signed, withStore, workspace } from "../engine/harness.ts";
import { checking, decide as decideProposed, ready, script } from "../proposals/ready.ts";
import { begin, made, say, TEAM } from "../engine/gates.ts";
import { header, type Shop, shop, STATES } from "../gate/shop.ts";

afterEach(closeAll);
afterAll(removeAll);

const pay = (tool: string) => ({ tool: `shop/${tool}`, params: { invoice_id: "I-1", amount: "10.00" } });
const ASKS = (
  ...tools: string[]
) => `${header("mcp, approval")}const answer = approval_wait({ title: "Pay?", calls: ${JSON.stringify(tools.map(pay))} });
for (const call of answer.calls) mcp_call(call);
"paid";
`;
const BY_POLICY = (...tools: string[]) => `${header("mcp, fsm, policy, approval, bank", STATES)}fsm_enter("ASSESS");
const due = mcp_call({ tool: "shop/get_invoice", params: { invoice_id: "I-1" } });
fsm_enter("COMPUTE");
fsm_enter("POLICY_CHECK");
policy_evaluate({ policy: "open", facts: { fine: true, amount: due.amount } });
fsm_enter("APPROVAL_GATE");
approval_form({ title: "Go on?", fields: { word: { type: "string" } } });
fsm_enter("MUTATE");
for (const tool of ${JSON.stringify(tools)}) mcp_call({ tool: "shop/" + tool, params: { invoice_id: "I-1" } });
"paid";
`;
const AGAIN = "status = 'queued', reason = NULL, waits_for = NULL, outcome = NULL, result = NULL, meta = NULL, ended_at = NULL";

/** The run in a new process, once it rests. */
async function goesOn(at: Shop, id: string): Promise<[RunRecord, string]> {
  const owner = await host(at);
  const end = await owner.engine.result(id, { timeoutMs: 100_000 });
  return [end, end.status === "waiting" ? openCard(owner, id).title : ""];
}

it("a call that a row says was begun, as a read, is made only with a person's approval", async () => {
  const at = await shop({ "agents/pays.ts": ASKS("pay_blind") });
  const owner = await host(at);
  const { id } = await run(owner, "pays");
  await close(owner);
  const step = (seq: number, name: string, effect: string, params: Json, state: string, result: Json) =>
    `(${["(SELECT rid FROM runs)", seq, 500 + seq].join()}, '${name}', '${effect}', '${JSON.stringify(params)}', '${state}', '${JSON.stringify(result)}', NULL, ${Date.now()}, 1)`;
  const asked = step(0, "approval_wait", "control", { title: "Pay?", calls: [pay("pay_blind")] }, "ok", {
    decision: "approved",
    calls: [pay("pay_blind")],
  });
  withStore(at.dir, (db) => {
    db.exec(`INSERT INTO steps (rid, seq, event, name, effect, params, state, result, changes, at, attempts)
      VALUES ${asked}, ${step(1, "mcp_call", "read", pay("pay_blind"), "intent", null)}; UPDATE runs SET ${AGAIN}`);
  });
  const [end] = await goesOn(at, id);
  expect([end.status, at.wrote()]).toEqual(["waiting", []]);
});

it("an approval is used once, even if the step that used it is deleted from the store", async () => {
  const at = await shop({ "agents/pays.ts": ASKS("pay_blind") });
  const owner = await host(at);
  const { id } = await run(owner, "pays");
  expect((await decide(owner, id, "approved")).status).toBe("done");
  await close(owner);
  withStore(at.dir, (db) => db.exec(`DELETE FROM steps WHERE name = 'mcp_call'; UPDATE runs SET ${AGAIN}`));
  const [end, title] = await goesOn(at, id);
  expect([end.status, title, at.wrote().length]).toEqual(["waiting", "Did mcp_call happen?", 1]);
});

it("a store from a backup pays nothing again by policy", async () => {
  const at = await shop({ "agents/pays.ts": BY_POLICY("pay_blind") });
  const first = await host(at);
  const { id, error } = await run(first, "pays");
  expect(error).toBeNull();
  await close(first);
  copyFileSync(join(at.dir, ".cleared/store.db"), `${at.dir} backup.db`);
  const owner = await host(at);
  const form = { result: { word: "go" } };
  expect((await decide(owner, id, "approved", form)).reason).toBe("escalation");
  expect(at.wrote().length).toBe(1);
  await close(owner);
  copyFileSync(`${at.dir} backup.db`, join(at.dir, ".cleared/store.db"));
  const again = await host(at);
  const end = await decide(again, id, "approved", form);
  expect([end.status, openCard(again, id).title, at.wrote().length]).toEqual(["waiting", "Did mcp_call happen?", 1]);
});

it("a mismatch that a row says somebody has accepted is looked at by a person", async () => {
  const at = await shop({ "agents/pays.ts": BY_POLICY("pay_invoice", "pay_blind") });
  const owner = await host(at);
  const { id } = await run(owner, "pays");
  at.mood({ says: { invoice_id: "I-1", amount: "10.00", status: "open" } });
  const waits = await decide(owner, id, "approved", { result: { word: "go" } });
  expect(openCard(owner, waits.id).title).toMatch(/^MISMATCH/);
  await close(owner);
  withStore(at.dir, (db) => {
    db.exec(
      `UPDATE steps SET changes = json_insert(ifnull(changes, '[]'), '$[#]', json('{"op":"accepted","by":"Pat"}')) WHERE name = 'mcp_call'`,
    );
    db.exec(`UPDATE runs SET ${AGAIN}`);
  });
  const [end, title] = await goesOn(at, id);
  expect([end.status, title]).toEqual(["waiting", expect.stringMatching(/^MISMATCH/)]);
});

it("what was done once stays known when the workspace moves, and is nothing of other workspaces", async () => {
  const [one, other] = [await workspace(), await workspace()];
  for (const { dir } of [one, other]) confirm(dir);
  createSent(one.dir).keep("a tick");
  const moved = copyOf(one);
  confirm(moved.dir);
  createSent(moved.dir).keep("the next");
  const again = copyOf(moved);
  confirm(again.dir);
  expect([moved, again, other].map(({ dir }) => createSent(dir).has("a tick"))).toEqual([true, true, false]);
});

it("a decision on the books that somebody took back is not carried out again from a row", async () => {
  const at = await workspace();
  at.write("import/s.csv", "Date,Description,Amount\n2026-01-05,Lunch with ACME,-12.00\n");
  const owner = await host(at);
  await createApi(owner).import({ files: [join(at.dir, "import/s.csv")], dryRun: false, again: false });
  const [card] = owner.cards.list({ open: true }).filter(({ kind }) => kind === "entry");
  const yes = signAs(at.dir, owner.trust, { ...asked(card as Card), decision: "approved", account: "5020", at: 1 });
  const { commit } = await decideCard(owner, yes);
  await close(owner);
  at.git("revert", "--no-edit", commit ?? "");
  const head = at.git("rev-parse", "HEAD");
  withStore(at.dir, (db) => {
    db.prepare("UPDATE cards SET decision = NULL WHERE id = ?").run(card?.id ?? 0);
    db.prepare("INSERT OR REPLACE INTO facts VALUES (?, ?)").run(`${DECIDING}${card?.id}`, JSON.stringify(yes));
  });
  const next = await host(at);
  await expect(decideCard(next, yes)).rejects.toMatchObject({
    code: "CARD_CLOSED",
    message: expect.stringMatching(/carried out before.*decide it again/),
  });
  // Its last letter has bits that belong to no byte.
  const spelled = {
    ...yes,
    signature: (yes.signature ?? "").replace(/.==$/, (end) => `${end[0] === "A" ? "B" : String.fromCharCode(end.charCodeAt(0) + 1)}==`),
  };
  await expect(decideCard(next, spelled)).rejects.toMatchObject({ code: "APPROVAL_IDENTITY" });
  expect([at.git("rev-parse", "HEAD"), next.cards.get(card?.id ?? 0)?.decision]).toEqual([head, null]);
  const { commit: again } = await decideCard(
    next,
    signAs(at.dir, next.trust, { ...asked(card as Card), decision: "approved", account: "5020", at: 2 }),
  );
  expect(again).not.toBeNull();
});

it("an applied proposal that somebody took back is not applied again from an older state", async () => {
  const at = await workspace({ "agents/hello.ts": script(0) });
  const owner = await host(at);
  const proposal = await ready(owner, { "agents/hello.ts": script(1) });
  await decideProposed(owner, proposal);
  at.git("revert", "--no-edit", "HEAD");
  const head = at.git("rev-parse", "HEAD").trim();
  const ref = `refs/cleared/proposals/${proposal.id}/state`;
  const approved =
    at
      .git("log", "--format=%H %s", ref)
      .split("\n")
      .find((line) => / approved /.test(line))
      ?.split(" ")[0] ?? "";
  const said = owner.cards.get(proposal.number)?.decision?.signature;
  await close(owner);
  at.git("update-ref", ref, approved);
  withStore(at.dir, (db) => {
    const set = db.prepare("INSERT OR REPLACE INTO facts VALUES (?, ?)");
    set.run(`proposal approved ${proposal.id}`, `${proposal.commit} 0 ${said}`);
    set.run("proposals on the branch", JSON.stringify({ head, marks: {}, commits: {} }));
    db.prepare("UPDATE cards SET decision = NULL WHERE id = ?").run(proposal.number);
  });
  const next = await host(at);
  const settled = await settleApproved(next, checking(next));
  expect(settled).toMatchObject({ applied: [], waiting: [{ why: expect.stringMatching(/applied before, and was taken back/) }] });
  expect(at.git("rev-parse", "HEAD").trim()).toBe(head);
});

it("a run that a person canceled does not use an old approval, whatever its row says", async () => {
  const at = await shop({ "agents/pays.ts": ASKS("pay_blind") });
  const owner = await host(at);
  const { id } = await run(owner, "pays");
  owner.database.run("UPDATE runs SET reason = 'paused' WHERE id = ?", id);
  const card = openCard(owner, id);
  await owner.engine.signal(id, card.gate ?? "", signed(owner, id, card.gate), "yes");
  await owner.engine.cancel(id, "not any more");
  await close(owner);
  withStore(at.dir, (db) => db.exec(`UPDATE runs SET ${AGAIN}`));
  const next = await host(at);
  const end = await next.engine.result(id, { timeoutMs: 100_000, ended: true });
  expect([end.error?.message, at.wrote()]).toEqual([expect.stringMatching(/was canceled\. A run store that lets it go on/), []]);
});

it("a run that was scheduled for later and is made to begin now does nothing by policy", async () => {
  const at = await shop({ "agents/pays.ts": BY_POLICY("pay_blind").replace(/^approval_form.*\n/m, "") });
  const owner = await host(at);
  const cause = { kind: "command" as const, key: "later" };
  const { id } = await owner.start("pays", { cause, input: {}, notBefore: Date.now() + 30 * 86_400_000 });
  await close(owner);
  withStore(at.dir, (db) => db.exec("UPDATE runs SET not_before = 1"));
  const [, title] = await goesOn(at, id);
  expect([title, at.wrote()]).toEqual(["Allow shop/pay_blind?", []]);
});

it("a row that names another starter lets nobody decide alone what they have started", async () => {
  const { one, opened } = await made(TEAM);
  const { id } = await begin(opened, "simple", { params: { to: "ACME", amount: "5.00" } }, "Ann");
  withStore(one.dir, (db) => db.exec("UPDATE runs SET started_by = 'Bob'"));
  await say("Ann", opened, id);
  expect((await opened.engine.result(id, { timeoutMs: 9000 })).status).toBe("waiting");
  expect(one.bank()).toEqual([]);
  await say("Bob", opened, id);
  expect(await opened.engine.result(id, { ended: true, timeoutMs: 9000 })).toMatchObject({ outcome: "completed" });
});

it("a run whose rows were changed asks for the levels of all rules of its policy, not for what the changed figures ask for", async () => {
  const pack = `process: open
source: test
facts: {fine: boolean, amount: decimal}
rules:
  - {id: OVER, when: amount > 100, action: require_approval, level: manager, description: a test}
  - {id: NOT_FINE, when: "!fine", action: escalate, level: cfo, approvals: 2, description: a test}
`;
  const at = await shop({ "agents/pays.ts": BY_POLICY("pay_blind"), "policies/open.yaml": pack });
  const owner = await host(at);
  const { id } = await run(owner, "pays");
  await close(owner);
  withStore(at.dir, (db) => db.exec("UPDATE steps SET result = replace(result, 'open', 'open ') WHERE name = 'mcp_call'"));
  const next = await host(at);
  const end = await decide(next, id, "approved", { result: { word: "go" } });
  expect([openCard(next, end.id), at.wrote()]).toMatchObject([
    { title: "Allow shop/pay_blind?", level: "cfo", levels: ["cfo"], approvals: 2 },
    [],
  ]);
});

it.each(["a row", "a lost store"])("a pause is not ended by %s, only by resuming", async (how) => {
  const at = await workspace();
  const store = join(at.dir, ".cleared/store.db");
  const owner = await host(at);
  const { id } = await run(owner, "pay");
  await pauseAgents(owner, { agent: "pay", by: "Pat", reason: "fraud" });
  await pauseAgents(owner, { agent: null, by: "Pat", reason: "all" });
  await resumeAgents(owner, { agent: null, by: "Pat" });
  await pauseAgents(owner, { agent: "pay", by: "Pat", reason: "fraud" });
  await decide(owner, id, "approved");
  await close(owner);
  if (how === "a row") withStore(at.dir, (db) => db.exec(`UPDATE pauses SET ended_at = 1, ended_by = 'Pat'; UPDATE runs SET ${AGAIN}`));
  else for (const end of ["", "-wal", "-shm"]) rmSync(`${store}${end}`, { force: true });
  const next = await host(at);
  if (how === "a row") expect(await next.engine.result(id, { timeoutMs: 100_000 })).toMatchObject({ status: "waiting", reason: "paused" });
  await expect(run(next, "pay")).rejects.toMatchObject({
    code: "RUN_PAUSED",
    message: expect.stringMatching(/^pay is paused by Pat since .* \(fraud\); `cleared resume pay` continues it/),
  });
  expect((await run(next, "quick")).status).toBe("done");
  expect(at.bank()).toEqual([]);
  expect(await resumeAgents(next, { agent: "pay", by: "Pat" })).toMatchObject({ ended: [{ by: "Pat", reason: "fraud" }], still: [] });
  expect((await run(next, "pay")).reason).toBe("approval");
});
