import { afterAll, afterEach, describe, expect, it } from "vitest";
import { createApi } from "../../runtime/app/api.ts";
import type { Host } from "../../runtime/app/host.ts";
import { NOBODY } from "../../runtime/kernel/text.ts";
import { planUndo, undo } from "../../runtime/change/proposals/undo.ts";
import { createProposals } from "../../runtime/change/proposals/store.ts";
import { verifyBooks } from "../../runtime/workspace/books/verify.ts";
import { type Workspace, closeAll, decide as answer, host, removeAll, run, workspace } from "../engine/harness.ts";
import { decide, failure, ready, script } from "./ready.ts";

afterEach(closeAll);
afterAll(removeAll);

const HELLO = "agents/hello.ts";
const BOOKS = (key: string, date = "2026-10-07", amount = "80.00") =>
  `/*\nname: Books\nuses: [journal, ctx]\n*/\njournal_add_double({ date: "${date}", description: "Rent", debit_account: 5030, credit_account: 1010, amount: "${amount}", key: "${key}", status: "user-confirmed" });\n1\n`;

async function opened(files: Record<string, string> = {}): Promise<{ one: Workspace; owner: Host }> {
  const one = await workspace({ [HELLO]: script(0), ...files });
  return { one, owner: await host(one) };
}
async function assertTrue(owner: Host): Promise<void> {
  expect((await verifyBooks(owner.git.tree(await owner.git.head()), await owner.config())).findings).toEqual([]);
}
const treeOf = (one: Workspace, at = "HEAD"): string => one.git("rev-parse", `${at}^{tree}`).trim();
const commits = (one: Workspace): number => Number(one.git("rev-list", "--count", "HEAD"));

