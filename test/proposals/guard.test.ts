/**
 * The guard after a yes, on real runs: what makes things worse is taken back once, in one commit that says why; what is as before stays; and
 * what a person has put back, or has edited since, is theirs.
 */
import { afterAll, afterEach, describe, expect, test } from "vitest";
import type { Host } from "../../runtime/cli/host.ts";
import { openAlerts } from "../../runtime/notices/alerts.ts";
import { createGuard, judgeChange } from "../../runtime/proposals/guard.ts";
import type { Metrics } from "../../runtime/proposals/guard-metrics.ts";
import { createProposals } from "../../runtime/proposals/store.ts";
import type { Proposal } from "../../runtime/proposals/types.ts";
import { parseConfig } from "../../runtime/workspace/config.ts";
import { type Workspace, close, closeAll, host, removeAll, run, workspace } from "../engine/harness.ts";
import { decide, ready } from "./ready.ts";

afterEach(closeAll);
afterAll(removeAll);

const LIMITS = { hours: 24, reviews: 2, errors: 1.5, at_least: 3 };
const metrics = (runs: number, more: Partial<Metrics> = {}): Metrics => ({ runs, reviews: 0, failed: 0, broken: null, ...more });

describe("the rule", () => {
  test.each<[string, Metrics, Metrics, RegExp | null]>([
    ["reviews doubled are let be", metrics(10, { reviews: 10 }), metrics(10, { reviews: 20 }), null],
    [
      "more than doubled are not",
      metrics(10, { reviews: 10 }),
      metrics(10, { reviews: 21 }),
      /^21 review items in 10 runs of ingest since, where the 10 before had 10: more than 2 times/,
    ],
    ["too few runs to tell", metrics(10, { reviews: 1 }), metrics(2, { reviews: 50 }), null],
    ["nothing to compare with", metrics(0), metrics(50, { failed: 50, reviews: 500 }), null],
    ["one failure where none was, of many", metrics(100), metrics(50, { failed: 1 }), null],
    ["two failures where none was, of few", metrics(100), metrics(5, { failed: 2 }), /2 failed runs in 5 runs/],
    ["two where none was, but little is known", metrics(3), metrics(50, { failed: 2 }), null],
    ["half more failures, of many", metrics(1000, { failed: 50 }), metrics(1000, { failed: 75 }), null],
    ["more than half more", metrics(1000, { failed: 50 }), metrics(1000, { failed: 76 }), /76 failed runs/],
    ["fewer of everything", metrics(100, { failed: 9, reviews: 90 }), metrics(100), null],
    ["a broken invariant counts at once", metrics(0), metrics(1, { failed: 1, broken: "run_1 broke it" }), /^run_1 broke it$/],
  ])("%s", (_, before, after, reason) => {
    const judged = judgeChange("ingest", before, after, LIMITS);
    if (reason === null) expect(judged).toBeNull();
    else expect(judged?.reason).toMatch(reason);
  });

  test("config.yaml sets it or turns it off, and nothing else is taken", () => {
    const read = (changes: string) => parseConfig(`business: {name: A}\nchanges: ${changes}\n`).changes.auto_revert;
    expect(read("{}")).toEqual(LIMITS);
    expect(read("{auto_revert: {reviews: 3}}")).toEqual({ ...LIMITS, reviews: 3 });
    expect([read("{auto_revert: off}"), read("{auto_revert: false}")]).toEqual(["off", "off"]);
    for (const wrong of ["true", "{hours: 0}", "{review: 3}", "{errors: 0.5}", "[]", "soon"])
      expect(() => read(`{auto_revert: ${wrong}}`), wrong).toThrow(expect.objectContaining({ code: "CONFIG_INVALID" }));
  });
});

const FILE = "agents/hello.ts";
const header = "/*\nname: Hello\nuses: [ctx, queue, journal]\ninput: {n: {type: integer, default: 0}}\n*/\n";
const GOOD = `${header}ctx_log("good");\n1;\n`;
const FAILS = `${header}if (input.n < 10) journal_query({ limit: 5 }).nothing.at(1);\n2;\n`;
const ASKS = `${header}for (let i = 0; i < 3; i += 1) queue_add_review({ title: "look at " + String(i), reason: "unsure" });\n3;\n`;
const UNBALANCED = `${header}journal_add({ date: "2026-11-06", description: "x", key: "k" + String(input.n), legs: [{ account: 1010, debit: "1.00" }, { account: 5030, credit: "2.00" }] });\n4;\n`;
const HOUR = 3_600_000;

