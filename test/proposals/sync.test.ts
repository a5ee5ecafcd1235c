/** Two clones and a bare repository between them: both propose, both decide, one is told; what the remote holds is not believed blindly. */
import { execFileSync } from "node:child_process";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import type { Host } from "../../runtime/app/host.ts";
import { withdrawProposal } from "../../runtime/app/proposals-api.ts";
import { cardOf as cardOfProposal } from "../../runtime/change/proposals/card.ts";
import { createProposals } from "../../runtime/change/proposals/store.ts";
import { type Synced, syncProposals } from "../../runtime/change/proposals/sync.ts";
import { type Workspace, close, closeAll, copyOf, host, removeAll, workspace } from "../engine/harness.ts";
import { decide, ready, reportOn, says, script } from "./ready.ts";

afterEach(closeAll);
afterAll(removeAll);

const HELLO = "agents/hello.ts";
const MINUTE = 60_000;
const start = Date.UTC(2026, 10, 6, 12);

interface Clones {
  one: Workspace;
  two: Workspace;
  a: Host;
  b: Host;
  bare: string;
  now: { at: number };
  sync(owner: Host): Promise<Synced>;
}

async function clones(): Promise<Clones> {
  const one = await workspace({ [HELLO]: script(0) });
  const bare = `${one.dir}.git`;
  execFileSync("git", ["clone", "-q", "--bare", one.dir, bare]);
  one.git("remote", "add", "team", bare);
  const two = copyOf(one);
  const now = { at: start };
  const clock = { now: () => now.at };
  const [a, b] = [await host(one, { clock }), await host(two, { clock })];
  return { one, two, a, b, bare, now, sync: (owner) => syncProposals(owner, "team") };
}
const shown = async (owner: Host) =>
  (await createProposals(owner).list()).map(({ title, number, state }) => `${number} ${title}: ${state}`).sort();