describe("undo of a proposal", () => {
  it("restores every file, including frozen cases, names its commit, and can be undone itself", async () => {
    const { one, owner } = await opened();
    const before = treeOf(one);
    const freezes = { "cases/hello/one.yaml": "case: 1\n" };
    const proposal = await ready(owner, { [HELLO]: script(1), "agents/new.ts": script("n") }, {}, { freezes });
    const { commit } = await decide(owner, proposal);
    const applied = treeOf(one);
    await run(owner, "hello");
    const plan = await planUndo(owner, String(proposal.number));
    expect(plan).toMatchObject({
      commits: [commit],
      files: [
        { path: HELLO, change: "changed" },
        { path: "agents/new.ts", change: "removed" },
        { path: "cases/hello/one.yaml", change: "removed" },
      ],
      money: [],
      notes: ["1 run of hello since then: what they booked stays; `cleared undo RUN` takes one back."],
    });
    const done = await undo(owner, String(proposal.number), { by: "Pat", reason: "it was worse", seen: plan.seen });
    expect(treeOf(one)).toBe(before);
    expect(one.git("status", "--porcelain")).toBe("");
    expect(one.git("log", "-1", "--format=%B").trim()).toBe(
      `agent: revert Say it better\n\nThis reverts commit ${commit}.\n\nReverts: ${commit}\nUndone-by: Pat\nReason: it was worse`,
    );
    expect(await createProposals(owner).get(proposal.id)).toMatchObject({
      state: "reverted",
      reverted: done.commit,
      why: "Undone by Pat: it was worse.",
    });
    expect(await failure(undo(owner, proposal.id, { by: "Pat" }))).toMatchObject({
      code: "UNDO_REFUSED",
      message: expect.stringContaining("is undone already by Pat"),
    });

    const back = await undo(owner, done.commit.slice(0, 9), { by: "Pat" });
    expect(treeOf(one)).toBe(applied);
    expect(await createProposals(owner).get(proposal.id)).toMatchObject({ state: "applied" });
    one.git("revert", "--no-edit", back.commit);
    expect(treeOf(one)).toBe(before);
  });

  it("with a blank reason is still recognized as an undo; a blank is no --despite either", async () => {
    const { one, owner } = await opened();
    const { id } = (await decide(owner, await ready(owner, { [HELLO]: script(1) }, { despite: " " }))).proposal;
    const { commit } = await undo(owner, id, { by: "Pat", reason: "  " });
    expect(one.git("log", "-1", "--format=%(trailers:only)").trim()).toMatch(/^Reverts: [0-9a-f]+\nUndone-by: Pat$/);
    expect((await failure(undo(owner, id, { by: "Pat" }))).message).toContain("is undone already by Pat on");
    await undo(owner, commit, { by: "Pat" });
    expect(one.read(HELLO)).toBe(script(1));
    expect(await createProposals(owner).unreadable()).toEqual([]);
  });

  it("accepts a short commit name that looks like a number", async () => {
    const { one, owner } = await opened();
    const proposal = await ready(owner, { [HELLO]: script(1) });
    await decide(owner, proposal);
    let { commit } = await undo(owner, String(proposal.number), { by: "Pat" });
    for (let n = 0; !/^\d{7}/.test(commit); n++) {
      one.git("commit", "-q", "--amend", "--no-edit", "--date", `${1_700_000_000 + n} +0000`);
      commit = one.git("rev-parse", "HEAD").trim();
    }
    expect(await planUndo(owner, commit.slice(0, 7))).toMatchObject({ commits: [commit] });
  });

  it("is refused if a file has changed since, naming the commit and how to undo that", async () => {
    const { one, owner } = await opened();
    const [a, b] = [await ready(owner, { [HELLO]: script(1) }), { [HELLO]: script(2) }];
    await decide(owner, a);
    const later = await ready(owner, b, { title: "Better still" });
    const { commit } = await decide(owner, later);
    const head = one.git("rev-parse", "HEAD");
    const refused = await failure(undo(owner, a.id, { by: "Pat" }));
    expect(refused.message).toContain(
      `${HELLO} was changed since by ${commit?.slice(0, 7)} "agent: Better still", which \`cleared undo ${later.id}\` takes back`,
    );
    expect(one.git("rev-parse", "HEAD")).toBe(head);
    await undo(owner, later.id, { by: "Pat" });
    await undo(owner, a.id, { by: "Pat" });
    expect(one.read(HELLO)).toBe(script(0));
  });

  it("is by a person of trust.yaml, as an answer on a card is", async () => {
    const { one, owner } = await opened();
    const api = createApi(owner);
    const proposal = await ready(owner, { [HELLO]: script(1) });
    await decide(owner, proposal);
    const waits = await run(owner, "gate");
    const [by, code] = ["Mallory", "APPROVAL_IDENTITY"];
    const moving = { run: waits.id, by, reason: "", wait: false };
    expect(await failure(api.undo({ target: proposal.id, by }))).toMatchObject({ code });
    expect(await failure(api.revive({ names: ["x"], leave: true, by }))).toMatchObject({ code });
    expect(await failure(api.resumeAgents({ agent: null, by }))).toMatchObject({ code });
    expect(await failure(api.fork({ ...moving, head: false }))).toMatchObject({ code });
    expect(await failure(api.migrate({ ...moving, dryRun: false }))).toMatchObject({ code });
    expect(one.read(HELLO)).toBe(script(1));
    const hidden = await ready(owner, { [HELLO]: script(2) }, { by: NOBODY });
    expect(await failure(api.undo({ target: proposal.id, by: NOBODY }))).toMatchObject({ code });
    expect(await failure(api.revive({ names: ["x"], leave: true, by: NOBODY }))).toMatchObject({ code });
    expect(await failure(api.withdraw({ id: hidden.id, by: NOBODY, reason: "" }))).toMatchObject({ code });
    await api.undo({ target: proposal.id, by: "Pat" });
    expect(one.git("log", "-1", "--format=%B")).toContain("Undone-by: Pat");
  });

  it("does what was shown or nothing, and leaves a person's open edit alone", async () => {
    const { one, owner } = await opened();
    const proposal = await ready(owner, { [HELLO]: script(1) });
    await decide(owner, proposal);
    expect(await failure(undo(owner, proposal.id, { by: "Pat", seen: "something else" }))).toMatchObject({ code: "UNDO_REFUSED" });
    one.write(HELLO, script("mine"));
    expect(await failure(undo(owner, proposal.id, { by: "Pat" }))).toMatchObject({
      code: "GIT_STATE",
      message: expect.stringContaining(HELLO),
    });
    expect(one.read(HELLO)).toBe(script("mine"));
    expect(one.read(HELLO)).not.toBe(one.git("show", `HEAD:${HELLO}`));
  });

  it("10 at once are one commit", async () => {
    const { one, owner } = await opened();
    const proposal = await ready(owner, { [HELLO]: script(1) });
    await decide(owner, proposal);
    const count = commits(one);
    const all = await Promise.allSettled(Array.from({ length: 10 }, () => undo(owner, proposal.id, { by: "Pat" })));
    expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(commits(one)).toBe(count + 1);
    expect(one.read(HELLO)).toBe(script(0));
  });
});

