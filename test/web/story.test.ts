/** What a step did, in the words that `runs show` and the run's page share; and what a card says about who must decide. */
import { expect, it } from "vitest";
import type { Card, Change, RunRecord, Verdict } from "../../runtime/kernel/ports.ts";
import { cardView, decidedView } from "../../runtime/web/card-view.ts";
import { createTimes } from "../../runtime/web/html.ts";
import { refusedQuestions } from "../../runtime/workspace/statements/questions.ts";
import { stepList } from "../../runtime/web/run-view.ts";
import { summaryOf, toldBy } from "../../runtime/web/story.ts";
import { cardLines, factLines } from "../../runtime/cli/text.ts";
import { createOutput } from "../../runtime/cli/output.ts";

type Named = Pick<RunRecord, "result" | "input" | "cause" | "meta">;
const NOW = Date.parse("2026-11-21T14:05:00Z");
const times = createTimes("UTC", NOW);
const verdict: Verdict = {
  ...{ verdict: "require_approval", passed: false, blocked: false, requires_approval: true, escalation_required: false },
  ...{ level: "cfo", levels: ["cfo", "security"], approvals: 2, distinct_from_requester: true, inputs_hash: "", policy_hash: "" },
  triggered: [
    { rule: "OVER", action: "require_approval", level: "cfo", description: "over the limit", because: "", source: "policies/x.yaml" },
  ],
  indeterminate: [{ rule: "VENDOR", missing: ["vendor_status"] }],
  summary: "approval required",
};
const card: Card = {
  ...{ id: 7, name: "7", key: "k", at: NOW, kind: "approval", title: "Pay?", body: null, run: "run_1", gate: "gate_4_abc", calls: [] },
  ...{ level: "cfo", expires: null, decision: null, approvals: 2, said: ["Pat"], not_by: "Ann" },
  brief: {
    type: "approval_brief",
    sections: { request_summary: "<b>Pay</b> ACME", policy_compliance: "Status: TRIGGERED\nover 500 <needs> a manager" },
  },
};
const told = (changes: Change[], cards: Card[] = []) => toldBy({ seq: 4, changes }, cards, times.text);
const texts = (changes: Change[], cards: Card[] = []) => told(changes, cards).notes.map((one) => `${one.tone} ${one.text}`);

it("a verdict shows its requirements, its rules with their source, and what was undecided", () => {
  expect(texts([{ op: "verdict", verdict }])).toEqual([
    "attention verdict require_approval (cfo and security, 2 people, not the requester): approval required",
    "quiet OVER: over the limit (policies/x.yaml)",
    "attention VENDOR: cannot be decided without vendor_status",
  ]);
  expect(texts([{ op: "verdict", verdict: { ...verdict, verdict: "block", blocked: true } }])[0]).toMatch(/^bad verdict block/);
});

it("a decision shows who, when, at which level, and whether it was their own request", () => {
  const people = [
    { by: "Pat", at: NOW },
    { by: "Kim", at: NOW + 60_000, self: true },
  ];
  const decision = { card: 7, decision: "approved" as const, by: "Pat, Kim", at: NOW, reason: "checked" };
  expect(texts([{ op: "decided", decision: "approved", by: "Pat, Kim", calls: [], people }], [{ ...card, decision }])).toEqual([
    "good approved by Pat, 14:05 and Kim, 14:06 (their own request); level cfo; “checked”",
  ]);
  expect(texts([{ op: "decided", decision: "rejected", by: "Pat", calls: [] }])).toEqual(["bad rejected by Pat"]);
});

it("a write shows what changed, and what is not as expected", () => {
  const write = {
    ...{ tool: "erp/pay", params: {}, read: { tool: "erp/get", params: {} }, answer: "ok" },
    ...{ before: { status: "open", paid: "0.00" }, after: { status: "paid", paid: "5.00", by: "x" } },
  };
  expect(texts([{ op: "verified", write: { ...write, status: "VERIFIED", expected: { status: "paid" }, diff: {} } }])).toEqual([
    "good VERIFIED erp/pay, read back with erp/get",
    'quiet status: "open" -> "paid"',
    'quiet paid: "0.00" -> "5.00"',
    'quiet by: nothing -> "x"',
  ]);
  const diff = { paid: { expected: "6.00", actual: "5.00" } };
  expect(texts([{ op: "verified", write: { ...write, status: "MISMATCH", expected: { paid: "6.00" }, diff } }]).slice(0, 2)).toEqual([
    "bad MISMATCH erp/pay, read back with erp/get",
    'bad paid: expected "6.00", is "5.00"',
  ]);
  expect(
    texts([{ op: "verified", write: { ...write, read: null, before: null, after: null, status: "UNVERIFIABLE", expected: {}, diff: {} } }]),
  ).toEqual(["attention UNVERIFIABLE erp/pay"]);
});

