/** `bisect`: the commit that changed what a recorded run would do is named, and proven on both sides; what cannot be tried is said. */
import { afterAll, afterEach, expect, test } from "vitest";
import { bisect } from "../../runtime/change/evidence/bisect.ts";
import type { Host } from "../../runtime/app/host.ts";
import { closeAll, host, removeAll, run, start, type Workspace, workspace } from "../engine/harness.ts";

afterEach(closeAll);
afterAll(removeAll);

const header = (uses: string) => `/*\nname: Test\ndescription: test\nuses: [${uses}]\n*/\n`;
const BOOKS = (amount: string, more = "") => `${header("journal, git, config, ctx")}
const sure = config_get("thresholds.auto_confirm");
const added = journal_add_double({ date: "2026-11-06", description: "Rent", debit_account: 5030, credit_account: 1010, amount: "${amount}", key: "rent" });
${more}git_commit("import: rent");
({ entry: added.entry_id, sure });
`;
const at = "agents/rent.ts";

async function recorded(more: Record<string, string> = {}): Promise<{ one: Workspace; opened: Host; id: string; entry: string }> {
  const one = await workspace({ [at]: BOOKS("10.00"), ...more });
  const opened = await host(one);
  const { id, result, error } = await run(opened, "rent");
  expect(error).toBeNull();
  return { one, opened, id, entry: (result as { entry: string }).entry };
}

test("among harmless commits to its files, the one that changed the amount is found, from the run and from its entry", async () => {
  const { one, opened, id, entry } = await recorded();
  for (let n = 0; n < 5; n++) one.commit({ [at]: BOOKS("10.00", `// ${n}\n`) }, `agent: remark ${n}`);
  one.commit({ "README.md": "nothing that it reads\n" }, "docs: no matter");
  const culprit = one.commit({ [at]: BOOKS("11.00") }, "agent: rent rises\n\nProposal: prop_0123456789");
  for (let n = 5; n < 9; n++) one.commit({ [at]: BOOKS("11.00", `// ${n}\n`) }, `agent: remark ${n}`);
  const before = one.git("status", "--porcelain");
  const seen: number[] = [];
  const found = await bisect(id, opened, (done, atMost) => void seen.push(done, atMost));
  expect(found).toMatchObject({ verdict: "found", run: id, agent: "rent", candidates: 10, skipped: [], why: null });
  expect(found.commits).toMatchObject([
    { commit: culprit, subject: "agent: rent rises", author: "Pat", trailers: { Proposal: "prop_0123456789" } },
  ]);
  expect(found.difference).toMatchObject({
    class: "changed",
    divergence: { step: 1, recorded: { tool: "journal_add_double", params: { amount: "10.00" } }, now: { params: { amount: "11.00" } } },
    entries: [{ was: { id: entry }, now: { id: entry } }],
  });
  expect(found.trials).toBeLessThan(8);
  expect(Math.max(...seen)).toBeLessThanOrEqual(7);
  expect(await bisect(entry, opened)).toMatchObject({ verdict: "found", entry, run: id, commits: [{ commit: culprit }] });
  // Nothing was written, asked or booked.
  expect(one.git("status", "--porcelain")).toBe(before);
  expect((await opened.engine.list({ agent: "rent" })).length).toBe(1);
});

test("if HEAD reproduces the recording, the verdict is `same`, even after a change and its revert", async () => {
  const { one, opened, id } = await recorded();
  expect(await bisect(id, opened)).toMatchObject({ verdict: "same", candidates: 0, commits: [] });
  one.commit({ [at]: BOOKS("11.00") });
  one.commit({ [at]: BOOKS("10.00") });
  expect(await bisect(id, opened)).toMatchObject({ verdict: "same", candidates: 2 });
});

test("a setting counts, with the script as it was", async () => {
  const { one, opened, id } = await recorded();
  const config = one.read("config.yaml");
  const set = one.commit({ "config.yaml": config.replace(/auto_confirm: \S+/, "auto_confirm: 0.5") }, "config: less sure");
  one.commit({ [at]: BOOKS("10.00", "// later\n") });
  const found = await bisect(id, opened);
  expect(found).toMatchObject({
    verdict: "found",
    commits: [{ commit: set }],
    difference: { why: [expect.stringMatching(/sure .* -> 0.5/)] },
  });
});

test("commits that cannot be tried are skipped, and named if they are next to the answer", async () => {
  const { one, opened, id } = await recorded();
  const asks = `${header("journal, git, config, ctx, bank")}bank_rate({ day: "x", failures: 0 });\n`;
  const lost = one.commit({ [at]: asks }, "agent: asks the bank");
  const culprit = one.commit({ [at]: BOOKS("12.00") }, "agent: rent rises");
  const between = await bisect(id, opened);
  expect(between).toMatchObject({ verdict: "between", commits: [{ commit: lost }, { commit: culprit }], skipped: [{ commit: lost }] });
  expect(between.skipped[0]?.why).toContain("bank_rate");
  one.commit({ [at]: BOOKS("12.00", "// more\n") });
  one.commit({ [at]: asks }, "agent: asks again");
  expect((await bisect(id, opened)).verdict).toBe("between");
});

test("a removed agent, a merge, a rewritten branch, a run that has not ended, an entry nobody made", async () => {
  const { one, opened, id } = await recorded();
  one.git("checkout", "-qb", "side");
  one.commit({ [at]: BOOKS("13.00") }, "agent: on the side");
  one.git("checkout", "-q", "main");
  one.commit({ "README.md": "meanwhile\n" });
  one.git("merge", "-q", "--no-ff", "-m", "merge: the side", "side");
  expect(await bisect(id, opened)).toMatchObject({ verdict: "found", commits: [{ subject: "merge: the side" }] });
  one.git("rm", "-q", at);
  one.git("commit", "-qm", "agent: gone");
  expect(await bisect(id, opened)).toMatchObject({ verdict: "found", commits: [{ subject: "merge: the side" }] });
  // Set back before the commit that the run stands on: what is there now has no parent that does what was recorded.
  one.git("reset", "-q", "--hard", `${(await opened.engine.get(id))?.pin.commit}^`);
  one.commit({ [at]: BOOKS("14.00") }, "agent: begun anew");
  expect(await bisect(id, opened)).toMatchObject({ verdict: "unproven", why: expect.stringContaining("rewritten") });
  const waits = await start(opened, "gate");
  await opened.engine.result(waits);
  await expect(bisect(waits, opened)).rejects.toMatchObject({ code: "RUN_STATUS" });
  await expect(bisect("run_nobody", opened)).rejects.toMatchObject({ code: "RUN_UNKNOWN" });
  await expect(bisect("261106-aaaaaaaaaa", opened)).rejects.toMatchObject({ code: "JOURNAL_ENTRY_MISSING" });
  await expect(bisect("261106-../../etc", opened)).rejects.toMatchObject({ code: "JOURNAL_ENTRY_MISSING" });
});