describe("undo of a run", () => {
  it("removes only its own entries if others have written to the same month since", async () => {
    const { one, owner } = await opened({ "agents/books.ts": BOOKS("rent-1") });
    const first = await run(owner, "books");
    one.commit({ "agents/books.ts": BOOKS("rent-2", "2026-10-08", "90.00") });
    await run(owner, "books");
    const plan = await planUndo(owner, first.id);
    expect(plan.money).toMatchObject([
      { account: "Assets:Bank:Checking", difference: "80.00" },
      { account: "Expenses:Office Supplies", difference: "-80.00" },
    ]);
    await undo(owner, first.id, { by: "Pat", seen: plan.seen });
    await assertTrue(owner);
    expect(one.read("journal/2026/10.journal")).toContain("90.00");
    expect(one.read("journal/2026/10.journal")).not.toContain("80.00");
  });

  it("in a closed period reverses today; outside acts are named", async () => {
    const pays = `/*\nname: Pays\nuses: [journal, bank, approval, ctx]\nstates: [DECOMPOSE, ASSESS, COMPUTE, POLICY_CHECK, APPROVAL_GATE?, MUTATE, COMPLETE]\n*/\n1\n`;
    void pays;
    const { one, owner } = await opened({ "agents/books.ts": BOOKS("rent-1") });
    const first = await run(owner, "books");
    one.commit({ "config.yaml": one.read("config.yaml").replace(/^branch:/m, "closed_through: 2026-10-31\nbranch:") });
    const plan = await planUndo(owner, first.id);
    expect([plan.entries.reversed, plan.notes.join(" ")]).toEqual([1, expect.stringContaining("the period is closed")]);
    await undo(owner, first.id, { by: "Pat" });
    await assertTrue(owner);
    expect(one.read("journal/2026/10.journal")).toContain("80.00");
    expect(await failure(undo(owner, first.id, { by: "Pat" }))).toMatchObject({ code: "UNDO_REFUSED" });
  });

  it("of a run that has not ended, changed nothing or does not exist is refused with the reason", async () => {
    const { owner } = await opened({
      "agents/asks.ts": `/*\nname: A\nuses: [approval]\n*/\napproval_wait({ title: "ok?", calls: [] });\n1\n`,
    });
    const waiting = await run(owner, "asks");
    expect((await failure(planUndo(owner, waiting.id))).message).toContain(`Cancel it first: \`cleared runs cancel ${waiting.id}\``);
    const empty = await run(owner, "hello");
    expect((await failure(planUndo(owner, empty.id))).message).toContain("changed nothing");
    expect(await failure(planUndo(owner, "run_00000000000000"))).toMatchObject({ code: "RUN_UNKNOWN" });
    expect(await failure(planUndo(owner, "7"))).toMatchObject({ code: "PROPOSAL_UNKNOWN" });
    expect(await failure(planUndo(owner, "import"))).toMatchObject({ code: "UNDO_REFUSED" });
    for (const odd of ["HEAD", "--all", "main; rm", "", (await owner.git.head()).slice(0, 8)])
      expect((await failure(planUndo(owner, odd))).code).toBe("USAGE");
    const proposal = await ready(owner, { [HELLO]: script(1) });
    const said = async () => (await failure(planUndo(owner, proposal.id))).message;
    expect(await said()).toContain(`is ready; only one that was applied can be undone. \`cleared reject ${proposal.number}\` rejects it.`);
    await decide(owner, proposal, "rejected", { reason: "no" });
    expect(await said()).toMatch(/is rejected; only one that was applied can be undone\.$/);
  });

  it("names what it did outside, which no commit reverts", async () => {
    const { one, owner } = await opened();
    const waiting = await run(owner, "pay");
    await answer(owner, waiting.id, "approved");
    const plan = await planUndo(owner, waiting.id);
    expect(plan.notes).toEqual(["not undone: bank_pay to ACME of 120.00."]);
    expect(plan.commits).toHaveLength(2);
    await undo(owner, waiting.id, { by: "Pat" });
    expect(one.bank()).toEqual(["pay"]);
    await assertTrue(owner);
  });

  it("is not considered undone because a script says so", async () => {
    const says = (sha: string) =>
      `/*\nname: Says\nuses: [journal, git, ctx]\n*/\njournal_add_double({ date: "2026-10-09", description: "x", debit_account: 5030, credit_account: 1010, amount: "1.00", key: "says" });\ngit_commit("undo: it\\n\\nThis reverts commit ${sha}.\\n\\nReverts: ${sha}\\nUndone-by: Pat");\n1\n`;
    const { one, owner } = await opened({ "agents/books.ts": BOOKS("rent-1") });
    const proposal = await ready(owner, { [HELLO]: script(1) });
    const { commit } = await decide(owner, proposal);
    const booked = await run(owner, "books");
    const sha = one.git("rev-parse", "HEAD").trim();
    for (const one_ of [commit ?? "", sha]) {
      one.commit({ "agents/says.ts": says(one_).replace('key: "says"', `key: "${one_}"`) });
      expect((await run(owner, "says")).status).toBe("done");
    }
    expect((await createProposals(owner).get(proposal.id)).state).toBe("applied");
    const other = await ready(owner, { "agents/o.ts": script(1) }, { title: "o", reason: `This reverts commit ${commit}.` });
    await decide(owner, other);
    expect(await Promise.all([proposal, other].map(async ({ id }) => (await createProposals(owner).get(id)).state))).toEqual([
      "applied",
      "applied",
    ]);
    await undo(owner, booked.id, { by: "Pat" });
    await undo(owner, proposal.id, { by: "Pat" });
    await assertTrue(owner);
  });
});
