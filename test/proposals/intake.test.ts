/** Proposals by agents: asked for by a script, durable with its commit, once for a step, within limits, and checked by the owner. */
import { afterAll, afterEach, describe, expect, it } from "vitest";
import type { Host } from "../../runtime/app/host.ts";
import { prepareProposal, admitWish, settleProposals } from "../../runtime/app/proposals-api.ts";
import { unsettledProposals } from "../../runtime/engine/store/cards.ts";
import { settleDrafts } from "../../runtime/change/proposals/intake.ts";
import { createProposals } from "../../runtime/change/proposals/store.ts";
import type { Json } from "../../runtime/kernel/ports.ts";
import { type Workspace, abandon, closeAll, host, removeAll, run, workspace } from "../engine/harness.ts";

afterEach(closeAll);
afterAll(removeAll);

const HOUR = 3_600_000;
const NOON = Date.UTC(2026, 10, 6, 12);
const AGENT = `/*
name: Learner
uses: [propose, approval]
input: {path: {type: string, required: true}, text: {type: string, required: true}, gate: {type: string}}
*/
const answer = propose_change({ title: "Learned: " + input.text, reason: "Seen three times.", files: [{ path: input.path, text: input.text }], evidence: { seen: 3 } });
input.gate === "yes" ? approval_wait({ title: "go on?", calls: [] }) : null;
answer
`;
const rules = { per_agent_a_night: 5, per_day: 20, cooldown_hours: 24, timezone: "UTC" };

async function opened(
  now = { at: NOON },
): Promise<{ one: Workspace; owner: Host; settle: (prepared?: string[]) => ReturnType<typeof settleDrafts> }> {
  const one = await workspace({ "agents/learner.ts": AGENT });
  const owner = await host(one, { clock: { now: () => now.at } });
  const settle = (prepared: string[] = []) =>
    settleDrafts(
      owner,
      async () => rules,
      async (id) => void prepared.push(id),
    );
  return { one, owner, settle };
}
const ask = async (owner: Host, text: string, path = "knowledge/vendors.md", more: Json = {}) => {
  const record = await run(owner, "learner", { path, text, ...(more as object) });
  expect(record.error).toBeNull();
  return record.result as { accepted: boolean; proposal: string | null; reason: string } | null;
};