interface World {
  one: Workspace;
  owner: Host;
  clock: { now(): number };
  later(ms: number): void;
}

async function open(file: string = GOOD, more: Record<string, string> = {}): Promise<World> {
  let now = Date.now();
  const one = await workspace({ [FILE]: file, ...more });
  const clock = { now: () => now };
  const owner = await host(one, { clock });
  return { one, owner, clock, later: (ms) => void (now += ms) };
}

async function runs(owner: Host, times: number, agent = "hello"): Promise<void> {
  for (let n = 0; n < times; n++) await run(owner, agent, agent === "hello" ? { n } : {});
}

/** A few runs as it was, then a yes to the new text. */
async function applied({ owner }: World, text: string, before = 4): Promise<Proposal> {
  await runs(owner, before);
  return (await decide(owner, await ready(owner, { [FILE]: text }))).proposal;
}

const commits = (one: Workspace): number => Number(one.git("rev-list", "--count", "HEAD"));
const stateOf = async (owner: Host, { id }: Proposal) => createProposals(owner).get(id);
const message = (one: Workspace, format: string) => one.git("log", "-1", `--format=${format}`).trim();

test.each<[string, string, string, RegExp]>([
  ["fails", GOOD, FAILS, /3 failed runs in 3 runs of hello since, where the 4 before had 0: more than 1.5 times as many/],
  ["asks people much more", GOOD, ASKS, /9 review items in 3 runs/],
  ["breaks an invariant", GOOD, UNBALANCED, /^run_\w+ of hello failed with JOURNAL_UNBALANCED, which the books forbid/],
])("a change that %s is taken back in one commit that says why, byte for byte, once", async (_, was, text, why) => {
  const world = await open(was);
  const { one, owner } = world;
  const proposal = await applied(world, text);
  const guard = createGuard(owner);
  expect(await guard.look()).toEqual([]);
  await runs(owner, 3);
  const before = commits(one);
  const [said, ...more] = await guard.look();
  expect([more, commits(one) - before]).toEqual([[], 1]);
  expect(one.read(FILE)).toBe(was);
  expect(message(one, "%s")).toBe("agent: revert Say it better");
  expect(message(one, "%(trailers:key=Reverts,valueonly)").trim()).toBe(proposal.applied);
  expect(message(one, "%(trailers:key=Undone-by,valueonly)").trim()).toBe("runtime");
  expect(message(one, "%(trailers:key=Reason,valueonly)").trim()).toMatch(why);
  const now = await stateOf(owner, proposal);
  expect(now).toMatchObject({ state: "reverted", reverted: message(one, "%H"), why: expect.stringMatching(/runtime/) });
  expect(said).toContain(`Proposal ${proposal.number} "Say it better" was taken back: `);
  expect(said).toContain(`"git revert ${message(one, "%H").slice(0, 7)}"`);
  expect(openAlerts(owner.database, owner.clock.now()).filter((alert) => alert.includes("was taken back"))).toHaveLength(1);
  await runs(owner, 3);
  expect([await guard.look(), commits(one) - before]).toEqual([[], 1]);
});

test("a change after which everything is as before stays, however often it is looked at, and so does one that is off or old", async () => {
  const world = await open();
  const { one, owner, later } = world;
  await applied(world, GOOD.replace("good", "better"));
  await runs(owner, 5);
  expect(await createGuard(owner).look()).toEqual([]);
  const bad = await applied(world, FAILS, 0);
  await runs(owner, 4);
  one.commit({ "config.yaml": `${one.read("config.yaml")}\nchanges: {auto_revert: off}\n` });
  expect(await createGuard(owner).look()).toEqual([]);
  one.git("revert", "--no-edit", "HEAD");
  later(24 * HOUR);
  expect(await createGuard(owner).look()).toEqual([]);
  // The clock is set back: it looks newer than it is, and is judged.
  later(-48 * HOUR);
  expect(await createGuard(owner).look()).toHaveLength(1);
  expect(await stateOf(owner, bad)).toMatchObject({ state: "reverted" });
});

