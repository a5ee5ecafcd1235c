/** What belongs together and what does not: two proposals on one file, a first yes through later checks, one import after the other. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, afterEach, expect, test } from "vitest";
import { createApi } from "../../runtime/app/api.ts";
import { holderHere } from "../../runtime/app/identity.ts";
import { importFiles } from "../../runtime/app/imports.ts";
import { markWords, marksOf } from "../../runtime/app/marks.ts";
import { prepareProposal, proposeFiles, showProposal } from "../../runtime/app/proposals-api.ts";
import { signDecision } from "../../runtime/engine/signature.ts";
import { decideProposal } from "../../runtime/change/proposals/apply.ts";
import { cardOf as proposalCard } from "../../runtime/change/proposals/card.ts";
import { createProposals } from "../../runtime/change/proposals/store.ts";
import { closeAll, host, removeAll, workspace } from "../engine/harness.ts";
import { cardOf, decide, ready, says, script } from "./ready.ts";

afterEach(closeAll);
afterAll(removeAll);

const HELLO = "agents/hello.ts";

test("unrelated proposals for one file are not linked as replacements: each keeps its question, whatever becomes of the other", async () => {
  const owner = await host(await workspace({ [HELLO]: script(0) }));
  const store = createProposals(owner);
  const [first, second, third] = [
    await ready(owner, { [HELLO]: script(1) }, { title: "One" }),
    await ready(owner, { [HELLO]: script(2) }, { title: "Another" }),
    await ready(owner, { [HELLO]: script(3) }, { title: "A third" }),
  ];
  await decide(owner, first, "rejected", { reason: "not now" });
  for (const { id, number } of [second, third]) {
    expect(await store.get(id)).toMatchObject({ state: "ready", why: null });
    expect(owner.cards.get(number)).toMatchObject({ decision: null });
  }
  // What was said to another try is told as that, behind the details.
  const { headline, parts, details } = proposalCard((await showProposal(owner, second.id)).proposal, await showProposal(owner, second.id));
  expect(JSON.stringify([headline, parts])).not.toMatch(/One|replace|supersede/);
  expect(details.flatMap(({ lines }) => lines)).toContainEqual(expect.stringMatching(/^rejected before: “One” by .*: not now/));
  // Applied, it blocks what was made on the old text, and replaces nothing.
  await decide(owner, second);
  const left = await prepareProposal(owner, third.id);
  expect([left.state, left.why]).toEqual(["blocked", expect.stringContaining(HELLO)]);
});

test("a blocked answer to a card is replaced by an answer to the same card, and by nothing else", async () => {
  const owner = await host(await workspace({ [HELLO]: script(0) }));
  const by = "Pat";
  const states = async () => (await createProposals(owner).list()).sort((a, b) => a.number - b.number).map(({ state }) => state);
  const propose = (title: string, reason: string) => proposeFiles(owner, { title, reason, by, files: { [HELLO]: `ctx_log("${title}` } });
  for (const [title, reason] of [
    ["One", `${by} answered card 3.`],
    ["Two", `${by} answered card 4.`],
    ["Own", "because"],
  ] as const)
    await propose(title, reason);
  expect(await states()).toEqual(["blocked", "blocked", "blocked"]);
  await propose("Twice", `${by} answered card 4.`);
  expect(await states()).toEqual(["blocked", "superseded", "blocked", "blocked"]);
});

test("earlier faults in files that a change leaves alone are remarks; what the change adds there blocks it", async () => {
  const one = await workspace({
    [HELLO]: script(0),
    "agents/broken.ts": "/*\nname: Broken\nuses: [ctx]\n*/\nctx_log(",
    "agents/caller.ts": '/*\nname: Caller\nuses: [script]\n*/\nscript_run("helper");\n',
    "scripts/helper.ts": "/*\nname: Helper\n*/\n1;\n",
  });
  const owner = await host(one);
  const made = async (files: Record<string, string | null>) => {
    const { id } = (await createProposals(owner).create({ title: "Change", reason: "", by: "Pat", files }, await owner.git.head()))
      .proposal;
    return prepareProposal(owner, id);
  };
  const config = `${one.read("config.yaml")}\n`;
  for (const files of [{ [HELLO]: script(1) }, { "config.yaml": config.replace("auto_confirm: 0.95", "auto_confirm: 0.97") }]) {
    const proposal = await made(files);
    expect(proposal.state).toMatch(/ready|unproven/);
    if ("config.yaml" in files) expect(JSON.stringify(proposal.report?.checks)).toContain("Before this change already");
  }
  // A list of agents says of it what a check of it says.
  const marks = await marksOf(owner.dir, owner.git.tree(await owner.git.head()));
  expect(markWords(marks.get("broken"))).toContain("agents/broken.ts");
  expect(JSON.stringify((await made({ "agents/broken.ts": "still broken(" })).why)).toContain("agents/broken.ts");
  const brought = await made({ "scripts/helper.ts": null });
  expect([brought.state, JSON.stringify(brought.report?.checks)]).toEqual(["blocked", expect.stringContaining("agents/caller.ts")]);
});