describe("propose_change", () => {
  it("becomes one proposal, with its run, when the run has ended; its number is that of its card", async () => {
    const { owner, settle } = await opened();
    const answer = await ask(owner, "AWS is 5020");
    expect(answer).toEqual({ accepted: true, proposal: expect.stringMatching(/^prop_/), reason: "" });
    expect(await createProposals(owner).list()).toEqual([]);
    expect(owner.cards.list({ open: true })).toEqual([]);
    const prepared: string[] = [];
    const [made] = await settle(prepared);
    expect(made).toMatchObject({
      id: answer?.proposal,
      number: 1,
      by: "agent:learner",
      title: "Learned: AWS is 5020",
      reason: "Seen three times.",
    });
    expect(prepared).toEqual([made?.id]);
    expect(owner.cards.list({ kind: "proposal" })).toHaveLength(1);
    expect(await ask(owner, "AWS is 5020")).toEqual({ accepted: true, proposal: made?.id, reason: "It is already proposed, as number 1." });
    await settle();
    expect(owner.cards.list({ kind: "proposal" }).map(({ decision }) => decision?.reason ?? null)).toEqual([
      null,
      "It is already proposed, as number 1.",
    ]);
    expect(await createProposals(owner).list()).toHaveLength(1);
  });

  it("a refused path is an answer, not an error", async () => {
    const { owner, settle } = await opened();
    for (const path of ["trust.yaml", "../x", "main.journal", "agents/.git/x.ts", ".cleared/person.key", "agents\\\\x.ts", "AGENTS/x.ts"]) {
      const answer = await ask(owner, "x", path);
      expect(answer, path).toMatchObject({ accepted: false, proposal: null });
      expect(answer?.reason).not.toBe("");
    }
    expect(await settle()).toEqual([]);
    expect(owner.cards.list()).toEqual([]);
  });

  it("is released only with the run: while it waits, and in a dry run, there is none", async () => {
    const { owner, settle } = await opened();
    await ask(owner, "later", "knowledge/a.md", { gate: "yes" });
    expect(await settle()).toEqual([]);
    const { id } = await owner.start("learner", {
      cause: { kind: "command", key: "dry" },
      input: { path: "knowledge/b.md", text: "b" },
      mode: "dry",
    });
    expect((await owner.engine.result(id)).result).toEqual({ accepted: true, proposal: null, reason: "" });
    expect(await settle()).toEqual([]);
    expect(owner.cards.list({ kind: "proposal" })).toEqual([]);
  });

  it("five per night, twenty per day, and a day's pause after a rejection; by the workspace's clock", async () => {
    const now = { at: NOON };
    const { owner, settle } = await opened(now);
    const store = createProposals(owner);
    const base = await owner.git.head();
    const wish = (agent: string, text: string, own = 0) =>
      admitWish(
        owner,
        { run: { agent, mode: "live" } as never, base: owner.git.tree(base) },
        { title: text, reason: "", files: { [`knowledge/${text}.md`]: text }, evidence: null },
        own,
      );
    const made = async (agent: string, text: string) =>
      store.create({ title: text, reason: "", by: `agent:${agent}`, files: { [`knowledge/${text}.md`]: text } }, base);
    for (let n = 0; n < 5; n++) await made("a", `a${n}`);
    expect((await wish("a", "more")).reason).toMatch(
      /agent:a has proposed 5 changes since 18:00; config.yaml changes.per_agent_a_night allows 5/,
    );
    expect((await wish("b", "more", 4)).accepted).toBe(true);
    expect((await wish("b", "more", 5)).accepted).toBe(false);
    now.at = NOON + 5 * HOUR;
    expect((await wish("a", "more")).accepted).toBe(false);
    now.at = NOON + 6 * HOUR;
    expect((await wish("a", "more")).accepted).toBe(true);
    for (const agent of ["b", "c", "d"]) for (let n = 0; n < 5; n++) await made(agent, `${agent}${n}`);
    expect((await wish("e", "more")).reason).toMatch(/Agents have proposed 20 changes today/);
    now.at = NOON + 12 * HOUR;
    expect((await wish("e", "more")).accepted).toBe(true);
    const first = (await store.list()).find(({ title }) => title === "a0");
    await store.update(first?.id ?? "", { state: "rejected", why: "not like this" }, { from: ["draft"] });
    expect((await wish("a", "a0")).reason).toMatch(/was rejected less than 24 hours ago \(not like this\)/);
    expect((await wish("f", "a0")).accepted).toBe(true);
    now.at += 25 * HOUR;
    expect((await wish("a", "a0")).accepted).toBe(true);
    expect(await settle()).toEqual([]);
  });

  it("settled again after a kill at any point, it is one proposal, and it is checked", async () => {
    const { one, owner } = await opened();
    await ask(owner, "once");
    const die = () => Promise.reject(new Error("killed"));
    await expect(settleDrafts(owner, async () => rules, die)).rejects.toThrow("killed");
    await abandon(owner);
    const next = await host(one, { clock: { now: () => NOON + HOUR } });
    const prepared: string[] = [];
    await settleDrafts(
      next,
      async () => rules,
      async (id) => void prepared.push(id),
    );
    const all = await createProposals(next).list();
    expect(all).toHaveLength(1);
    expect(prepared).toEqual([all[0]?.id]);
    expect(next.cards.list({ kind: "proposal" })).toHaveLength(1);
  });

  it("a person's proposal killed as a draft or during its check is checked by the next owner, once", async () => {
    const { one, owner } = await opened();
    const store = createProposals(owner);
    const files = (text: string) => ({ "agents/learner.ts": AGENT.replace("three times", text) });
    const head = await owner.git.head();
    const made = [];
    for (const text of ["twice", "often"])
      made.push((await store.create({ title: text, reason: "", by: "Pat", files: files(text) }, head)).proposal);
    await store.update(made[1]?.id ?? "", { state: "checking" }, { from: ["draft"] });
    await abandon(owner);
    const next = await host(one, { clock: { now: () => NOON + HOUR } });
    await Promise.all([settleProposals(next, () => {}), ...made.map(({ id }) => prepareProposal(next, id))]);
    expect((await createProposals(next).list()).map(({ state, why }) => [state, why])).toEqual([
      ["ready", null],
      ["ready", null],
    ]);
    const looks = made.map(({ id }) => one.git("log", "--format=%s", `refs/cleared/proposals/${id}/state`).trim().split("\n"));
    expect(looks).toEqual([
      ["checked: ready", "checking"],
      ["checked: ready", "checking", "checking"],
    ]);
    expect(unsettledProposals(next.database)).toEqual([]);
  });
});
