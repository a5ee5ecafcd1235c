/**
 * Answers against everything that may look in between: the timers of the owner, another person, a cancel, a pause, a restart, a reminder, a
 * proposal that is withdrawn or replaced, people who come and go. Seeded rounds:
 * whoever was told that their answer counts finds it on the card and in what came of it, and no answer of a person becomes one of `runtime`.
 * A seeded tenth of 300; all of them with CLEARED_LONG=1. RACES=first,count tries some.
 * Size: every answer and every tick over the same helpers.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { asked, decideCard } from "../../runtime/app/decide.ts";
import { guardOnce, remind } from "../../runtime/app/timers.ts";
import { proposeFiles, withdrawProposal } from "../../runtime/app/proposals-api.ts";
import type { Host } from "../../runtime/app/host.ts";
import { pauseAgents, resumeAgents } from "../../runtime/app/pause.ts";
import { reconcileCards } from "../../runtime/app/reconcile.ts";
import { settleRows } from "../../runtime/app/receipts.ts";
import { wakeWaiting } from "../../runtime/app/wake.ts";
import { signDecision } from "../../runtime/engine/signature.ts";
import { settleApproved } from "../../runtime/change/proposals/apply.ts";
import { createProposals } from "../../runtime/change/proposals/store.ts";
import type { Card, Decision } from "../../runtime/kernel/ports.ts";
import { findEntry } from "../../runtime/workspace/books/months.ts";
import { TEAM, begin, keysOf, made, trustWith } from "../engine/gates.ts";
import { type Workspace, abandon, close, host, openCard, removeAll, run, withStore } from "../engine/harness.ts";
import { seeded } from "../kill/processes.ts";
import { checking, ready, script } from "../proposals/ready.ts";

const LONG = process.env["CLEARED_LONG"] === "1";
const [first, count] = (process.env["RACES"] ?? (LONG ? "0,300" : "0,30")).split(",").map(Number) as [number, number];

let one: Workspace;
let opened: Host;
let late = 0;
const clock = { now: () => Date.now() + late };
const entries: Card[] = [];
const rows: Card[] = [];

const statement = (name: string, lines: string[]) => one.write(`import/${name}.csv`, `Date,Description,Amount\n${lines.join("\n")}\n`);

beforeAll(async () => {
  ({ one, opened } = await made(TEAM, "", { clock }));
  statement(
    "unknown",
    Array.from({ length: count }, (_, i) => `2026-0${1 + (i % 9)}-0${1 + (i % 7)},Somebody new ${i},-${i + 1}.00`),
  );
  for (let file = 0; file <= count / 100; file++)
    statement(
      `zero${file}`,
      Array.from({ length: 20 }, (_, i) => `2026-0${1 + (i % 9)}-1${i % 9},Nothing moved ${file}-${i},0.00`),
    );
  expect(await run(opened, "ingest")).toMatchObject({ status: "done" });
  for (const card of opened.cards.list({ open: true })) if (card.kind === "entry") entries.push(card);
  for (const card of opened.cards.list({ open: true })) if (card.kind === "row") rows.push(card);
});
afterAll(removeAll);

interface Question {
  card: Card;
  /** What the person says. */
  says: Pick<Decision, "decision"> & Partial<Decision>;
  /** The person has their answer. */
  over: { now: boolean };
  /** What came of it where it counts; throws what is wrong. */
  holds(card: Card, others: readonly string[]): Promise<void>;
}

const signedBy = (name: string, card: Card, says: Question["says"]): Decision =>
  signDecision({ ...asked(card), at: clock.now(), by: name, ...says }, keysOf(name).pem);

