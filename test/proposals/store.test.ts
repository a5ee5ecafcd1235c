/** Proposals live in git: made, found again, moved from state to state by compare-and-swap, and never believed when they are not ours. */
import { afterAll, afterEach, describe, expect, it } from "vitest";
import type { Host } from "../../runtime/cli/host.ts";
import { createProposals, type ProposalStore } from "../../runtime/proposals/store.ts";
import type { ProposalDraft } from "../../runtime/proposals/types.ts";
import { type Workspace, closeAll, host, removeAll, workspace } from "../engine/harness.ts";

afterEach(closeAll);
afterAll(removeAll);

const draft = (text: string, more: Partial<ProposalDraft> = {}): ProposalDraft => ({
  title: "AWS is Software",
  reason: "It was booked as supplies.",
  by: "Pat",
  files: { "agents/hello.ts": text },
  ...more,
});
const script = (n: number) => `/*\nname: Hello\n*/\n${n}\n`;

async function opened(): Promise<{ one: Workspace; owner: Host; store: ProposalStore; base: string }> {
  const one = await workspace({ "agents/hello.ts": script(0) });
  const owner = await host(one);
  return { one, owner, store: createProposals(owner), base: await owner.git.head() };
}

describe("a proposal", () => {
  it("is a commit that git show reads, beside the branch, with a number", async () => {
    const { one, store, base } = await opened();
    const { proposal, known } = await store.create(draft(script(1), { despite: "on purpose" }), base);
    expect(known).toBe(false);
    expect(proposal).toMatchObject({
      number: 1,
      title: "AWS is Software",
      reason: "It was booked as supplies.",
      by: "Pat",
      base,
      state: "draft",
      despite: "on purpose",
      files: [{ path: "agents/hello.ts", change: "changed" }],
    });
    const shown = one.git("show", `refs/cleared/proposals/${proposal.id}/change`);
    expect(shown).toContain("+1\n");
    expect(shown).toContain(`Proposal: ${proposal.id}\n    Proposed-by: Pat`);
    expect(one.git("rev-parse", "HEAD").trim()).toBe(base);
    expect(one.git("status", "--porcelain")).toBe("");
    expect(await store.create(draft(script(1)), base)).toMatchObject({ known: true, proposal: { id: proposal.id, number: 1 } });
  });

  it("moves by compare-and-swap; who comes late is told", async () => {
    const { owner, one, store, base } = await opened();
    const { proposal } = await store.create(draft(script(1)), base);
    expect(owner.cards.list({ open: true })).toEqual([]);
    await store.update(proposal.id, { state: "ready" }, { from: ["draft"] });
    expect(owner.cards.list({ open: true })).toMatchObject([{ id: 1, kind: "proposal", title: "AWS is Software" }]);
    const decision = { card: 1, decision: "rejected" as const, by: "Pat", at: 1_700_000_000_000, reason: "no" };
    const both = await Promise.allSettled([
      store.update(proposal.id, { state: "rejected", by: "Pat", decisions: [decision], why: "no" }, { from: ["ready"] }),
      store.update(proposal.id, { state: "approved", by: "Sam" }, { from: ["ready"] }),
    ]);
    expect(both.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const lost = both.find((each) => each.status === "rejected");
    expect(lost?.reason).toMatchObject({ code: "PROPOSAL_STATE" });
    expect(one.git("log", "--format=%s", `refs/cleared/proposals/${proposal.id}/state`).trim().split("\n")).toHaveLength(2);
  });
});