it("a write that failed shows what was read, not the values it should have had", () => {
  const write = {
    ...{ tool: "erp/pay", params: {}, read: { tool: "erp/get", params: {} }, answer: "error: frozen", expected: { status: "paid" } },
    ...{ before: { status: "open" }, after: { status: "open" }, diff: {} },
  };
  expect(texts([{ op: "verified", write: { ...write, status: "WRITE_FAILED" } }])).toEqual([
    "bad WRITE_FAILED erp/pay, read back with erp/get",
  ]);
});

it("a run is named by its summary, else by its input, which says when the calls were edited", () => {
  const run: Named = { result: null, input: { amount: "50.00", rows: [1], note: null }, cause: { kind: "watch", key: "" }, meta: null };
  const named = (more: Partial<Named>) => summaryOf({ ...run, ...more });
  expect(named({})).toBe("amount=50.00");
  expect(named({ meta: { edited: true } })).toBe("amount=50.00 (before the edit)");
  expect(named({ meta: { edited: true }, result: { summary: "Paid\n40.00" } })).toBe("Paid 40.00");
  expect(named({ input: null, cause: { kind: "watch", key: "", detail: { files: ["a.csv"], again: [] } } })).toBe("a.csv");
});

it("the page shows them with the step, escaped, with the state that was entered", async () => {
  const step = {
    ...{
      seq: 4,
      name: "policy_evaluate",
      effect: "control" as const,
      state: "ok" as const,
      params: "{}",
      result: "{}",
      error: null,
      at: NOW,
    },
    changes: [
      { op: "verdict" as const, verdict: { ...verdict, summary: "<script>" } },
      { op: "entered" as const, state: "MUTATE" as const, machine: "x" },
    ],
  };
  const page = String(await stepList([step], [], times));
  expect(page).toContain("verdict require_approval (cfo and security, 2 people, not the requester): &lt;script&gt;");
  expect(page).toContain(">MUTATE</span>");
});

it("a question about a statement's account offers the accounts that may have one, and no answer until one is chosen", async () => {
  const account = { match: { bank_account: "4711" }, card: false, rows: [] };
  const refused = [{ line: 0, code: "STATEMENT_ACCOUNT", message: "", account }];
  const [question] = refusedQuestions({ file: "a.ofx", hash: "0", refused }, () => null);
  const body = { about: question?.body ?? null };
  const { brief: _, not_by: _by, ...plain } = card;
  const asked: Card = { ...plain, kind: "account", title: question?.title ?? "", body, gate: null };
  const accounts = [
    { id: "1010", name: "Assets:Bank:Checking", type: "asset" as const },
    { id: "2010", name: "Liabilities:Credit Card", type: "liability" as const },
    { id: "5010", name: "Expenses:Meals", type: "expense" as const },
  ];
  const page = String(await cardView(asked, { token: "t", accounts, entries: new Map(), times }));
  expect(page).toMatch(
    /<select[^>]* required><option value="">Choose one<\/option><option value="1010"[^>]*>[^<]*<\/option><option value="2010"/,
  );
  expect(page).toContain("the account that you name");
  expect(page).not.toMatch(/--account|Meals|As proposed/);
  expect(cardLines(createOutput(false), asked).join("\n")).toContain("cleared approve 7 --account NUMBER");
});

it("a card shows the level, the approvals so far, who may not decide, and its brief", async () => {
  const shown = String(await cardView(card, { token: "t", accounts: [], entries: new Map(), times }));
  for (const words of ["cfo", "1 of 2 (Pat)", "not Ann, who started the run", "request summary", "&lt;b&gt;Pay&lt;/b&gt; ACME"])
    expect(shown).toContain(words);
  // Why a person is asked stands on the card itself, not only in its brief.
  expect(shown.slice(0, shown.indexOf("<details"))).toContain("over 500 &lt;needs&gt; a manager");
  expect(shown).not.toContain("<b>Pay");
  const long = { ...card, title: `${"Pay ".repeat(100)}ACME <now>` };
  expect(String(await cardView(long, { token: "t", accounts: [], entries: new Map(), times }))).toContain("ACME &lt;now&gt;");
  // What cannot be seen takes more room than it has.
  const unseen = { ...card, title: `${"Pay\u200b".repeat(50)} ACME <now>` };
  expect(String(await cardView(unseen, { token: "t", accounts: [], entries: new Map(), times }))).toContain("ACME &lt;now&gt;");
  // A policy that was given with the run may call its rules as the business does.
  const mild = { rule: "OVER", action: "escalate" as const, level: null, description: "a look", because: "", source: "given" };
  const verdicts = { ...verdict, triggered: [...verdict.triggered, mild] };
  const asks = { ...card, kind: "escalation" as const, body: { verdict: verdicts } as never };
  const both = String(await cardView(asks, { token: "t", accounts: [], entries: new Map(), times }));
  for (const words of ["over the limit", "a look"]) expect(both).toContain(words);
  const form = {
    ...card,
    kind: "form" as const,
    approvals: 1,
    brief: null,
    fields: { due_date: { type: "date", describe: "when it is due" } },
  };
  expect(String(await cardView(form, { token: "t", accounts: [], entries: new Map(), times }))).toContain("due date");
});