async function gate(agent: string, input: { [name: string]: string }, says: Question["says"]): Promise<Question> {
  const { id } = await begin(opened, agent, input);
  const card = openCard(opened, id);
  return {
    card,
    says,
    over: { now: false },
    async holds(now, others) {
      const ended = await opened.engine.result(id, { timeoutMs: 100_000 });
      if (others.includes("cancel") && ended.status === "canceled") return;
      expect(ended.outcome, "the run did not go by the answer").not.toBe("expired");
      if (now.decision?.decision === "edited" && ended.status === "done")
        expect((ended.result as unknown as Decision).calls, "other calls than the person's").toEqual(says.calls);
      if (now.decision?.decision === "rejected") expect(ended).toMatchObject({ outcome: "rejected" });
      // A run that somebody has paused goes on later.
      else if (ended.status !== "waiting") expect(ended).toMatchObject({ status: "done", outcome: "completed" });
    },
  };
}

async function entry(says: Question["says"], status: string[]): Promise<Question> {
  const card = entries.shift() as Card;
  const { entry: id } = card.body as { entry: string };
  return {
    card,
    says,
    over: { now: false },
    async holds() {
      const found = await findEntry(opened.git.tree(await opened.git.head()), id);
      expect(status, `the entry is ${found?.status}`).toContain(found?.status ?? "gone");
    },
  };
}

async function proposal(seed: number, says: Question["says"]): Promise<Question> {
  const path = `agents/p${seed}.ts`;
  const { number, id } = await ready(opened, { [path]: script(seed) }, { title: `Number ${seed}` });
  return {
    card: opened.cards.get(number) as Card,
    says,
    over: { now: false },
    async holds(card) {
      await settleApproved(opened, checking(opened));
      const { state } = await createProposals(opened).get(id);
      expect(state).toBe(card.decision?.decision === "rejected" ? "rejected" : "applied");
    },
  };
}

const QUESTIONS: ((seed: number) => Promise<Question>)[] = [
  () => gate("asks", { amount: "50.00" }, { decision: "approved" }),
  () => gate("asks", { amount: "50.00" }, { decision: "rejected", reason: "no" }),
  () => gate("asks", { kind: "two" }, { decision: "approved" }),
  () =>
    gate(
      "asks",
      { amount: "50.00" },
      { decision: "edited", calls: [{ tool: "bank_pay", params: { to: "ACME", amount: "40.00", note: "first" } }] },
    ),
  () => gate("form", {}, { decision: "approved", result: { amount: "7.00" } }),
  () => gate("form", {}, { decision: "rejected" }),
  () => entry({ decision: "approved" }, ["user-confirmed"]),
  () => entry({ decision: "approved", account: "5020" }, ["user-corrected"]),
  () => entry({ decision: "rejected", reason: "not mine" }, ["user-corrected"]),
  (seed) => proposal(seed, { decision: "approved" }),
  (seed) => proposal(seed, { decision: "rejected", reason: "no" }),
  async () => ({ card: rows.shift() as Card, says: { decision: "approved" }, over: { now: false }, holds: async () => undefined }),
];

/** What looks now and then looks as long as the answer is being carried out. */
async function often({ over }: Question, look: () => Promise<unknown>): Promise<void> {
  for (let n = 0; n < 300 && !over.now; n++) {
    await look();
    await moments(1);
  }
}

