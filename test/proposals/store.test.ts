/** Proposals live in git: made, found again, moved from state to state by compare-and-swap. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import type { Host } from "../../runtime/app/host.ts";
import { createProposals, type ProposalStore } from "../../runtime/change/proposals/store.ts";
import type { ProposalDraft } from "../../runtime/change/proposal-types.ts";
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
  it("is a commit that git show reads, outside of the branch, with a number", async () => {
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
    const again = await store.create(draft(script(1), { despite: "on purpose" }), base);
    expect(again).toMatchObject({ known: true, proposal: { id: proposal.id, number: 1 } });
    // Without the reason it is another question.
    expect((await store.create(draft(script(1)), base)).known).toBe(false);
  });

  it("is a different one for another request with other claims", async () => {
    const { store, base } = await opened();
    const by = (request: number, at: number) =>
      store.create(draft(script(1), { asked: { request, at, model: "m", claims: [], says: "", outside: [] } }), base);
    const { proposal } = await by(1, 5);
    expect(await by(1, 5)).toMatchObject({ known: true, proposal: { id: proposal.id } });
    // The second is of another clone, which counts its requests by itself.
    for (const other of [await by(2, 5), await by(1, 6)]) expect(other.known).toBe(false);
  });

  it("moves by compare-and-swap; the later call is told", async () => {
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

it("a transition killed at any git command has happened or has not, and can be repeated", async () => {
  const { one, owner, store, base } = await opened();
  const { proposal } = await store.create(draft(script(1)), base);
  const path = process.env["PATH"];
  const bin = join(one.dir, ".cleared/bin");
  const real = execFileSync("which", ["git"], { encoding: "utf8" }).trim();
  mkdirSync(bin);
  for (let stop = 1, failed = true; failed; stop++) {
    const fake = `#!/bin/sh\necho x >> "${bin}/count${stop}"\n[ $(wc -l < "${bin}/count${stop}") -lt ${stop} ] || exit 9\nexec "${real}" "$@"\n`;
    writeFileSync(join(bin, "git"), fake, { mode: 0o755 });
    process.env["PATH"] = `${bin}:${path}`;
    const change = { state: "checking" as const, says: `round ${stop}` };
    failed = await store.update(proposal.id, change, { from: ["draft", "ready"] }).then(
      () => false,
      () => true,
    );
    process.env["PATH"] = path;
    const { state } = await store.get(proposal.id);
    expect(["draft", "ready", "checking"]).toContain(state);
    if (state !== "checking") await store.update(proposal.id, change, { from: ["draft", "ready"] });
    await store.update(proposal.id, { state: "ready" }, { from: ["checking"] });
    const subjects = one.git("log", "--format=%s", `refs/cleared/proposals/${proposal.id}/state`).trim().split("\n");
    expect(subjects).toHaveLength(2 * stop);
    expect(subjects.filter((line) => line === `round ${stop}`)).toHaveLength(1);
    expect(owner.cards.list({ kind: "proposal" })).toHaveLength(1);
    if (!failed) expect(stop).toBeGreaterThan(2);
  }
});

describe("identical proposals", () => {
  it("after a rejection another attempt is possible, and its reason is shown", async () => {
    const { store, base } = await opened();
    const first = (await store.create(draft(script(1)), base)).proposal;
    await store.update(first.id, { state: "rejected", why: "not now", by: "Pat" }, { from: ["draft"] });
    const again = await store.create(draft(script(1)), base);
    expect(again).toMatchObject({ known: false, proposal: { number: 2, state: "draft" } });
    expect(again.proposal.id).not.toBe(first.id);
    expect(await store.rejectedOn(["agents/hello.ts"])).toMatchObject([{ number: 1, why: "not now" }]);
    expect(await store.rejectedOn(["agents/other.ts"])).toEqual([]);
    expect((await store.placeOf(draft(script(1)), base)).last).toMatchObject({ number: 2 });
  });

  it("made at the same moment, there is one", async () => {
    const { store, base } = await opened();
    const made = await Promise.all(Array.from({ length: 6 }, () => store.create(draft(script(1)), base)));
    expect(new Set(made.map(({ proposal }) => proposal.id)).size).toBe(1);
    expect(made.filter(({ known }) => !known)).toHaveLength(1);
  });

  it("a change without effect, or of other kinds of files, is none", async () => {
    const { store, base } = await opened();
    await expect(store.create(draft(script(0)), base)).rejects.toMatchObject({ code: "PROPOSAL_EMPTY" });
    await expect(store.create(draft("x", { files: { "trust.yaml": "x" } }), base)).rejects.toMatchObject({ code: "PROPOSAL_PATH" });
    expect(await store.list()).toEqual([]);
  });
});

describe("the branch is the truth", () => {
  it("about what is applied, reverted by plain git, and restored", async () => {
    const { one, owner, store, base } = await opened();
    const { proposal } = await store.create(draft(script(1)), base);
    const now = async () => {
      const { state, applied, reverted } = await store.get(proposal.id);
      return { state, applied, reverted };
    };
    one.write("agents/hello.ts", script(1));
    one.git("commit", "-qam", `agent: hello\n\nProposal: ${proposal.id}\nApproved-by: Pat`);
    const applied = one.git("rev-parse", "HEAD").trim();
    expect(await now()).toEqual({ state: "applied", applied, reverted: null });
    expect(owner.cards.list({ kind: "proposal" })).toMatchObject([{ decision: { decision: "approved", by: "runtime" } }]);
    one.git("revert", "--no-edit", "HEAD");
    const reverted = one.git("rev-parse", "HEAD").trim();
    expect(await now()).toEqual({ state: "reverted", applied, reverted });
    one.git("revert", "--no-edit", "HEAD");
    expect(await now()).toEqual({ state: "applied", applied: one.git("rev-parse", "HEAD").trim(), reverted: null });
    one.git("reset", "-q", "--hard", base);
    expect(await now()).toEqual({ state: "draft", applied: null, reverted: null });
    one.git(
      "commit",
      "-q",
      "--allow-empty",
      "-m",
      `say: ${proposal.id}\n\nProposal: ${proposal.id} is what this text only mentions\n\nand more`,
    );
    expect(await now()).toEqual({ state: "draft", applied: null, reverted: null });
  });

  it("a state that it already shows may be recorded from the older state", async () => {
    const { one, store, base } = await opened();
    const { proposal } = await store.create(draft(script(1)), base);
    await store.update(proposal.id, { state: "approved", by: "Pat" }, { from: ["draft"] });
    one.write("agents/hello.ts", script(1));
    one.git("commit", "-qam", `agent: hello\n\nProposal: ${proposal.id}`);
    const applied = one.git("rev-parse", "HEAD").trim();
    await expect(store.update(proposal.id, { state: "rejected" }, { from: ["approved"] })).rejects.toMatchObject({
      code: "PROPOSAL_STATE",
    });
    expect(await store.update(proposal.id, { state: "applied", applied }, { from: ["approved"] })).toMatchObject({
      state: "applied",
      applied,
    });
    one.git("reset", "-q", "--hard", base);
    expect(await store.get(proposal.id)).toMatchObject({ state: "applied", why: expect.stringMatching(/is not on this branch/) });
  });
});

const life = "state: ready\nwhy: null\nby: Pat\nat: 1700000000000\napplied: null\nreverted: null\n";
it("three hundred proposals are listed without starting git", async () => {
  const { one, owner, base } = await opened();
  const lines: string[] = [];
  for (let n = 0; n < 300; n++) {
    const id = `prop_${String(n).padStart(10, "0")}`;
    const message = `Title ${n}\n\nProposal: ${id}\nProposed-by: Pat\n`;
    lines.push(
      `commit refs/cleared/proposals/${id}/change\ncommitter C <c@l> ${1_700_000_000 + n} +0000\ndata ${message.length}\n${message}\nfrom ${base}\nM 100644 inline agents/hello.ts\ndata 3\n${String(n).padStart(3, "0")}\n`,
    );
    lines.push(
      `commit refs/cleared/proposals/${id}/state\ncommitter C <c@l> 1700000000 +0000\ndata 1\nx\nM 100644 inline proposal.yaml\ndata ${life.length}\n${life}\n`,
    );
  }
  execFileSync("git", ["fast-import", "--quiet"], { cwd: one.dir, input: lines.join("") });
  const bin = join(one.dir, ".cleared/bin");
  mkdirSync(bin);
  const real = execFileSync("which", ["git"], { encoding: "utf8" }).trim();
  writeFileSync(join(bin, "git"), `#!/bin/sh\necho "$@" >> "${bin}/log"\nexec "${real}" "$@"\n`, { mode: 0o755 });
  const path = process.env["PATH"];
  process.env["PATH"] = `${bin}:${path}`;
  const store = createProposals(owner);
  const all = await store.list();
  process.env["PATH"] = path;
  expect(all).toHaveLength(300);
  expect(all.map(({ number }) => number)).toEqual(Array.from({ length: 300 }, (_, n) => 300 - n));
  expect(existsSync(join(bin, "log"))).toBe(false);
});