const paying = (amount: string) => [{ tool: "erp/pay", params: { amount, by: "@approver" } }];
const briefOf = (policy_compliance: string) => ({
  ...{ metadata: { process: "paying" }, sections: { request_summary: "x", proposed_actions: ["x"], policy_compliance } },
});
const inTerminal = (of: Card) => [...cardLines(createOutput(false), of), ...factLines(createOutput(false), of, true)];

it("nothing a script puts on a card replaces, precedes or hides what the runtime says", async () => {
  const noise = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [n, "noise"]));
  const forged = { why: "checked by finance", "if rejected": "it is paid tomorrow", needs: "nobody", expires: "never" };
  const body = { ...forged, ...noise, amounts: "total: USD 1.00", entry: { pays: "EVE" }, booked: "to EVE", verdict: "fine" };
  const otherwise = [{ tool: "erp/refuse", params: { reason: "@reason" } }];
  const calls = [{ tool: "erp/pay", params: { amount: "900.00", currency: "USD" } }];
  const brief = briefOf("Status: TRIGGERED\nover 500");
  const said = { ...card, title: "Pay?\nAmounts: total: USD 2.00", calls, otherwise, body: { details: body, if_rejected: [] }, brief };
  const page = String(await cardView(said, { token: "t", accounts: [], entries: new Map(), times }));
  const inSight = page.slice(0, page.indexOf("<details"));
  for (const words of ["over 500", "$900.00"]) expect(inSight).toContain(words);
  const own = ["why: over 500", "amounts: erp/pay amount: $900.00", 'if rejected: erp/refuse {"reason":"@reason"}', "details:"];
  expect(
    factLines(createOutput(false), said, false)
      .slice(0, 4)
      .map((one) => one.trim()),
  ).toEqual(own);
  const all = inTerminal(said);
  for (const words of ["USD 1.00", "pays", "to EVE", "fine"]) for (const text of [page, all.join("\n")]) expect(text).toContain(words);
  // The script's words are below a heading of their own, in further, whatever they are named.
  for (const [name, text] of Object.entries(forged)) expect(all).toContain(`        ${name}: ${text}`);
  const [before, after = ""] = page.split('<p class="lead">details</p>');
  for (const text of Object.values(forged)) expect([before?.includes(text), after.includes(text)]).toEqual([false, true]);
});

it.each<[string, Partial<Card>]>([
  ["while another person must approve it", { edited: paying("50.00"), said: ["Pat"] }],
  ["once it is decided", { decision: { card: 7, decision: "edited", by: "Pat", at: NOW, calls: paying("50.00") } }],
])("an edited card tells the figures as edited %s, and says of the others that they are older", async (_, now) => {
  const asked = { ...card, calls: paying("900.00"), body: { total: "900.00" }, brief: briefOf("Status: PASSED") };
  const edited: Card = { ...asked, title: "Pay 900.00?", ...now };
  const lines = inTerminal(edited);
  const page = String(await cardView(edited, { token: "t", accounts: [], entries: new Map(), times }));
  const told = [...lines, ...page.replaceAll(/<(dt|dd|p|h3|li)/g, "\n<$1").split("\n")];
  // The title, and the details below their heading.
  const left = told.filter((line) => line.includes("900.00") && !/before the edit|->/.test(line));
  expect(left.map((line) => line.replaceAll(/<[^>]*>/g, " ").trim())).toEqual(["total: 900.00", "900.00"]);
  for (const text of [lines.join("\n"), page]) {
    expect(text).toContain("details, before the edit");
    expect(text).toMatch(/Amounts: erp\/pay amount: 50\.00/);
  }
  expect(decidedView(edited, "t", times).toString()).toMatch(edited.decision === null ? /^$/ : /before the edit/);
});
