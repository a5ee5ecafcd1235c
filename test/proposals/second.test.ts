/** Who comes second, from another clone, on a page or after a kill: there is one decision and one commit, and everybody is told. */
import { execFileSync } from "node:child_process";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { createApi } from "../../runtime/app/api.ts";
import { decideCard } from "../../runtime/app/decide.ts";
import { createFacts } from "../../runtime/app/facts.ts";
import type { Host } from "../../runtime/app/host.ts";
import { prepareProposal } from "../../runtime/app/proposals-api.ts";
import { decideProposal, settleApproved } from "../../runtime/change/proposals/apply.ts";
import { cardOf as cardOfProposal } from "../../runtime/change/proposals/card.ts";
import { rememberApproval } from "../../runtime/change/proposals/deciding.ts";
import { type ProposalStore, createProposals } from "../../runtime/change/proposals/store.ts";
import { syncProposals } from "../../runtime/change/proposals/sync.ts";
import { seenOf } from "../../runtime/app/card-facts.ts";
import { type Workspace, close, closeAll, copyOf, host, removeAll, workspace } from "../engine/harness.ts";
import { approvalOf, cardOf, checking, decide, failure, ready, says, script } from "./ready.ts";

afterEach(closeAll);
afterAll(removeAll);

const HELLO = "agents/hello.ts";

async function opened(): Promise<{ one: Workspace; owner: Host; store: ProposalStore }> {
  const one = await workspace({ [HELLO]: script(0) });
  const owner = await host(one);
  return { one, owner, store: createProposals(owner) };
}
const commits = (one: Workspace): number => Number(one.git("rev-list", "--count", "HEAD"));

describe("an interrupted approval", () => {
  it("is applied by the next owner, once, and not where it was not made", async () => {
    const { one, owner, store } = await opened();
    const proposal = await ready(owner, { [HELLO]: script(1) });
    await store.update(proposal.id, { state: "approved", decisions: [says(owner, proposal, "approved")] }, { from: ["ready"] });
    // The ref came from another clone: its branch has the commit, or will have it.
    expect(await settleApproved(owner, checking(owner))).toEqual({ applied: [], waiting: [] });
    rememberApproval(owner.database, proposal, approvalOf(proposal));
    const count = commits(one);
    one.write(HELLO, script("mine"));
    expect((await settleApproved(owner, checking(owner))).waiting).toMatchObject([
      { why: expect.stringContaining("uncommitted edits of yours") },
    ]);
    one.git("checkout", "-q", HELLO);
    const both = await Promise.all([settleApproved(owner, checking(owner)), settleApproved(owner, checking(owner))]);
    expect(both.flatMap((each) => each.waiting)).toEqual([]);
    expect(commits(one)).toBe(count + 1);
    expect(await store.get(proposal.id)).toMatchObject({ state: "applied" });
    expect(await settleApproved(owner, checking(owner))).toEqual({ applied: [], waiting: [] });
  });
});

describe("an approval that waited while something changed", () => {
  const widening = [{ kind: "tool" as const, text: "may pay", at: null }];
  const waited = async () => {
    const { one, owner, store } = await opened();
    const proposal = await ready(owner, { [HELLO]: script(1) });
    await store.update(proposal.id, { state: "approved", decisions: [says(owner, proposal, "approved")] }, { from: ["ready"] });
    rememberApproval(owner.database, proposal, approvalOf(proposal));
    one.commit({ "agents/other.ts": script("other") });
    return { one, owner, store, proposal, later: { ...owner, clock: { now: () => Date.now() + 60_000 } } };
  };

  it("is applied if a new check says the same, once", async () => {
    const { one, owner, store, proposal, later } = await waited();
    const count = commits(one);
    await Promise.all([settleApproved(owner, checking(later)), settleApproved(owner, checking(later))]);
    expect(commits(one)).toBe(count + 1);
    expect(await store.get(proposal.id)).toMatchObject({ state: "applied", report: { on: one.git("rev-parse", "HEAD^").trim() } });
  });

  it("waits for a person again if it says something else, and the card says why", async () => {
    const { one, owner, store, proposal, later } = await waited();
    const why =
      "It was approved, and looks different on what is there today (it now also widens: may pay), so it was not applied. Decide it again.";
    expect(await settleApproved(owner, checking(later, { widening }))).toMatchObject({
      applied: [],
      waiting: [{ why: expect.stringContaining(why) }],
    });
    const now = await store.get(proposal.id);
    expect(now).toMatchObject({ state: "ready", why });
    expect(JSON.stringify(cardOfProposal(now).parts)).toContain(why);
    expect(await settleApproved(owner, checking(later))).toEqual({ applied: [], waiting: [] });
    expect(one.read(HELLO)).toBe(script(0));
    await decideProposal(later, cardOf(owner, proposal), says(later, proposal, "approved"), checking(later, { widening }));
    expect(one.read(HELLO)).toBe(script(1));
  });

  it("also if the commit that changes it comes between check and commit", async () => {
    const { one, owner, store } = await opened();
    const proposal = await ready(owner, { [HELLO]: script(1) });
    const { git } = owner;
    // Somebody commits by hand in the moment before the committer takes its turn.
    const racing = {
      ...owner,
      git: {
        ...git,
        commit: (...args: Parameters<typeof git.commit>) => {
          if (one.read("agents/hello.ts") === script(0)) one.commit({ "agents/other.ts": script("other") });
          return git.commit(...args);
        },
      },
    };
    const later = { ...owner, clock: { now: () => Date.now() + 60_000 } };
    const refused = decideProposal(racing, cardOf(owner, proposal), says(owner, proposal, "approved"), checking(later, { widening }));
    expect((await failure(refused)).message).toContain("it now also widens: may pay");
    expect(await store.get(proposal.id)).toMatchObject({ state: "ready" });
    expect(one.read(HELLO)).toBe(script(0));
  });
});

