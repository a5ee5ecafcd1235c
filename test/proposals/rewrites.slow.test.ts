/**
 * The rewrites of bad-rewrites.ts and good-rewrites.ts, each the whole way a proposal takes: no bad one unseen or told vaguely, no good one
 * stopped or slandered. On a fresh business, on one that has accepted ten changes, and in a second person's clone. All of them with
 * `npm run test:long -- rewrites`, else a seeded share.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Proposal } from "../../runtime/change/proposal-types.ts";
import { type Business, finish } from "../agents/harness.ts";
import { share } from "../share.ts";
import { BAD, type Bad } from "./bad-rewrites.ts";
import { accepted, clonedTo, proposed, told, withRuns } from "./business-runs.ts";
import { GOOD, type Good } from "./good-rewrites.ts";

afterAll(finish);

const some = <T extends { name: string }>(all: readonly T[], of: number): T[] => share(all, of, ({ name }) => name);
// Under load: how long one takes on a busy machine is no promise.

function expectSeen({ says, stops }: Bad, proposal: Proposal): void {
  const card = told(proposal);
  expect(card).toMatch(says);
  if (stops === true) expect([proposal.state, card]).toEqual(["blocked", card]);
}

function expectFair({ says }: Good, proposal: Proposal, states = ["ready"]): void {
  const card = told(proposal);
  expect(states, card).toContain(proposal.state);
  expect([proposal.report?.widening, card]).toEqual([[], card]);
  expect(card).toMatch(says ?? /^(?:Nothing changes|Changes |No )/);
}

describe("on a business with a history", () => {
  let at: Business;
  beforeAll(async () => {
    at = await withRuns();
  });
  test.each(some(BAD, 8))("bad: $name", async (bad) => expectSeen(bad, await proposed(at, bad.name, bad.change)));
  test.each(some(GOOD, 8))("good: $name", async (good) => expectFair(good, await proposed(at, good.name, good.change)));
});

describe("after ten accepted changes, and in a second person's clone", () => {
  let at: Business;
  let clone: Business;
  beforeAll(async () => {
    at = await withRuns();
    await accepted(at);
    clone = await clonedTo(at);
  });
  test.each(some(BAD, 24))("bad: $name", async (bad) => expectSeen(bad, await proposed(at, bad.name, bad.change)));
  test.each(some(GOOD, 12))("good: $name", async (good) => expectFair(good, await proposed(at, good.name, good.change)));
  test.each(some(GOOD, 18))("good, in the clone: $name", async (good) => {
    const proposal = await proposed(clone, `here: ${good.name}`, good.change);
    // Nothing proves it there, which is said and is no fault of it.
    expect(["ready", "unproven"], told(proposal)).toContain(proposal.state);
    expect([proposal.report?.widening, told(proposal)]).toEqual([[], told(proposal)]);
  });
});
