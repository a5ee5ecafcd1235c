/**
 * The guard after a yes, on real runs: what makes things worse is taken back once, in one commit that says why; what is as before stays; and
 * what a person has put back, or has edited since, is theirs.
 * Size: one guard over one workspace with runs; what it must and must not take back stand beside each other.
 */
import { afterAll, afterEach, describe, expect, test } from "vitest";
import type { Host } from "../../runtime/app/host.ts";
import type { CommitRequest, CommitResult } from "../../runtime/kernel/ports.ts";
import { openAlerts } from "../../runtime/outside/notices/alerts.ts";
import { createGuard, judgeChange } from "../../runtime/change/proposals/guard.ts";
import type { Metrics } from "../../runtime/change/proposals/guard-metrics.ts";
import { createProposals } from "../../runtime/change/proposals/store.ts";
import type { Proposal, Report } from "../../runtime/change/proposal-types.ts";
import { parseConfig } from "../../runtime/workspace/settings/config.ts";
import { type Workspace, close, closeAll, copyOf, host, removeAll, run, workspace } from "../engine/harness.ts";
import { decide, ready } from "./ready.ts";

afterEach(closeAll);
afterAll(removeAll);

const LIMITS = { hours: 24, reviews: 2, errors: 1.5, at_least: 3 };
const metrics = (runs: number, more: Partial<Metrics> = {}): Metrics => ({ runs, reviews: 0, failed: 0, broken: null, ...more });

