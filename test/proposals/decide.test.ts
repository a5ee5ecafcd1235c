/** A person's decision on a proposal: one commit for one yes, whoever comes second is told, and nothing of the user's is swept in. */
import { execFileSync } from "node:child_process";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { asked, decideCard } from "../../runtime/app/decide.ts";
import type { Host } from "../../runtime/app/host.ts";
import { holderHere, signAs } from "../../runtime/app/identity.ts";
import { decideProposal } from "../../runtime/change/proposals/apply.ts";
import { cardOf as proposalCard } from "../../runtime/change/proposals/card.ts";
import { type ProposalStore, createProposals } from "../../runtime/change/proposals/store.ts";
import { NOBODY } from "../../runtime/kernel/text.ts";
import { type Workspace, closeAll, host, removeAll, run, workspace } from "../engine/harness.ts";
import { cardOf, checking, decide, failure, ready, reportOn, says, script } from "./ready.ts";

afterEach(closeAll);
afterAll(removeAll);

const HELLO = "agents/hello.ts";

async function opened(files: Record<string, string> = {}): Promise<{ one: Workspace; owner: Host; store: ProposalStore }> {
  const one = await workspace({ [HELLO]: script(0), ...files });
  const owner = await host(one);
  return { one, owner, store: createProposals(owner) };
}
const commits = (one: Workspace): number => Number(one.git("rev-list", "--count", "HEAD"));

