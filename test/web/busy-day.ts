/** A workspace on a busy day, written by hand: what the status page is shown in its tests. `decide` closes a card as the engine would. */
import { ClearedError } from "../../runtime/kernel/errors.ts";
import type { Card, RunRecord } from "../../runtime/kernel/ports.ts";
import { factOf, proposalAt } from "./proposals.ts";
import { asksAt, rowsAt } from "./requests.ts";
import type { Answer, Facts } from "../../runtime/app/facts.ts";

export const NOW = Date.parse("2026-11-21T14:05:00Z");
const MINUTE = 60_000;
const HOSTILE = `<script>alert(1)</script>"'&\u202e900`;

const run = (id: string, agent: string, minutesAgo: number, rest: Partial<RunRecord>): RunRecord => ({
  id: `run_${id}`,
  agent,
  status: "done",
  reason: null,
  waitsFor: null,
  outcome: "completed",
  input: {},
  result: null,
  error: null,
  cause: { kind: "watch", key: id, detail: "import/chase-2026-10.csv" },
  pin: { commit: "3f2c1aa90d4c1b7e6a5f4e3d2c1b0a9f8e7d6c5b", blob: "b1", api: 1 },
  mode: "live",
  meta: null,
  attempt: 1,
  createdAt: NOW - minutesAgo * MINUTE,
  startedAt: NOW - minutesAgo * MINUTE,
  endedAt: NOW - minutesAgo * MINUTE + 840,
  ...rest,
});

const card = (id: number, kind: Card["kind"], title: string, rest: Partial<Card> = {}): Card => ({
  id,
  name: String(id),
  key: `k${id}`,
  at: NOW - 40 * MINUTE,
  kind,
  title,
  body: {},
  run: "run_01wait",
  gate: null,
  calls: [],
  level: null,
  expires: null,
  decision: null,
  ...rest,
});