describe("two clones", () => {
  it("each propose something: both are number 1 at home, and both exist in both", async () => {
    const { a, b, bare, sync } = await clones();
    const mine = await ready(a, { [HELLO]: script(1) }, { title: "Mine" });
    const yours = await ready(b, { [HELLO]: script(2) }, { title: "Yours" });
    expect([mine.number, yours.number]).toEqual([1, 1]);
    expect(await sync(a)).toMatchObject({ fetched: 0, pushed: 2 });
    expect(await sync(b)).toMatchObject({ fetched: 1, pushed: 2 });
    expect(await sync(a)).toMatchObject({ fetched: 1, pushed: 0, told: [], refused: [] });
    expect(await shown(a)).toEqual(["1 Mine: ready", "2 Yours: ready"]);
    expect(await shown(b)).toEqual(["1 Yours: ready", "2 Mine: ready"]);
    expect(a.cards.list({ open: true, kind: "proposal" })).toHaveLength(2);
    expect(await sync(a)).toEqual({ fetched: 0, pushed: 0, joined: 0, told: [], refused: [] });
    const refs = execFileSync("git", ["for-each-ref", "--format=%(refname)"], { cwd: bare, encoding: "utf8" }).trim().split("\n");
    expect(refs.filter((ref) => ref.startsWith("refs/cleared/proposals/"))).toHaveLength(4);
    expect(refs.filter((ref) => ref.startsWith("refs/cleared/") && !ref.startsWith("refs/cleared/proposals/"))).toEqual([]);
  });

  it("propose the same at the same time: it is one", async () => {
    const { a, b, now, sync } = await clones();
    const first = await ready(a, { [HELLO]: script(1) });
    now.at += MINUTE;
    const second = await ready(b, { [HELLO]: script(1) });
    expect([first.id, first.commit === second.commit]).toEqual([second.id, false]);
    await sync(a);
    expect(await sync(b)).toMatchObject({ told: ["“Say it better” was proposed in both clones; the earlier proposal counts."] });
    await sync(a);
    for (const owner of [a, b])
      expect(await createProposals(owner).list()).toMatchObject([{ id: first.id, commit: first.commit, state: "ready" }]);
  });

  it("both approve: the earlier one stands, the second is told, and both end the same", async () => {
    const { a, b, now, sync } = await clones();
    const { id } = await ready(a, { [HELLO]: script(1) });
    await sync(a);
    await sync(b);
    now.at += MINUTE;
    await decide(b, await createProposals(b).get(id));
    now.at += MINUTE;
    await decide(a, await createProposals(a).get(id));
    await sync(b);
    const told = ["“Say it better”: approved by Pat on 2026-11-06 12:02 UTC came second; approved by Pat on 2026-11-06 12:01 UTC stands."];
    expect(await sync(a)).toMatchObject({ joined: 1, told });
    expect(await sync(b)).toMatchObject({ joined: 0 });
    expect(await sync(a)).toEqual({ fetched: 0, pushed: 0, joined: 0, told: [], refused: [] });
    const [here, there] = [await createProposals(a).get(id), await createProposals(b).get(id)];
    expect(here.decisions).toEqual(there.decisions);
    expect(here.decisions.map(({ at }) => at - start)).toEqual([MINUTE, 2 * MINUTE]);
    expect([here.state, there.state]).toEqual(["applied", "applied"]);
  });

  it("one rejects and the other approves later: the rejection stands, and whoever applied it is told", async () => {
    const { two, a, b, now, sync } = await clones();
    const { id } = await ready(a, { [HELLO]: script(1) });
    await sync(a);
    await sync(b);
    now.at += MINUTE;
    await decide(a, await createProposals(a).get(id), "rejected", { reason: "not this year" });
    now.at += MINUTE;
    await decide(b, await createProposals(b).get(id));
    await sync(a);
    expect((await sync(b)).told).toEqual([
      "“Say it better”: approved by Pat on 2026-11-06 12:02 UTC came second; rejected by Pat on 2026-11-06 12:01 UTC stands.",
    ]);
    await sync(a);
    expect(await createProposals(a).get(id)).toMatchObject({ state: "rejected", why: "not this year" });
    // The branch is the truth about its own files, until the commit is taken back.
    expect(await createProposals(b).get(id)).toMatchObject({ state: "applied" });
    two.git("revert", "--no-edit", "HEAD");
    expect(await createProposals(b).get(id)).toMatchObject({ state: "reverted" });
  });

  it("sync at the same moment: nothing is lost", async () => {
    const { a, b, sync } = await clones();
    for (const [owner, name] of [[a, "a"] as const, [b, "b"] as const])
      for (let n = 0; n < 3; n++) await ready(owner, { [`agents/${name}${n}.ts`]: script(n) }, { title: `${name}${n}` });
    await Promise.all([sync(a), sync(b)]);
    await Promise.all([sync(b), sync(a)]);
    await sync(a);
    for (const owner of [a, b]) expect(await createProposals(owner).list()).toHaveLength(6);
  });
});

