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

const propose = () => ready(opened, { "agents/hello.ts": script(1) }, { by: "Bob" });
/** Null where the approval of others is missing. */
const approve = async (by: string, proposal: Proposal) => {
  const said = { ...asked(cardOf(opened, proposal)), decision: "approved" as const, by, at: opened.clock.now() };
  return (await decideProposal(opened, cardOf(opened, proposal), signDecision(said, keysOf(by).pem), checking(opened))).commit;
};
/** The proposal once more, with another message of its change. */
async function forged({ id, commit }: Proposal, edit: (message: string) => string): Promise<Proposal> {
  const other = `${id.slice(0, -1)}${id.endsWith("A") ? "B" : "A"}`;
  const input = edit(one.git("cat-file", "commit", commit).replaceAll(id, other));
  const made = execFileSync("git", ["hash-object", "-t", "commit", "-w", "--stdin"], { cwd: one.dir, input, encoding: "utf8" }).trim();
  one.git("update-ref", `refs/cleared/proposals/${other}/change`, made);
  await checking(opened)(other);
  return createProposals(opened).get(other);
}

it.each([
  ["another person", (text: string) => text.replace("Proposed-by: Bob", "Proposed-by: Ann")],
  ["an agent", (text: string) => text.replace("Proposed-by: Bob", "Proposed-by: agent:x")],
  ["a run of another person", (text: string) => text.replace("Proposed-by: Bob", "Proposed-by: Bob\nStarted-by: Ann")],
])("a change that names %s as its author is approved by two people", async (_, edit) => {
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