test("runs on the code before do not count, even when they end later; another agent's neither", async () => {
  const world = await open(GOOD, {
    "agents/other.ts": FAILS,
    "agents/waits.ts": "/*\nname: Waits\nuses: [approval]\n*/\napproval_wait({ title: 'x', calls: [] });\n1;\n",
  });
  const { owner } = world;
  const proposal = await applied(world, GOOD.replace("good", "better"));
  await runs(owner, 4, "other");
  await runs(owner, 3);
  expect(await createGuard(owner).look()).toEqual([]);
  expect(await stateOf(owner, proposal)).toMatchObject({ state: "applied" });
});

test("what a person puts back stays: by git revert, by undo of the undo, by proposing the same again", async () => {
  const world = await open();
  const { one, owner } = world;
  const proposal = await applied(world, FAILS);
  await runs(owner, 3);
  expect(await createGuard(owner).look()).toHaveLength(1);
  one.git("revert", "--no-edit", "HEAD");
  expect(await stateOf(owner, proposal)).toMatchObject({ state: "applied" });
  await runs(owner, 4);
  expect([await createGuard(owner).look(), one.read(FILE)]).toEqual([[], FAILS]);
  one.git("revert", "--no-edit", "HEAD");
  expect(one.read(FILE)).toBe(GOOD);

  const second = await open();
  const first = await applied(second, FAILS);
  await runs(second.owner, 3);
  expect(await createGuard(second.owner).look()).toHaveLength(1);
  const again = (await decide(second.owner, await ready(second.owner, { [FILE]: FAILS }, { title: "I mean it" }))).proposal;
  expect(again.id).not.toBe(first.id);
  await runs(second.owner, 4);
  expect([await createGuard(second.owner).look(), second.one.read(FILE)]).toEqual([[], FAILS]);
});

test("a file that was edited since, or has uncommitted edits, is not touched; a person is told, once", async () => {
  const world = await open();
  const { one, owner } = world;
  const proposal = await applied(world, FAILS);
  const mine = FAILS.replace("2;", "22;");
  one.commit({ [FILE]: mine });
  await runs(owner, 3);
  const guard = createGuard(owner);
  const before = commits(one);
  const [said, ...more] = await guard.look();
  expect(more).toEqual([]);
  expect(said).toMatch(/makes things worse and was not taken back: 3 failed runs .* cleared undo/s);
  expect([await guard.look(), await createGuard(owner).look()]).toEqual([[], []]);
  expect([one.read(FILE), commits(one)]).toEqual([mine, before]);
  expect(await stateOf(owner, proposal)).toMatchObject({ state: "applied" });

  const second = await open();
  const other = await applied(second, FAILS);
  await runs(second.owner, 3);
  const edit = `${FAILS}// my thought\n`;
  second.one.write(FILE, edit);
  const waiting = createGuard(second.owner);
  expect(await waiting.look()).toEqual([expect.stringMatching(/uncommitted edits of yours.*as soon as that is possible/)]);
  expect([await waiting.look(), second.one.read(FILE)]).toEqual([[], edit]);
  second.one.git("checkout", "-q", "--", FILE);
  expect(await waiting.look()).toEqual([expect.stringMatching(/was taken back/)]);
  expect(await stateOf(second.owner, other)).toMatchObject({ state: "reverted" });
});

test("killed after the commit and before anybody is told, the next look tells, and takes nothing back twice", async () => {
  const world = await open();
  const { one, owner, clock } = world;
  const proposal = await applied(world, FAILS);
  await runs(owner, 3);
  const dying = { ...owner, cards: { ...owner.cards, list: owner.cards.list } };
  // As a kill right after the branch has moved: nothing that comes after the commit happens.
  const died = createGuard({
    ...dying,
    git: {
      ...owner.git,
      async commit(request) {
        await owner.git.commit(request);
        throw new Error("killed");
      },
    },
  }).look();
  await expect(died).rejects.toThrow("killed");
  const before = commits(one);
  await close(owner);
  const next = await host(one, { clock });
  expect(await createGuard(next).look()).toEqual([expect.stringMatching(/was taken back: 3 failed runs/)]);
  expect([await createGuard(next).look(), commits(one)]).toEqual([[], before]);
  expect(await stateOf(next, proposal)).toMatchObject({ state: "reverted" });
});