test("a proposal that is checked again, twice, never drops a first approver's decision", async () => {
  const one = await workspace({ [HELLO]: script(0) });
  const owner = await host(one);
  const [pat] = owner.trust.people;
  if (pat === undefined) throw new Error("no person");
  let now = Date.now();
  const two = {
    ...owner,
    clock: { now: () => now },
    trust: { ...owner.trust, people: [pat, { ...pat, name: "Sam" }], changes: { ...owner.trust.changes, approvals: 2 } },
  };
  const store = createProposals(two);
  const draft = { title: "Say it better", reason: "", by: "agent:x", files: { [HELLO]: script(1) } };
  const { id } = (await store.create(draft, await two.git.head())).proposal;
  const check = async (which: string | number) => void (await prepareProposal(two, which));
  await check(id);
  const yes = async (by: string) => {
    const proposal = await store.get(id);
    const { signature: _, self: _self, ...said } = says(two, proposal, "approved");
    return decideProposal(two, cardOf(two, proposal), signDecision({ ...said, by }, holderHere(two.dir, two.trust).key), check);
  };
  expect(await yes("Pat")).toMatchObject({ commit: null, open: { people: ["Pat"] } });
  for (const _ of [1, 2]) {
    now += 3_600_000;
    await check(id);
    expect((await store.get(id)).decisions).toMatchObject([{ by: "Pat", decision: "approved" }]);
  }
  // A commit of something else between the two makes it be looked at again, too.
  one.commit({ "agents/other.ts": script("other") });
  expect((await yes("Sam")).commit).not.toBeNull();
  const trailer = execFileSync("git", ["log", "-1", "--format=%(trailers:key=Approved-by,valueonly)"], { cwd: one.dir, encoding: "utf8" });
  expect(trailer.trim()).toBe("Pat, Sam");
});

test("`undo import` twice says each time which import it is about to undo", async () => {
  const one = await workspace();
  const owner = await host(one);
  const api = createApi(owner);
  const statement = (day: string, text: string, amount: string, balance: string) =>
    `Date,Description,Amount,Balance\n${day},${text},${amount},${balance}\n`;
  for (const [name, text] of [
    ["october.csv", statement("2026-10-01", "GITHUB PRO", "-21.00", "979.00")],
    ["november.csv", statement("2026-11-02", "ZOOM.US", "-15.00", "964.00")],
  ] as const) {
    one.write(`import/${name}`, text);
    await importFiles(owner, { files: [join(one.dir, "import", name)], dryRun: false, again: false });
  }
  for (const [title, name] of [
    ["the last import", "november.csv"],
    ["an older import", "october.csv"],
  ] as const) {
    const plan = await api.planUndo({ target: "import" });
    expect(plan.title).toMatch(
      new RegExp(`^${title}, ${name}, imported on 20..-..-..(?: \\(november.csv: undone already\\))?, run_\\w+ \\(ingest\\)$`),
    );
    expect(plan.statements).toMatchObject([{ file: name }]);
    await api.undo({ target: "import", by: "Pat", seen: plan.seen });
  }
  await expect(api.planUndo({ target: "import" })).rejects.toMatchObject({ code: "UNDO_REFUSED" });
});