type Tick = (question: Question) => Promise<unknown>;
const TICKS: Record<string, Tick> = {
  reconcile: (question) => often(question, () => reconcileCards(opened)),
  async timer(question) {
    const { card } = question;
    late += 4 * 86_400_000;
    if (card.gate !== null) await often(question, () => opened.engine.retry(card.run ?? "").catch(() => undefined));
  },
  cancel: async ({ card }) => (card.gate === null ? null : opened.engine.cancel(card.run ?? "", "no longer wanted")),
  retry: async ({ card }) => (card.gate === null ? null : opened.engine.retry(card.run ?? "")),
  async pause({ card }) {
    if (card.gate === null) return;
    const { agent } = (await opened.engine.get(card.run ?? "")) ?? { agent: "asks" };
    await pauseAgents(opened, { agent, by: "Zoe", reason: "a moment" });
    await resumeAgents(opened, { agent, by: "Zoe" });
  },
  same: ({ card, says }) => decideCard(opened, signedBy("Ann", card, says)),
  other: ({ card }) => decideCard(opened, signedBy("Bob", card, { decision: "rejected", reason: "by Bob" })),
  second: ({ card, says }) => decideCard(opened, signedBy("Bob", card, says)),
  commit: async () => one.commit({ "data/note.txt": String(Math.random()) }),
  tidy: (question) => often(question, () => opened.tidy()),
  wake: (question) => often(question, () => wakeWaiting(opened)),
  guard: () => guardOnce(opened, () => undefined),
  async rows(question) {
    const { card } = question;
    const importing = card.run === null ? null : await opened.engine.get(card.run);
    if (importing === null || card.kind !== "row") return;
    const [run, steps] = [{ ...importing, cause: { kind: "watch" as const, key: "x" } }, await opened.engine.steps(importing.id)];
    await often(question, () => settleRows(opened, run, steps));
  },
  proposals: () => createProposals(opened).list(),
  async withdraw({ card }) {
    if (card.kind === "proposal") await withdrawProposal(opened, card.id, "agent:learner", "no longer wanted");
  },
  async supersede({ card }) {
    if (card.kind !== "proposal") return;
    const { title, reason, by, files } = await createProposals(opened).get(card.id);
    await proposeFiles(opened, {
      title,
      reason,
      by,
      files: Object.fromEntries(files.map(({ path }) => [path, script(`${card.id}, better`)])),
    });
  },
  async remind(question) {
    if (question.card.gate !== null) late += 86_400_000;
    const people = opened.trust.people.map((one) => ({ ...one, email: `${one.name}@acme.example` }));
    const smtp = { host: "127.0.0.1", port: 1, from: "books@acme.example" };
    await often(question, () => remind({ ...opened, trust: { ...opened.trust, people, notices: { ...opened.trust.notices, smtp } } }));
  },
  // The owner starts again with another trust.yaml, in which Ann still stands.
  async people() {
    const { Bob = {}, ...others } = TEAM;
    trustWith(
      one,
      opened.trust.people.some(({ name }) => name === "Bob") ? { ...others, Ivy: { roles: ["manager"] } } : { ...others, Bob },
    );
    await TICKS["crash"]?.({} as Question);
  },
  async crash() {
    await abandon(opened);
    opened = await host(one, { clock });
  },
};

/** What else may end a card of that kind. */
const RIVALS: Partial<Record<Card["kind"], string[]>> = {
  entry: ["reconcile", "reconcile", "crash", "same", "other"],
  row: ["rows", "crash", "same", "other"],
  approval: ["timer", "timer", "cancel", "crash", "same", "other", "second", "remind", "people"],
  form: ["timer", "timer", "cancel", "crash", "same", "other", "remind", "people"],
  proposal: ["wake", "crash", "same", "other", "second", "proposals", "withdraw", "supersede", "people"],
};

const moments = async (n: number) => {
  for (let i = 0; i < n; i++) await new Promise((next) => setImmediate(next));
  if (n > 6) await new Promise((next) => setTimeout(next, n - 6));
};