describe("a remote that is not trusted", () => {
  it("a signed rejection is not removed by a later state", async () => {
    const { a, b, sync } = await clones();
    const { id } = await ready(a, { [HELLO]: script(1) });
    await decide(a, await createProposals(a).get(id), "rejected", { reason: "no" });
    await sync(a);
    await sync(b);
    await createProposals(b).update(id, { state: "ready" }, { from: ["rejected"] });
    await sync(b);
    expect((await sync(a)).refused).toEqual([{ id, why: "it says it is ready, although Pat rejected it here" }]);
    expect(await createProposals(a).get(id)).toMatchObject({ state: "rejected" });
  });

  it("what waits here is neither closed nor reopened by an unsigned state", async () => {
    const { a, b, now, sync } = await clones();
    const made = await ready(a, { [HELLO]: script(1) });
    const withdrawn = await ready(a, { [HELLO]: script(2) }, { title: "Withdrawn" });
    await createProposals(a).update(withdrawn.id, { state: "superseded", why: "Withdrawn." }, { from: ["ready"] });
    const refusedBy = async (owner: Host, id: string) => (await sync(owner)).refused.filter((one) => one.id === id).map(({ why }) => why);
    await sync(a);
    await sync(b);
    for (const [state, applied] of [["superseded"], ["blocked"], ["applied", "0".repeat(40)], ["reverted"]] as const) {
      const change = { state, why: "Not needed.", ...(applied === undefined ? {} : { applied }) };
      await createProposals(b).update(made.id, change, { from: ["ready"] });
      await sync(b);
      expect(await refusedBy(a, made.id), state).toEqual([
        `it says it is ${state}, and no person of trust.yaml has signed that: Not needed. It stays ready here; \`cleared reject\` closes it`,
      ]);
      // The same beside another step of ours: both lives are joined, and that state is none of them.
      now.at += MINUTE;
      await createProposals(a).update(made.id, { state: "ready" }, { from: ["ready"] });
      await sync(a);
      expect(await shown(a), state).toEqual(["1 Say it better: ready", "2 Withdrawn: superseded"]);
      await sync(b);
      await createProposals(b).update(made.id, { state: "ready" }, { from: [state, "ready"] });
      await sync(b);
      await sync(a);
    }
    expect(a.cards.list({ open: true, kind: "proposal" })).toHaveLength(1);
    const own = await ready(b, { [HELLO]: script(3) }, { title: "Own", by: "Pat" });
    await sync(b);
    await sync(a);
    await withdrawProposal(b, own.id, "Pat", "no use");
    await sync(b);
    expect((await sync(a)).refused).toEqual([]);
    expect(await createProposals(a).get(own.id)).toMatchObject({ state: "superseded", why: "Withdrawn by Pat: no use" });
    await createProposals(b).update(withdrawn.id, { state: "ready" }, { from: ["superseded"] });
    await sync(b);
    expect(await refusedBy(a, withdrawn.id)).toEqual([
      "it says it is ready, although it was closed here; propose it again if it is still wanted",
    ]);
  });

  it("one of two approvals makes nothing approved or applied, whatever the state and report say", async () => {
    const { a, b, now, sync } = await clones();
    const [pat] = a.trust.people;
    if (pat === undefined) throw new Error("no person");
    const trust = { ...a.trust, people: [pat, { ...pat, name: "Sam" }], changes: { ...a.trust.changes, approvals: 2 } };
    const [one, other] = [
      { ...a, trust },
      { ...b, trust },
    ];
    const made = await ready(one, { [HELLO]: script(1) }, {}, { approvals: 2 });
    await sync(one);
    await sync(other);
    const said = (state: string) => `it says it is ${state}, and no person of trust.yaml has signed that`;
    const why = async () => (await sync(one)).refused.map((each) => each.why.slice(0, said("applied").length + 1).trim());
    const yes = says(other, await createProposals(other).get(made.id), "approved");
    const report = reportOn(made.report?.on ?? "", made.report?.at ?? 0);
    for (const [i, state] of (["approved", "applied", "reverted"] as const).entries()) {
      const change = { state, report, decisions: i === 0 ? [yes] : [], ...(i === 0 ? {} : { applied: "0".repeat(40) }) };
      await createProposals(other).update(made.id, change, { from: ["ready", "approved", "applied"] });
      await sync(other);
      expect(await why(), state).toEqual([expect.stringContaining(`it says it is ${state}, and its approvals are not enough`)]);
      now.at += MINUTE;
    }
    // The same of one that was never here.
    const fresh = await ready(other, { "agents/b.ts": script(2) }, { title: "Never here" });
    const late = says(other, fresh, "approved");
    await createProposals(other).update(fresh.id, { state: "approved", decisions: [late] }, { from: ["ready"] });
    await sync(other);
    expect((await sync(one)).refused.map(({ id }) => id)).toContain(fresh.id);
    expect(await shown(one)).toEqual(["1 Say it better: ready"]);
    // And beside a step of ours, where both lives are joined.
    await createProposals(one).update(made.id, { state: "ready" }, { from: ["ready"] });
    await sync(one);
    expect(await createProposals(one).get(made.id)).toMatchObject({ state: "ready", applied: null, decisions: [{ by: "Pat" }] });
  });

  it("an unsigned report, or one with fewer runs, replaces none that was made here, and names its origin", async () => {
    const { a, b, now, sync } = await clones();
    const counts = { same: 5, changed: 0, worse: 0, failed: 0, not_replayable: 0 };
    const test = (runs: number) => ({ agent: "hello", code: "x", runs, days: null, counts, money: [], net: {}, moves: [], facts: [] });
    const known = (runs: number) => ({ backtests: [{ ...test(runs), entries: 0, differences: [], waiting: [] }] });
    const { id, report } = await ready(a, { [HELLO]: script(1) }, {}, known(5));
    await sync(a);
    await sync(b);
    const [here, there] = [createProposals(a), createProposals(b)];
    expect([(await here.get(id)).isForeign, (await there.get(id)).isForeign]).toEqual([undefined, true]);
    expect(JSON.stringify(cardOfProposal(await there.get(id)).parts)).toContain("was computed in another clone");
    for (const runs of [0, 50]) {
      now.at += MINUTE;
      const made = reportOn(report?.on ?? "", now.at, known(runs));
      await there.update(id, { state: runs === 0 ? "unproven" : "ready", report: made }, { from: ["ready"] });
      await sync(b);
      // Going on from ours, and beside a step of ours.
      if (runs > 0) await here.update(id, { state: "ready", says: "looked at" }, { from: ["ready"] });
      expect(await sync(a)).toMatchObject({ joined: 1, pushed: 1, refused: [] });
      expect(await here.get(id)).toMatchObject({ state: "ready", report });
      await sync(b);
      expect(await there.get(id)).toMatchObject({ state: "ready", report });
    }
    // What is withdrawn with a signature is withdrawn, whatever the report beside it knows.
    now.at += MINUTE;
    await there.update(id, { state: "ready", report: reportOn(report?.on ?? "", now.at) }, { from: ["ready"] });
    const no = says(b, await there.get(id), "rejected", { reason: "Withdrawn." });
    await there.update(id, { state: "superseded", why: "Withdrawn.", decisions: [no] }, { from: ["ready"] });
    await sync(b);
    await sync(a);
    expect(await here.get(id)).toMatchObject({ state: "superseded" });
  });

  it("an unsigned decision, other content under a known name, garbage: ignored, and reported", async () => {
    const { one, a, b, bare, sync } = await clones();
    const forged = await ready(b, { [HELLO]: script(1) }, { title: "Forged" });
    await createProposals(b).update(forged.id, { state: "approved", by: "Pat" }, { from: ["ready"] });
    const unsigned = await ready(b, { [HELLO]: script(2) }, { title: "Unsigned" });
    const no = { card: 1, decision: "rejected" as const, by: "Pat", at: start, signature: "AAAA" };
    await createProposals(b).update(unsigned.id, { state: "rejected", decisions: [no] }, { from: ["ready"] });
    const mine = await ready(a, { [HELLO]: script(3) }, { title: "Mine" });
    await sync(b);
    const bareGit = (...args: string[]) => execFileSync("git", args, { cwd: bare, encoding: "utf8" }).trim();
    bareGit("update-ref", `refs/cleared/proposals/${mine.id}/change`, forged.commit);
    bareGit("update-ref", "refs/cleared/proposals/prop_0000000000/change", bareGit("rev-parse", "main:agents"));
    bareGit("update-ref", "refs/cleared/proposals/nonsense/state", bareGit("rev-parse", "main"));
    const { refused } = await sync(a);
    expect(Object.fromEntries(refused.map(({ id, why }) => [id, why]))).toEqual({
      [forged.id]: "it says it is approved, and no person of trust.yaml has signed that",
      [unsigned.id]: "it says it is rejected, and no person of trust.yaml has signed that",
      [mine.id]: "its change does not carry its trailers Proposal: and Proposed-by:",
      prop_0000000000: "its change is not a commit of this repository",
      nonsense: "its name is not that of a proposal",
    });
    expect(await shown(a)).toEqual(["1 Mine: ready"]);
    expect(await createProposals(a).unreadable()).toEqual([]);
    await expect(syncProposals(a, "tea")).rejects.toMatchObject({
      code: "GIT_STATE",
      message: expect.stringMatching(/Did you mean "team"/),
    });
    await expect(syncProposals(a, "--upload-pack=touch x")).rejects.toMatchObject({ code: "GIT_STATE" });
    one.git("remote", "set-url", "team", `${bare}-gone`);
    await expect(sync(a)).rejects.toMatchObject({ code: "GIT_FAILED" });
    await close(a);
  });
});