describe("the rule", () => {
  test.each([
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
    ["as many reviews as the card had said", metrics(10), metrics(10, { reviews: 30 }), null, 3],
    ["many more than the card had said", metrics(10), metrics(10, { reviews: 61 }), /61 review items/, 3],
  ] as [string, Metrics, Metrics, RegExp | null, number?][])("%s", (_, before, after, reason, predicted) => {
    const judged = judgeChange("ingest", before, after, LIMITS, predicted);
    if (reason === null) expect(judged).toBeNull();
    else expect(judged).toMatch(reason);
  });

  test("config.yaml sets or disables it, and nothing else is accepted", () => {
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
const ASKS = `${header}for (let i = 0; i < 3; i += 1) queue_add_review({ description: "look at " + String(i) });\n3;\n`;
const UNBALANCED = `${header}journal_add({ date: "2026-11-06", description: "x", key: "k" + String(input.n), legs: [{ account: 1010, debit: "1.00" }, { account: 5030, credit: "2.00" }] });\n4;\n`;
const HOUR = 3_600_000;

let made: Promise<Workspace> | null = null;

interface World {
  one: Workspace;
  owner: Host;
  clock: { now(): number };
  later(ms: number): void;
}

/** With four good runs of the agent behind it. */
async function open(): Promise<World> {
  made ??= (async () => {
    const one = await workspace({ [FILE]: GOOD, "agents/other.ts": FAILS });
    const owner = await host(one);
    await runs(owner, 4);
    await close(owner);
    return one;
  })();
  let now = Date.now();
  const one = copyOf(await made);
  const clock = { now: () => now };
  const owner = await host(one, { clock });
  return { one, owner, clock, later: (ms) => void (now += ms) };
}

async function runs(owner: Host, times: number, agent = "hello"): Promise<void> {
  for (let n = 0; n < times; n++) await run(owner, agent, agent === "hello" ? { n } : {});
}

/** A yes to the new text. */
async function applied(owner: Host, text: string, title = "Say it better", file = FILE): Promise<Proposal> {
  return (await decide(owner, await ready(owner, { [file]: text }, { title }))).proposal;
}

const commits = (one: Workspace): number => Number(one.git("rev-list", "--count", "HEAD"));
const stateOf = async (owner: Host, { id }: Proposal) => createProposals(owner).get(id);
const message = (one: Workspace, format: string) => one.git("log", "-1", `--format=${format}`).trim();

test.each<[string, string, RegExp]>([
  ["fails", FAILS, /3 failed runs in 3 runs of hello since, where the 4 before had 0: more than 1.5 times as many/],
  ["asks people much more", ASKS, /9 review items in 3 runs/],
  ["breaks an invariant", UNBALANCED, /^run_\w+ of hello failed with JOURNAL_UNBALANCED, which the books forbid/],
])("a change that %s is reverted once, byte for byte, in a commit with the reason", async (_, text, why) => {
  const { one, owner } = await open();
  const proposal = await applied(owner, text);
  const guard = createGuard(owner);
  expect(await guard.look()).toEqual([]);
  await runs(owner, 3);
  const before = commits(one);
  const [said, ...more] = await guard.look();
  expect([more, commits(one) - before]).toEqual([[], 1]);
  expect(one.read(FILE)).toBe(GOOD);
  expect(message(one, "%s")).toBe("agent: revert Say it better");
  expect(message(one, "%(trailers:key=Reverts,valueonly)").trim()).toBe(proposal.applied);
  expect(message(one, "%(trailers:key=Undone-by,valueonly)").trim()).toBe("runtime");
  expect(message(one, "%(trailers:key=Reason,valueonly)").trim()).toMatch(why);
  const now = await stateOf(owner, proposal);
  expect(now).toMatchObject({ state: "reverted", reverted: message(one, "%H"), why: expect.stringMatching(/runtime/) });
  expect(said).toContain(`Proposal ${proposal.number} "Say it better" was taken back: `);
  expect(said).toContain(`"git revert ${message(one, "%H").slice(0, 7)}"`);
  expect(openAlerts(owner.database, owner.clock.now()).filter((alert) => alert.includes("was taken back"))).toHaveLength(1);
  expect([await guard.look(), commits(one) - before]).toEqual([[], 1]);
});

describe("the change is judged, not its circumstances", () => {
  const rough = (word: string, more = "") =>
    `${header}if (input.n >= 100) journal_query({ limit: 5 }).nothing.at(1);\nfor (let i = 0; i < input.n; i += 1) queue_add_review({ description: "look at " + String(i) });\n${more}ctx_log("${word}");\n1;\n`;
  async function openRough() {
    const { one, owner } = await open();
    one.commit({ [FILE]: rough("good") });
    for (const n of [0, 1, 0, 0]) await run(owner, "hello", { n });
    return owner;
  }

  test.each([
    ["fail on the code before as well", [100, 101, 102]],
    ["would have asked people as often before", [9, 9, 9]],
  ])("runs that %s are not caused by it", async (_, inputs) => {
    const owner = await openRough();
    const proposal = await applied(owner, rough("better"));
    for (const n of inputs) await run(owner, "hello", { n });
    const guard = createGuard(owner);
    expect([await guard.look(), await guard.look()]).toEqual([[], []]);
    expect(await stateOf(owner, proposal)).toMatchObject({ state: "applied" });
  });

  test("among runs that fail anyway, those that fail because of the change alone revert it", async () => {
    const owner = await openRough();
    const proposal = await applied(owner, rough("worse", "if (input.n > 1) journal_query({ limit: 5 }).nothing.at(1);\n"));
    for (const n of [100, 2, 3, 100]) await run(owner, "hello", { n });
    expect(await createGuard(owner).look()).toEqual([
      expect.stringMatching(/4 failed runs in 4 runs .*; the code before it does not, on the same runs/),
    ]);
    expect(await stateOf(owner, proposal)).toMatchObject({ state: "reverted" });
  });

  test("what the card predicted is no reason", async () => {
    const { owner } = await open();
    const counts = { same: 0, changed: 4, worse: 0, failed: 0, not_replayable: 0 };
    const sums = { money: [], net: {}, moves: [], facts: [], differences: [], waiting: [], entries: 0 };
    const told = { agent: "hello", code: "x", runs: 4, days: 90, counts, ...sums, reviews: { was: 0, now: 12 } };
    const proposal = await ready(owner, { [FILE]: ASKS }, {}, { backtests: [told] });
    expect((await decide(owner, proposal)).proposal.state).toBe("applied");
    await runs(owner, 3);
    expect(await createGuard(owner).look()).toEqual([]);
    // Nor is it the card's word what somebody wrote into its report afterwards.
    const report = { ...(proposal.report as Report), backtests: [{ ...told, reviews: { was: 0, now: 400 } }] };
    await createProposals(owner).update(proposal.id, { state: "applied", report }, { from: ["applied"] });
    expect(await createGuard(owner).look()).toEqual([expect.stringContaining("9 review items in 3 runs")]);
  });
});

describe("reviews are compared for the same work", () => {
  const SAVINGS = "account Assets:Bank:Savings\n    ; type: A, id: 1020\n";
  const csv = (month: string) =>
    `Date,Description,Amount\n${Array.from({ length: 9 }, (_, n) => `2026-${month}-${n + 10},DROPBOX ${n},-${n + 1}.25\n`).join("")}`;
  async function openBanks() {
    const { one, owner } = await open();
    one.commit({ "main.journal": one.read("main.journal") + SAVINGS });
    await runs(owner, 3, "ingest");
    one.write("import/september.csv", csv("09"));
    expect(await run(owner, "ingest")).toMatchObject({ status: "done" });
    return { one, owner, config: one.read("config.yaml") };
  }
  const rule = (config: string) => config.replace("statements: []", "statements: [{match: {file: '*.csv'}, account: 1010}]");
  const doubtful = (config: string) => config.replace("auto_confirm: 0.95", "auto_confirm: 0.99");

  test("what a person's answer lets an agent book for the first time may wait for reviews", async () => {
    const { one, owner, config } = await openBanks();
    const answer = await applied(owner, doubtful(rule(config)), "Statements belong to 1010", "config.yaml");
    await runs(owner, 3, "ingest");
    expect(owner.cards.list({ open: true, kind: "entry" })).toHaveLength(9);
    expect(await createGuard(owner).look()).toEqual([]);
    expect(await stateOf(owner, answer)).toMatchObject({ state: "applied" });
    expect(one.read("config.yaml")).toContain("account: 1010}]");
  });

  test("what makes an agent ask about all it has booked without a question is worse", async () => {
    const { one, owner, config } = await openBanks();
    one.commit({ "config.yaml": rule(config) });
    await runs(owner, 1, "ingest");
    expect(owner.cards.list({ open: true, kind: "entry" })).toEqual([]);
    await applied(owner, doubtful(rule(config)), "Doubt it", "config.yaml");
    one.write("import/october.csv", csv("10"));
    await runs(owner, 3, "ingest");
    expect(await createGuard(owner).look()).toEqual([expect.stringMatching(/"Doubt it" was taken back: 9 review items in 3 runs/)]);
  });

  test("what lets an agent end that failed before may ask", async () => {
    const { one, owner } = await open();
    one.commit({ [FILE]: FAILS });
    await runs(owner, 3);
    const mended = await applied(owner, ASKS, "Mend it");
    await runs(owner, 3);
    expect(await createGuard(owner).look()).toEqual([]);
    expect(await stateOf(owner, mended)).toMatchObject({ state: "applied" });
  });
});

const BOOKS = (n: number) =>
  `${header}journal_add_double({ date: "2026-11-06", description: "x", debit_account: 5030, credit_account: 1010, amount: "84.00", key: "k" + String(input.n), status: "auto-confirmed" });\n${n};\n`;
const MONTH = "journal/2026/11.journal";

describe("books that do not hold", () => {
  test.each<[string, (one: Workspace) => void, (one: Workspace) => void]>([
    ["before a run books there", (one) => one.commit({ [MONTH]: one.read(MONTH).replace("84.00", "85.00") }), () => undefined],
    [
      "after it has",
      () => undefined,
      (one) => one.commit({ "main.journal": one.read("main.journal").replaceAll("Expenses:Office Supplies", "Expenses:Office") }),
    ],
  ])("are not caused by the change if a person broke them %s", async (_, before, after) => {
    const { one, owner } = await open();
    one.commit({ [FILE]: BOOKS(1) });
    await runs(owner, 4);
    const proposal = await applied(owner, BOOKS(2));
    before(one);
    for (const n of [10, 11]) expect(await run(owner, "hello", { n })).toMatchObject({ status: "done" });
    after(one);
    expect(await createGuard(owner).look()).toEqual([]);
    expect(await stateOf(owner, proposal)).toMatchObject({ state: "applied" });
  });

  test("revert the change whose agent's run has left them broken", async () => {
    const { one, owner } = await open();
    one.commit({ [FILE]: BOOKS(1) });
    await runs(owner, 4);
    const [theirs, own] = [await applied(owner, "1;\n", "Of another agent", "agents/other.ts"), await applied(owner, BOOKS(2))];
    const { id } = await run(owner, "hello", { n: 10 });
    one.write(MONTH, one.read(MONTH).replace("84.00", "85.00"));
    one.git("commit", "-q", "-a", "-m", `book: x\n\nRun: ${id}\nStep: 1\nAgent: hello@0`);
    expect(await createGuard(owner).look()).toEqual([expect.stringMatching(`taken back: ${id} left books that do not hold: ${MONTH}`)]);
    expect([(await stateOf(owner, theirs)).state, (await stateOf(owner, own)).state]).toEqual(["applied", "reverted"]);
  });
});

test("a change after which everything is as before stays, and is judged only by its own runs; off is off", async () => {
  const { one, owner } = await open();
  const fine = await applied(owner, GOOD.replace("good", "better"));
  await runs(owner, 3);
  await runs(owner, 3, "other");
  expect(await createGuard(owner).look()).toEqual([]);
  const bad = await applied(owner, FAILS, "Say it worse");
  await runs(owner, 3);
  one.commit({ "config.yaml": `${one.read("config.yaml")}\nchanges: {auto_revert: off}\n` });
  expect(await createGuard(owner).look()).toEqual([]);
  one.git("revert", "--no-edit", "HEAD");
  expect(await createGuard(owner).look()).toEqual([expect.stringMatching(/^Proposal \d+ "Say it worse" was taken back/)]);
  expect([(await stateOf(owner, fine)).state, (await stateOf(owner, bad)).state]).toEqual(["applied", "reverted"]);
  // Runs of the time when the bad one was in force are no measure for what comes next.
  const next = await applied(owner, FAILS.replace("2;", "5;"), "Say it badly again");
  await runs(owner, 3);
  expect(await createGuard(owner).look()).toEqual([expect.stringMatching(/the 7 before had 0/)]);
  expect((await stateOf(owner, next)).state).toBe("reverted");
});

test("after its hours only a person decides about a change; setting the clock back makes none older", async () => {
  const { owner, later } = await open();
  const proposal = await applied(owner, FAILS);
  await runs(owner, 3);
  later(24 * HOUR);
  expect(await createGuard(owner).look()).toEqual([]);
  later(-48 * HOUR);
  expect(await createGuard(owner).look()).toHaveLength(1);
  expect(await stateOf(owner, proposal)).toMatchObject({ state: "reverted" });
});

test("what a person restores by git revert stays", async () => {
  const { one, owner } = await open();
  const proposal = await applied(owner, FAILS);
  await runs(owner, 3);
  expect(await createGuard(owner).look()).toHaveLength(1);
  one.git("revert", "--no-edit", "HEAD");
  expect(await stateOf(owner, proposal)).toMatchObject({ state: "applied" });
  await runs(owner, 3);
  expect([await createGuard(owner).look(), one.read(FILE)]).toEqual([[], FAILS]);
});

test("what a person approves again after its revert stays", async () => {
  const { one, owner } = await open();
  const first = await applied(owner, FAILS);
  await runs(owner, 3);
  expect(await createGuard(owner).look()).toHaveLength(1);
  const again = await applied(owner, FAILS, "I mean it");
  expect(again.id).not.toBe(first.id);
  await runs(owner, 3);
  expect([await createGuard(owner).look(), one.read(FILE)]).toEqual([[], FAILS]);
});

test("a change that came by a merge is judged by the runs since the merge", async () => {
  const { one, owner } = await open();
  const proposal = await applied(owner, FAILS);
  const tip = one.git("rev-parse", "HEAD").trim();
  one.git("reset", "-q", "--hard", "HEAD^");
  one.commit({ "README.md": "meanwhile\n" });
  one.git("merge", "-q", "--no-ff", "-m", "merge: theirs", tip);
  await runs(owner, 3);
  expect(await createGuard(owner).look()).toHaveLength(1);
  expect(await stateOf(owner, proposal)).toMatchObject({ state: "reverted" });
});

test("a file edited since is not touched; a person is told, once", async () => {
  const { one, owner } = await open();
  const proposal = await applied(owner, FAILS);
  const mine = FAILS.replace("2;", "22;");
  one.commit({ [FILE]: mine });
  await runs(owner, 3);
  const guard = createGuard(owner);
  const before = commits(one);
  const [said, ...more] = await guard.look();
  expect(more).toEqual([]);
  expect(said).toMatch(/makes things worse and was not taken back: 3 failed runs .*`cleared undo 1` shows what is in the way/);
  expect([await guard.look(), await createGuard(owner).look()]).toEqual([[], []]);
  expect([one.read(FILE), commits(one)]).toEqual([mine, before]);
  expect(await stateOf(owner, proposal)).toMatchObject({ state: "applied" });
});

test("an uncommitted edit in the way is waited for", async () => {
  const { one, owner } = await open();
  const proposal = await applied(owner, FAILS);
  await runs(owner, 3);
  const edit = `${FAILS}// my thought\n`;
  one.write(FILE, edit);
  const guard = createGuard(owner);
  expect(await guard.look()).toEqual([expect.stringMatching(/uncommitted edits of yours.*as soon as that is possible/)]);
  expect([await guard.look(), one.read(FILE)]).toEqual([[], edit]);
  one.git("checkout", "-q", "--", FILE);
  expect(await guard.look()).toEqual([expect.stringMatching(/was taken back/)]);
  expect(await stateOf(owner, proposal)).toMatchObject({ state: "reverted" });
});

test("killed after the commit and before the alert, the next check alerts, and reverts nothing twice", async () => {
  const { one, owner, clock } = await open();
  const proposal = await applied(owner, FAILS);
  await runs(owner, 3);
  // As a kill right after the branch has moved: nothing that comes after the commit happens.
  const dying = async (request: CommitRequest): Promise<CommitResult> => {
    await owner.git.commit(request);
    throw new Error("killed");
  };
  await expect(createGuard({ ...owner, git: { ...owner.git, commit: dying } }).look()).rejects.toThrow("killed");
  const before = commits(one);
  await close(owner);
  const next = await host(one, { clock });
  expect(await createGuard(next).look()).toEqual([expect.stringMatching(/was taken back: 3 failed runs/)]);
  expect([await createGuard(next).look(), commits(one)]).toEqual([[], before]);
  expect(await stateOf(next, proposal)).toMatchObject({ state: "reverted" });
});
