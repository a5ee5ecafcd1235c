/** A proposal that its proposer withdraws while it is still made and checked, at seeded moments: the withdrawal stands, and is told. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { proposeFiles, withdrawProposal } from "../../runtime/app/proposals-api.ts";
import type { Host } from "../../runtime/app/host.ts";
import { createProposals } from "../../runtime/change/proposals/store.ts";
import { TEAM, made } from "../engine/gates.ts";
import { removeAll } from "../engine/harness.ts";
import { seeded } from "../kill/processes.ts";
import { script } from "../proposals/ready.ts";

const LONG = process.env["CLEARED_LONG"] === "1";
let opened: Host;
beforeAll(async () => {
  ({ opened } = await made(TEAM, ""));
});
afterAll(removeAll);

const moments = async (n: number) => {
  for (let i = 0; i < n; i++) await new Promise((resolve) => setImmediate(resolve));
};

test("a proposal withdrawn while it is made stays withdrawn, and its author learns that", async () => {
  const store = createProposals(opened);
  const find = async (title: string) => (await store.list()).find((proposal) => proposal.title === title);
  for (let seed = 0; seed < (LONG ? 100 : 12); seed++) {
    const title = `Withdrawn ${seed}`;
    const making = proposeFiles(opened, { title, reason: "", by: "Ann", files: { [`agents/w${seed}.ts`]: script(seed) } });
    let found = await find(title);
    for (; found === undefined; found = await find(title)) await moments(1);
    await moments(Math.floor(seeded(seed + 1)() * 60));
    await withdrawProposal(opened, found.id, "Ann", "no");
    expect(["superseded", "ready"]).toContain((await making).state);
    expect(await store.get(found.id)).toMatchObject({ state: "superseded", why: "Withdrawn by Ann: no" });
    expect(opened.cards.get(found.number)?.decision).toMatchObject({ decision: "expired", reason: "Withdrawn by Ann: no" });
  }
});