describe("somebody else was faster", () => {
  it("on another clone: the second is told who decided, and its branch is left alone", async () => {
    const { one, owner } = await opened();
    const bare = `${one.dir}.git`;
    execFileSync("git", ["clone", "-q", "--bare", one.dir, bare]);
    one.git("remote", "add", "team", bare);
    await close(owner);
    const two = copyOf(one);
    const [a, b] = [await host(one), await host(two)];
    const proposal = await ready(a, { [HELLO]: script(1) });
    await syncProposals(a, "team");
    await syncProposals(b, "team");
    const there = await createProposals(b).get(proposal.id);
    const late = says(b, there, "rejected", { reason: "no" });
    await decide(a, proposal);
    await syncProposals(a, "team");
    await syncProposals(b, "team");
    const head = two.git("rev-parse", "HEAD");
    expect(await failure(decideCard(b, late))).toMatchObject({
      code: "CARD_CLOSED",
      message: expect.stringMatching(/was approved by Pat on/),
    });
    expect(await settleApproved(b, checking(b))).toEqual({ applied: [], waiting: [] });
    expect(two.git("rev-parse", "HEAD")).toBe(head);
    two.git("pull", "-q", one.dir, "main");
    expect(await createProposals(b).get(proposal.id)).toMatchObject({ state: "applied" });
    expect(two.read(HELLO)).toBe(script(1));
  });

  it("on the page: a second click and an outdated page decide nothing", async () => {
    const { one, owner } = await opened();
    const proposal = await ready(owner, { [HELLO]: script(1) });
    const page = createFacts(owner, createApi(owner));
    const shown = seenOf(cardOf(owner, proposal));
    // Another report, an hour later.
    await checking(
      { ...owner, clock: { now: () => Date.now() + 3_600_000 } },
      { widening: [{ kind: "tool", text: "may pay", at: null }] },
    )(proposal.id);
    expect(await failure(page.decide(proposal.number, { decision: "approved", seen: shown }, null))).toMatchObject({
      code: "CARD_CHANGED",
      message: expect.stringContaining("Refresh the page"),
    });
    const seen = seenOf(cardOf(owner, proposal));
    const taps = await Promise.allSettled([1, 2].map(() => page.decide(proposal.number, { decision: "approved", seen }, null)));
    expect(taps.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(one.git("log", "--format=%s", "-2").trim().split("\n")).toEqual(["agent: Say it better", "edit: by hand"]);
  });
});

describe("two concurrent checks of one proposal", () => {
  it("give one report, even if the second started before the first had its answer", async () => {
    const { owner, store } = await opened();
    const { proposal } = await store.create(
      { title: "Say it better", reason: "", by: "agent:learner", files: { [HELLO]: script(1) } },
      await owner.git.head(),
    );
    const get = store.get;
    let first: Promise<unknown> | undefined;
    // The second call finds the proposal as it was, once the first is through.
    store.get = async (id) => {
      const wait = first;
      const found = await get(id);
      await wait;
      return found;
    };
    const began = prepareProposal(owner, proposal.id);
    first = began;
    const second = await prepareProposal(owner, proposal.number);
    store.get = get;
    expect(second.report).toEqual((await began).report);
    expect((await store.get(proposal.id)).report?.at).toBe((await began).report?.at);
    first = undefined;
    // Asked afterwards it is looked at again.
    const later = await prepareProposal(owner, proposal.id);
    expect(later.report?.at).not.toBe(second.report?.at);
  });

  it("the card of a new agent shows no other agent's dry run", async () => {
    const { owner, store } = await opened();
    const config = (await owner.git.tree(await owner.git.head()).read("config.yaml")) ?? "";
    const { proposal } = await store.create(
      {
        title: "Another",
        reason: "",
        by: "agent:learner",
        files: { "agents/another.ts": script("new"), "config.yaml": `${config}\n# for it\n` },
      },
      await owner.git.head(),
    );
    expect((await prepareProposal(owner, proposal.id)).report?.dryRun.map(({ agent }) => agent)).toEqual(["another"]);
  });
});