describe("approve", () => {
  it("makes one commit with its trailers and frozen cases, closes the card, and the next run uses it; plain git reverts it byte for byte", async () => {
    const { one, owner, store } = await opened();
    const before = one.read(HELLO);
    const freezes = { "cases/hello/one.yaml": "case: 1\n", "trust.yaml": "people: []\n", "cases/../agents/x.ts": "1\n" };
    const proposal = await ready(owner, { [HELLO]: script(1), "agents/new.ts": script("new") }, {}, { freezes });
    const count = commits(one);
    const { commit } = await decide(owner, proposal);
    expect(commits(one)).toBe(count + 1);
    expect(one.git("log", "-1", "--format=%B")).toBe(
      `agent: Say it better\n\nIt was unclear.\n\n- proposal ${proposal.number}: Say it better\n- changed ${HELLO}\n- added agents/new.ts\n\nProposal: ${proposal.id}\nProposed-by: agent:learner\nApproved-by: Pat\n\n`,
    );
    expect(one.git("show", "--name-only", "--format=", "HEAD").trim().split("\n")).toEqual([
      HELLO,
      "agents/new.ts",
      "cases/hello/one.yaml",
    ]);
    expect(one.git("status", "--porcelain")).toBe("");
    expect(await store.get(proposal.id)).toMatchObject({
      state: "applied",
      applied: commit,
      decisions: [{ by: "Pat", decision: "approved" }],
    });
    expect(cardOf(owner, proposal).decision).toMatchObject({ decision: "approved", by: "Pat" });
    expect(await run(owner, "hello")).toMatchObject({ status: "done", result: "1" });

    one.git("revert", "--no-edit", "HEAD");
    expect(one.read(HELLO)).toBe(before);
    expect(await run(owner, "hello")).toMatchObject({ result: "0", pin: { blob: one.git("rev-parse", `HEAD:${HELLO}`).trim() } });
    expect(await store.get(proposal.id)).toMatchObject({ state: "reverted" });
  });

  it("a waiting run stays on the code it started with", async () => {
    const asks = (n: number) => `/*\nname: Hello\nuses: [approval]\n*/\napproval_wait({ title: "ok?", calls: [] });\n${n}\n`;
    const { owner } = await opened({ [HELLO]: asks(0) });
    const waiting = await run(owner, "hello");
    await decide(owner, await ready(owner, { [HELLO]: asks(1) }));
    const card = owner.cards.list({ open: true, run: waiting.id })[0];
    if (card === undefined) throw new Error("no card");
    await decideCard(owner, signAs(owner.dir, owner.trust, { ...asked(card), decision: "approved", at: 1 }));
    expect(await owner.engine.result(waiting.id)).toMatchObject({ status: "done", result: 0 });
    expect((await run(owner, "hello")).pin.commit).not.toBe(waiting.pin.commit);
  });

  it("given 20 times at once is one commit; the others are told who decided and when", async () => {
    const { one, owner } = await opened();
    const proposal = await ready(owner, { [HELLO]: script(1) });
    const count = commits(one);
    const card = cardOf(owner, proposal);
    const all = await Promise.allSettled(Array.from({ length: 20 }, () => decideCard(owner, says(owner, proposal, "approved"))));
    expect(commits(one)).toBe(count + 1);
    const told = all.flatMap((each) => (each.status === "rejected" ? [each.reason as { code: string; message: string }] : []));
    expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const { code, message } of told)
      expect([code, message]).toEqual(["CARD_CLOSED", expect.stringMatching(`^Card ${card.id} was approved by Pat on `)]);
    expect(await failure(decideCard(owner, says(owner, proposal, "rejected")))).toMatchObject({ code: "CARD_CLOSED" });
  });

  it("refuses a signature for other content, and one by nobody", async () => {
    const { one, owner } = await opened();
    const [a, b] = [await ready(owner, { [HELLO]: script(1) }), await ready(owner, { "agents/b.ts": script(2) }, { title: "Another" })];
    const moved = { ...says(owner, a, "approved"), card: b.number };
    expect(await failure(decideCard(owner, moved))).toMatchObject({ code: "APPROVAL_IDENTITY" });
    const other = says(owner, a, "approved", { gate: `proposal/${a.id}/${b.commit}` });
    expect(await failure(decideCard(owner, other))).toMatchObject({
      code: "APPROVAL_IDENTITY",
      message: expect.stringContaining("another question"),
    });
    expect(await failure(decideCard(owner, { ...says(owner, a, "approved"), by: "agent:learner" }))).toMatchObject({
      code: "APPROVAL_IDENTITY",
    });
    expect(one.git("log", "-1", "--format=%s")).not.toContain("Say it better");
  });

  it("refuses a draft, a blocked or superseded proposal and one without a report, with the remedy", async () => {
    const { owner, store } = await opened();
    const { proposal } = await store.create({ title: "t", reason: "", by: "Pat", files: { [HELLO]: script(1) } }, await owner.git.head());
    expect(await failure(decide(owner, proposal))).toEqual({
      code: "PROPOSAL_STATE",
      message: `Proposal ${proposal.number} has not been checked yet and cannot be approved. \`cleared proposals check ${proposal.number}\` looks at it now; then decide.`,
    });
    await checking(owner, {}, "blocked")(proposal.id);
    expect(await failure(decide(owner, proposal))).toMatchObject({
      code: "PROPOSAL_STATE",
      message: expect.stringContaining("is blocked: types: 1 finding; and cannot be approved."),
    });
    const cases = { passed: 1, failed: ["hello/run_x"], open: [], fixed: [] };
    const checks = [{ check: "cases" as const, status: "failed" as const, says: "1/2", findings: [], ms: 1 }];
    await store.update(
      proposal.id,
      { state: "blocked", report: { ...reportOn(await owner.git.head(), 1), cases, checks } },
      { from: ["blocked"] },
    );
    const needs = proposalCard(await store.get(proposal.id)).parts.find(({ name }) => name === "Needs");
    expect(needs?.lines[0]).toContain("without this; where what a case keeps is wrong, correct its entry, or retire it first");
    await store.update(proposal.id, { state: "superseded" }, { from: ["blocked"] });
    expect(
      await failure(
        decideProposal(owner, { ...cardOf(owner, proposal), decision: null }, says(owner, proposal, "approved"), checking(owner)),
      ),
    ).toMatchObject({ code: "PROPOSAL_STATE" });
  });

  it("requires the level and the number of people in its report, and never the proposer", async () => {
    const { owner } = await opened();
    const [pat] = owner.trust.people;
    if (pat === undefined) throw new Error("no person");
    const two = {
      ...owner,
      trust: {
        ...owner.trust,
        people: [
          { ...pat, roles: ["cfo"] },
          { ...pat, name: "Sam", roles: [] },
        ],
      },
    };
    const sayAs = (proposal: Parameters<typeof says>[1], by: string) => {
      const { signature: _, ...said } = says(owner, proposal, "approved");
      return import("../../runtime/engine/signature.ts").then(async ({ signDecision }) => {
        const { self: _s, ...rest } = said;
        return signDecision({ ...rest, by }, holderHere(owner.dir, owner.trust).key);
      });
    };
    const own = await ready(two, { [HELLO]: script(1) }, { by: "Pat" });
    expect(await failure(decideProposal(two, cardOf(two, own), await sayAs(own, "Pat"), checking(two)))).toMatchObject({
      code: "APPROVAL_SELF",
      message: expect.stringContaining("Pat proposed this"),
    });
    const hidden = await ready(two, { "agents/c.ts": script(3) }, { by: NOBODY, title: "c" });
    const yes = await sayAs(hidden, "Pat");
    expect(await decideProposal(two, cardOf(two, hidden), yes, checking(two))).toMatchObject({ commit: null, open: { people: ["Pat"] } });
    const both = await ready(two, { "agents/b.ts": script(2) }, { by: "agent:x", title: "b" }, { approvals: 2 });
    const first = await decideProposal(two, cardOf(two, both), await sayAs(both, "Pat"), checking(two));
    expect(first).toMatchObject({ commit: null, open: { people: ["Pat"] }, proposal: { state: "ready" } });
    // The same person twice is one person.
    expect((await decideProposal(two, cardOf(two, both), await sayAs(both, "Pat"), checking(two))).open).toMatchObject({ people: ["Pat"] });
    const second = await decideProposal(two, cardOf(two, both), await sayAs(both, "Sam"), checking(two));
    expect(second.commit).not.toBeNull();
    expect(
      execFileSync("git", ["log", "-1", "--format=%(trailers:key=Approved-by,valueonly)"], { cwd: owner.dir, encoding: "utf8" }).trim(),
    ).toBe("Pat, Sam");
    const high = await ready(two, { "agents/c.ts": script(3) }, { by: "agent:x", title: "c" }, { level: "cfo", levels: ["cfo"] });
    expect(await failure(decideProposal(two, cardOf(two, high), await sayAs(high, "Sam"), checking(two)))).toMatchObject({
      code: "APPROVAL_LEVEL",
    });
  });

  it("refuses while the person has edits in the file, staged or not, and loses none of them", async () => {
    const { one, owner, store } = await opened();
    const proposal = await ready(owner, { [HELLO]: script(1) });
    one.write(HELLO, script("mine"));
    expect(await failure(decide(owner, proposal))).toMatchObject({ code: "GIT_STATE", message: expect.stringContaining(HELLO) });
    one.git("add", HELLO);
    one.write("main.journal", `${one.read("main.journal")}; mine\n`);
    expect(await failure(decide(owner, proposal))).toMatchObject({ code: "GIT_STATE" });
    expect(await store.get(proposal.id)).toMatchObject({ state: "ready", decisions: [] });
    expect(one.read(HELLO)).toBe(script("mine"));
    one.git("reset", "-q", HELLO);
    one.git("checkout", "-q", HELLO);
    one.write("agents/other.ts", script("mine"));
    one.git("add", "agents/other.ts");
    expect((await decide(owner, proposal)).commit).not.toBeNull();
    expect(one.git("status", "--porcelain")).toBe("A  agents/other.ts\n M main.journal\n");
  });
});

