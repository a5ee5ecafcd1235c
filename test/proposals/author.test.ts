/** Who made a proposal is believed where it was made here, or is signed: nobody approves alone what they made under another name. */
import { execFileSync } from "node:child_process";
import { afterAll, afterEach, beforeEach, expect, it, vi } from "vitest";
import { asked } from "../../runtime/app/decide.ts";
import type { Host } from "../../runtime/app/host.ts";
import { decideProposal } from "../../runtime/change/proposals/apply.ts";
import { createProposals } from "../../runtime/change/proposals/store.ts";
import { dropFact } from "../../runtime/engine/store/facts.ts";
import { signDecision } from "../../runtime/engine/signature.ts";
import type { Proposal } from "../../runtime/change/proposal-types.ts";
import { writePrivate } from "../../runtime/workspace/own-folders.ts";
import { keysOf, made } from "../engine/gates.ts";
import { closeAll, removeAll, type Workspace } from "../engine/harness.ts";
import { cardOf, checking, ready, script } from "./ready.ts";

let one: Workspace;
let opened: Host;
beforeEach(async () => {
  ({ one, opened } = await made({ Ann: {}, Bob: {} }));
  writePrivate(`${one.dir} bob.pem`, keysOf("Bob").pem);
  vi.stubEnv("CLEARED_KEY", `${one.dir} bob.pem`);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await closeAll();
});
afterAll(removeAll);

const asking = { request: 1, model: "m", claims: [], says: "It logs.", outside: ["a mail"] };
const propose = () => ready(opened, { "agents/hello.ts": script(1) }, { by: "Bob", asked: asking });
/** Null where the approval of others is missing. */
const approve = async (by: string, proposal: Proposal) => {
  const said = { ...asked(cardOf(opened, proposal)), decision: "approved" as const, by, at: opened.clock.now() };
  return (await decideProposal(opened, cardOf(opened, proposal), signDecision(said, keysOf(by).pem), checking(opened))).commit;
};
/** The proposal with another text of its change and without its state, as in a clone that has no seal of it. */
async function forged({ id, commit }: Proposal, edit: (text: string) => string): Promise<Proposal> {
  const input = edit(one.git("cat-file", "commit", commit));
  const made = execFileSync("git", ["hash-object", "-t", "commit", "-w", "--stdin"], { cwd: one.dir, input, encoding: "utf8" }).trim();
  expect(made).not.toBe(commit);
  one.git("update-ref", `refs/cleared/proposals/${id}/change`, made);
  one.git("update-ref", "-d", `refs/cleared/proposals/${id}/state`);
  await checking(opened)(id);
  return createProposals(opened).get(id);
}

it.each([
  ["another person", (text: string) => text.replace("Proposed-by: Bob", "Proposed-by: Ann")],
  ["an agent", (text: string) => text.replace("Proposed-by: Bob", "Proposed-by: agent:x")],
  ["a run of another person", (text: string) => text.replace("Proposed-by: Bob", "Proposed-by: Bob\nStarted-by: Ann")],
  ["what a model wrote it for no longer", (text: string) => text.replace(/^Asked-for: .*\n/m, "")],
  ["another title", (text: string) => text.replace("Say it better", "Fix a typo")],
  ["another reason", (text: string) => text.replace("It was unclear.", "It was wrong.")],
  ["another time", (text: string) => text.replace(/^committer .*$/m, "committer Cleared <cleared@localhost> 4000000000 +0000")],
  ["one thing more", (text: string) => `${text}Despite: of no matter\n`],
])("a change that names %s, unlike what its author signed, is approved by two people", async (_, edit) => {
  const proposal = await propose();
  await expect(approve("Bob", proposal)).rejects.toMatchObject({ code: "APPROVAL_SELF" });
  const other = await forged(proposal, edit);
  expect(await approve("Bob", other)).toBeNull();
  expect(await approve("Ann", other)).not.toBeNull();
});

it("in another clone the signature says who made it: not its author, and one other person, approve it", async () => {
  const proposal = await propose();
  dropFact(opened.database, `proposal author ${proposal.id}`);
  await expect(approve("Bob", proposal)).rejects.toMatchObject({ code: "APPROVAL_SELF" });
  expect(await approve("Ann", proposal)).not.toBeNull();
});

it("what was applied once is not applied again by another commit of the same change, as where the branch was set back", async () => {
  const proposal = await propose();
  const before = one.git("rev-parse", "HEAD").trim();
  await approve("Ann", proposal);
  one.git("reset", "--hard", before);
  const other = await forged(proposal, (text) => text.replace("Say it better", "Fix a typo"));
  await approve("Bob", other).catch(() => null);
  await expect(approve("Ann", other)).rejects.toThrow(/it was applied before/);
});