export function createFacts(): Facts & { answers: [number, Answer][]; requests: [number | null, string][]; empty: boolean } {
  const requests = asksAt(NOW - 10 * MINUTE);
  const cards = [
    card(7, "approval", "Pay Northwind Hosting 1,284.00 USD", {
      level: "owner",
      expires: NOW + 3 * 86_400_000,
      body: { vendor: "Northwind Hosting", invoice: "NW-20418", due: "2026-11-28" },
      calls: [{ tool: "bank_pay", params: { to: "Northwind Hosting", amount: "1284.00", currency: "USD", reference: "NW-20418" } }],
    }),
    card(8, "entry", "SQ *BLUE BOTTLE COFFEE 0042 OAKLAND CA", {
      body: { entry: "261119-abcdefghjk", about: { confidence: 0.41 } },
    }),
    card(9, "row", HOSTILE, { body: { line: 14, problem: `The date "2026-02-30" is not a real day. ${HOSTILE}` } }),
    card(11, "proposal", proposalAt(NOW).title, { run: null, body: { proposal: "prop_0123456789", commit: "b", state: "ready" } }),
    card(13, "form", "How many licences?", { fields: { how_many: { type: "integer", required: true } } }),
    card(10, "in_doubt", "Was bank_pay sent before the crash?", { calls: [{ tool: "bank_pay", params: { to: "Acme", amount: "90.00" } }] }),
  ];
  const runs = [
    run("04done", "invoice", 12, { result: { summary: `INV-7 approved by Ann: 120.00 ${HOSTILE}` } }),
    run("03wait", "pay-invoices", 40, { status: "waiting", reason: "approval", waitsFor: "card 7", outcome: null, endedAt: null }),
    run("02fail", "reconcile", 300, {
      status: "failed",
      outcome: null,
      cause: { kind: "schedule", key: "2026-11-21" },
      error: {
        code: "JOURNAL_UNBALANCED",
        message: 'The legs do not add up: 0.01 USD is missing.\nWrite "42.99" on both sides.',
        at: { file: "agents/reconcile.ts", line: 14, col: 3 },
      },
    }),
    run("01old", "ingest", 60 * 24 * 20, { status: "canceled", outcome: null }),
    run("05busy", "ingest", 0, { status: "running", outcome: null, endedAt: null, startedAt: NOW - 2400 }),
  ];
  const facts = {
    answers: [] as [number, Answer][],
    requests: [] as [number | null, string][],
    empty: false,
    state: async () => ({
      business: "Acme Consulting LLC",
      timezone: "America/New_York",
      branch: "main",
      head: "3f2c1aa90d4c1b7e6a5f4e3d2c1b0a9f8e7d6c5b",
      blocked: facts.empty ? null : "a merge is in progress. Finish it with `git commit` or undo it with `git merge --abort`.",
      books: facts.empty ? null : { ok: true as const, entries: 412 },
      notices: [],
    }),
    agents: async () =>
      facts.empty
        ? []
        : [
            {
              name: "ingest",
              title: "Daily Ingest",
              description: "Import new bank transactions, classify inline, route by confidence",
              triggers: ["watches import/", "schedule 0 6 * * *"],
              last: { run: "run_04done", status: "done" as const, outcome: "completed" as const, at: NOW - 12 * MINUTE },
              next: NOW + 21 * 3_600_000,
              paused: null,
              unchecked: null,
              problem: null,
            },
            {
              name: "broken",
              title: "broken",
              description: "",
              triggers: ["on demand"],
              last: null,
              next: null,
              paused: null,
              unchecked: null,
              problem: {
                code: "SCRIPT_HEADER",
                message: 'unknown key "triger". Did you mean "trigger"?',
                at: { file: "agents/broken.ts", line: 3, col: 1 },
              },
            },
          ],
    runs: async () => (facts.empty ? [] : runs),
    run: async (id: string) => runs.find((each) => each.id === id) ?? null,
    steps: async (_run: string, { from, limit }: { from?: number; limit: number }) =>
      Array.from({ length: 260 }, (_, index) => ({
        seq: index,
        name: index === 0 ? "importer_scan" : "journal_add_many",
        effect: index === 0 ? ("read" as const) : ("write" as const),
        state: "ok" as const,
        params:
          index === 0 ? "{}" : `{"entries":[{"date":"2026-11-19","description":"${"SQ *BLUE BOTTLE ".repeat(30)}","amount":"18.40"}]}`,
        result: index === 0 ? `[{"name":"chase-2026-10.csv","size":4812}]` : `{"added":1,"known":0}`,
        error: null,
        at: NOW - 12 * MINUTE,
        changes: [],
      })).slice(...(from === undefined ? [-3] : [from, from + limit])),
    events: async (id: string) => [
      { run: id, seq: 1, type: "created" as const, at: NOW, body: { cause: "watch" } },
      { run: id, seq: 2, type: "log" as const, at: NOW, body: HOSTILE },
    ],
    othersOf: async () => new Set<number>(),
    waiting: async () => (facts.empty ? 0 : cards.filter((each) => each.decision === null).length),
    cards: async () => (facts.empty ? [] : cards.filter((each) => each.decision === null)),
    card: async (id: number) => cards.find((each) => each.id === id) ?? null,
    entries: async (ids: readonly string[]) =>
      new Map(
        ids.map((id) => [
          id,
          {
            id,
            date: "2026-11-19",
            status: "pending-review" as const,
            counterparty: "Blue Bottle",
            description: "SQ *BLUE BOTTLE COFFEE 0042 OAKLAND CA",
            tags: {},
            postings: [
              { account: "Expenses:Suspense", amount: "18.40", currency: "USD" },
              { account: "Assets:Bank:Checking", amount: "-18.40", currency: "USD" },
            ],
          },
        ]),
      ),
    proposals: async () => (facts.empty ? [] : [proposalAt(NOW - 50 * MINUTE)]),
    proposal: async (number: number) =>
      number === 11
        ? { ...factOf(proposalAt(NOW - 50 * MINUTE)), card: cards.find(({ id, decision }) => id === 11 && decision === null) ?? null }
        : null,
    balances: async () =>
      facts.empty
        ? []
        : [
            {
              account: { id: "1010", name: "Assets:Bank:Checking", type: "asset" as const },
              balances: { USD: "123456789012345678.9" },
              seal: { through: "2026-11-20" },
            },
            {
              account: { id: "1020", name: "Assets:Bank:Savings", type: "asset" as const },
              balances: { USD: "-18000.00", EUR: "250.00" },
              seal: { through: "2026-10-31" },
            },
            {
              account: { id: "5030", name: "Expenses:Office Supplies", type: "expense" as const },
              balances: { USD: "412.13" },
              seal: null,
            },
            { account: { id: "5040", name: "Expenses:Unused", type: "expense" as const }, balances: {}, seal: null },
          ],
    person: async () => "Ada",
    pair: async () => "x".repeat(43),
    correction: async () => 1,
    rule: async () => ({ card: 1 }),
    asks: async () => (facts.empty ? [] : requests),
    ask: async (number: number) => {
      const ask = requests.find(({ id }) => id === number);
      return ask === undefined ? null : { ask, rows: rowsAt(NOW), cost: ask.cost };
    },
    request: async ({ text, id }: { text: string; id?: number }) => {
      facts.requests.push([id ?? null, text]);
      const asked = requests.find((one) => one.id === id);
      if (asked !== undefined) asked.end = null;
      return id ?? 1;
    },
    decide: async (id: number, answer: Answer) => {
      const found = cards.find((each) => each.id === id);
      if (found === undefined) throw new ClearedError("CARD_UNKNOWN", `There is no card ${id}.`);
      if (found.decision !== null) throw new ClearedError("CARD_CLOSED", `Card ${id} was decided already.`);
      facts.answers.push([id, answer]);
      found.decision = {
        card: id,
        decision: answer.decision,
        by: "Ada",
        at: NOW,
        ...(answer.reason === undefined ? {} : { reason: answer.reason }),
      };
    },
  };
  return facts;
}