async function round(seed: number): Promise<void> {
  const random = seeded(seed + 1);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const question = await (QUESTIONS[seed % QUESTIONS.length] as (typeof QUESTIONS)[number])(seed);
  const { card, says } = question;
  // One that closes such cards, and up to two of anything.
  const others = [
    pick(RIVALS[card.kind] ?? ["crash"]),
    ...Array.from({ length: Math.floor(random() * 3) }, () => pick(Object.keys(TICKS))),
  ];
  const [when, ...whens] = [card, ...others].map(() => Math.floor(random() * 30));
  const mine = signedBy("Ann", card, says);
  const started = moments(when ?? 0)
    .then(() => decideCard(opened, mine))
    .finally(() => void (question.over.now = true));
  const [told] = await Promise.allSettled([
    started,
    ...others.map((name, i) => moments(whens[i] ?? 0).then(() => TICKS[name]?.(question))),
  ]);
  if (others.includes("crash") && opened.database.db.isOpen === false) opened = await host(one, { clock });
  await reconcileCards(opened);
  const now = opened.cards.get(card.id) as Card;
  const by = now.decision?.by ?? "nobody";
  const where = JSON.stringify({
    seed,
    kind: card.kind,
    says: says.decision,
    others,
    when,
    whens,
    told: told.status === "fulfilled" ? "counted" : String(told.reason),
    by,
    decision: now.decision?.decision,
  });
  try {
    if (told.status === "fulfilled") {
      const partly = told.value.still !== null;
      // One of two has said yes: it stands on the card until it is decided, or runs out of time.
      if (partly) expect(by === "nobody" ? now.said : ["Ann", ...by.split(", ")]).toContain("Ann");
      else expect(by.split(", ")).toContain("Ann");
      if (!partly) expect(now.decision?.decision === "rejected").toBe(says.decision === "rejected");
    }
    // An answer that was stored is what the card says, whatever the person was told.
    const stored =
      card.gate === null
        ? []
        : (await opened.engine.signals(card.run ?? "", card.gate)).map(({ payload }) => payload as unknown as Decision);
    if (stored.some(({ decision }) => decision === "rejected") || (stored.length > 0 && (card.approvals ?? 1) === 1))
      expect(by).not.toBe("runtime");
    if (committedFor(card.id)) expect(["runtime", "nobody"]).not.toContain(by);
    expect(withStore(one.dir, (db) => db.prepare("SELECT count(*) AS n FROM facts WHERE name GLOB 'deciding card *'").get())).toEqual({
      n: 0,
    });
    if (by.split(", ").includes("Ann")) await question.holds(now, others);
  } catch (error) {
    throw new Error(`${where}\n${(error as Error).message}`);
  }
}

/** The books were changed by an answer to this card. */
function committedFor(card: number): boolean {
  return one.git("log", "-20", "--format=%(trailers:key=Card,valueonly)").split("\n").includes(String(card));
}

test(`${count} rounds of answers against timers, people and restarts lose no answer and overwrite none`, {
  timeout: 60_000 + count * 4000,
}, async () => {
  const broken: string[] = [];
  for (let seed = first; seed < first + count; seed++) await round(seed).catch((error: Error) => void broken.push(error.message));
  expect(broken.join("\n\n")).toBe("");
});

test("a run that reads its gate while its card is decided, or while it is canceled, does not reopen the card", async () => {
  const wrong: string[] = [];
  for (let turns = 0; turns < 40; turns++) {
    const { card, says } = await gate("form", {}, { decision: "approved", result: { amount: "7.00" } });
    const run = card.run ?? "";
    const closes = turns % 2 === 0 ? () => decideCard(opened, signedBy("Ann", card, says)) : () => opened.engine.cancel(run, "not wanted");
    await opened.engine.retry(run);
    for (let n = 0; n < 2000 && (await opened.engine.get(run))?.status === "queued"; n++) await moments(1);
    await moments(turns >> 1);
    await closes();
    for (let n = 0; n < 200; n++) {
      if (opened.cards.get(card.id)?.decision === null) wrong.push(`turn ${turns}, look ${n}`);
      await moments(1);
    }
  }
  expect(wrong).toEqual([]);
});

test("a decision that arrives while its run expires is what the run uses, even with a wrong clock", async () => {
  let counted = 0;
  for (let turns = 0; turns < 30; turns++) {
    const question = await gate("asks", { amount: "50.00" }, { decision: "approved" });
    const { card, says } = question;
    const mine = signedBy("Ann", card, says);
    late += 4 * 86_400_000;
    await opened.engine.retry(card.run ?? "");
    await moments(turns % 6);
    for (let n = 0; n < turns; n++) await Promise.resolve();
    late -= 4 * 86_400_000;
    const told = await decideCard(opened, mine).catch((error: Error) => error);
    if (told instanceof Error) continue;
    counted++;
    await question.holds(opened.cards.get(card.id) as Card, []);
  }
  expect(counted).toBeGreaterThan(0);
  await close(opened);
});