describe("reject", () => {
  it("keeps its reason, changes nothing, and is final", async () => {
    const { one, owner, store } = await opened();
    const proposal = await ready(owner, { [HELLO]: script(1) });
    const head = one.git("rev-parse", "HEAD");
    await decide(owner, proposal, "rejected", { reason: "not now" });
    expect(one.git("rev-parse", "HEAD")).toBe(head);
    expect(await store.get(proposal.id)).toMatchObject({
      state: "rejected",
      why: "not now",
      decisions: [{ reason: "not now", by: "Pat" }],
    });
    expect(await store.rejectedOn([HELLO])).toMatchObject([{ id: proposal.id }]);
    expect(await failure(decideCard(owner, says(owner, proposal, "approved")))).toMatchObject({
      code: "CARD_CLOSED",
      message: expect.stringContaining("was rejected by Pat"),
    });
  });
});

describe("a HEAD that has moved", () => {
  const other = { "agents/other.ts": script("other") };

  it("by data alone changes nothing; by code it is checked again first", async () => {
    const { one, owner } = await opened();
    const proposal = await ready(owner, { [HELLO]: script(1) });
    let checked = 0;
    const prepare =
      (more = {}) =>
      async (id: string) => {
        checked++;
        await checking(owner, more)(id);
      };
    const widening = [{ kind: "tool" as const, text: "may pay", at: null }];
    one.commit({ "data/x.json": "1" });
    one.commit(other);
    const wide = decideProposal(owner, cardOf(owner, proposal), says(owner, proposal, "approved"), prepare({ widening }));
    expect(await failure(wide)).toEqual({
      code: "PROPOSAL_STATE",
      message: `Proposal ${proposal.number} looks different on today's code than when it was last shown (it now also widens: may pay). Look at it again with \`cleared proposals show ${proposal.number}\`, then decide it as ${proposal.number}.2.`,
    });
    // Looked at again: the yes is to what it is now.
    one.commit({ "data/y.json": "1" });
    await decideProposal(owner, cardOf(owner, proposal), says(owner, proposal, "approved"), prepare({ widening }));
    expect(checked).toBe(1);
    expect(one.read(HELLO)).toBe(script(1));
  });

  it("that changed the same file blocks it, names the commit and says how it becomes an edit", async () => {
    const { one, owner, store } = await opened();
    const named = (n: number) => script(n).replace("name: Hello", "name: Hi");
    const [a, b] = [await ready(owner, { [HELLO]: script(1) }), await ready(owner, { [HELLO]: named(0) }, { title: "Another" })];
    const { commit } = await decide(owner, a);
    const refused = await failure(decide(owner, b));
    expect(refused.message).toContain(`was changed on the branch by ${commit?.slice(0, 7)} "agent: Say it better" (proposal ${a.id}).`);
    expect(await store.get(b.id)).toMatchObject({ state: "blocked" });
    expect(one.read(HELLO)).toBe(script(1));
    one.git(...(/git (cherry-pick .*)/.exec(refused.message)?.[1] ?? "").split(" "));
    expect(one.read(HELLO)).toBe(named(1));
  });

  it("a report that was not made here is not trusted", async () => {
    const { owner, store } = await opened();
    const { proposal } = await store.create(
      { title: "t", reason: "", by: "agent:x", files: { [HELLO]: script(1) } },
      await owner.git.head(),
    );
    await store.update(proposal.id, { state: "ready", report: reportOn(await owner.git.head(), 1) }, { from: ["draft"] });
    const refuses = decideProposal(owner, cardOf(owner, proposal), says(owner, proposal, "approved"), checking(owner, {}, "blocked"));
    expect(await failure(refuses)).toMatchObject({ code: "PROPOSAL_STATE", message: expect.stringContaining("types: 1 finding") });
  });

  it("nor one in place of ours: other words under its commit and time, or our report of a blocked proposal", async () => {
    const { owner, store } = await opened();
    const proposal = await ready(
      owner,
      { [HELLO]: script(1) },
      {},
      { approvals: 2, dryRun: [{ agent: "hello", lines: ["it’s “1” \n: - #"] }] },
    );
    const forged = { ...reportOn("", 0), ...proposal.report, approvals: 1 };
    await store.update(proposal.id, { state: "ready", report: forged }, { from: ["ready"] });
    const card = cardOf(owner, proposal);
    const refuses = (more = {}, state: "ready" | "blocked" = "ready") =>
      failure(decideProposal(owner, card, says(owner, proposal, "approved"), checking(owner, more, state)));
    expect((await refuses({ approvals: 2 })).message).toContain("it now asks for 2 people");
    await checking(owner, {}, "blocked")(proposal.id);
    await store.update(proposal.id, { state: "ready" }, { from: ["blocked"] });
    expect((await refuses({}, "blocked")).message).toContain("types: 1 finding");
  });

  it("a name without a signature is not among the approvers", async () => {
    const { one, owner, store } = await opened();
    const proposal = await ready(owner, { [HELLO]: script(1) });
    const forged = [{ ...says(owner, proposal, "approved"), by: "Boss" }];
    await store.update(proposal.id, { state: "ready", decisions: forged }, { from: ["ready"] });
    await decide(owner, await store.get(proposal.id));
    expect(one.git("log", "-1", "--format=%(trailers:key=Approved-by,valueonly)").trim()).toBe("Pat");
  });

  it("another checked-out branch refuses before anything is decided", async () => {
    const { one, owner, store } = await opened();
    const proposal = await ready(owner, { [HELLO]: script(1) });
    one.git("switch", "-q", "-c", "side");
    const both = [await failure(decide(owner, proposal)), await store.get(proposal.id)];
    expect(both).toMatchObject([{ code: "GIT_STATE" }, { state: "ready", decisions: [] }]);
  });
});
