/**
 * No side doors: a report gives way only to one that knows as much, a clone without histories says so, what no recorded run proves needs a
 * yes that says so, and a report is looked at again when anything it rests on has moved.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { asked, decideCard } from "../../runtime/app/decide.ts";
import { signAs } from "../../runtime/app/identity.ts";
import { checkProposal } from "../../runtime/app/proposals-api.ts";
import { gateOf } from "../../runtime/change/proposals/deciding.ts";
import { createProposals } from "../../runtime/change/proposals/store.ts";
import { syncProposals } from "../../runtime/change/proposals/sync.ts";
import { type Business, finish } from "../agents/harness.ts";
import { clonedTo, decidedBy, git, proposed, told, withRuns } from "./business-runs.ts";
import { failure } from "./ready.ts";
import type { BacktestReport } from "../../runtime/change/evidence/types.ts";
import type { Report } from "../../runtime/change/proposal-types.ts";
import type { Rewrite } from "./rewrites.ts";

const INGEST = "agents/ingest.ts";
const CONTEXT = "scripts/invoice_context.ts";
const NEWS = 'const today = mcp_call("erp/get_business_date");';
const asks = (period: string): [string, string] => [
  NEWS,
  `${NEWS}\nmcp_call({ tool: "erp/get_budget", params: { department_id: "D-100", period: "${period}" } });`,
];

let at: Business;
let clone: Business;
beforeAll(async () => {
  at = await withRuns();
  clone = await clonedTo(at);
});
afterAll(finish);

const exchange = async (): Promise<void> => {
  for (const { host } of [at, clone, at]) await syncProposals(host, "team");
};
const there = ({ host }: Business, id: string) => createProposals(host).get(id);

it("a change under which most recorded runs cannot be tried is unproven, and approved only with an acknowledgement", async () => {
  const { number, state, id } = await proposed(at, "Look at the budget", { [CONTEXT]: [asks("2024")] });
  expect(state).toBe("unproven");
  expect(at.host.cards.list({ open: true, kind: "proposal" }).map((card) => card.id)).toContain(number);
  const refused = await failure(decidedBy(at, number, "Mo"));
  expect(refused).toMatchObject({
    code: "PROPOSAL_STATE",
    message: expect.stringMatching(/is unproven: .*cleared approve \d+ --despite REASON/),
  });
  expect((await failure(decidedBy(at, number, "Mo", { despite: " " }))).code).toBe("PROPOSAL_STATE");
  await decidedBy(at, number, "Mo", { despite: "we buy from it for the first time" });
  expect(await there(at, id)).toMatchObject({ state: "applied" });
  expect(git(at, "log", "-1", "--format=%(trailers:key=Despite,valueonly)").trim()).toBe("we buy from it for the first time");
  git(at, "revert", "--no-edit", "HEAD");
});

it("what is blocked where the histories are stays blocked in a clone that has none", async () => {
  const { id, state } = await proposed(at, "Amazon is software", { [INGEST]: [['"AMZN", account: 5030', '"AMZN", account: 5020']] });
  expect(state).toBe("blocked");
  await exchange();
  const { proposal } = await checkProposal(clone.host, id);
  expect(told(proposal)).toMatch(/^Stopped: 1 entry you confirmed would be booked differently/);
  await exchange();
  expect(await there(at, id)).toMatchObject({ state: "blocked" });
});

it("what waits in a clone is blocked where the histories are, once a person there has signed for them", async () => {
  const { id, state } = await proposed(clone, "Amazon is our software", { [INGEST]: [['"AMZN", account: 5030', '"AMZN", account: 5020']] });
  expect(state).toBe("unproven");
  await exchange();
  const { proposal } = await checkProposal(at.host, id);
  const { report } = proposal;
  if (report === null) throw new Error(proposal.state);
  await createProposals(at.host).update(id, { state: "blocked", report: { ...report, vouched: {} } }, { from: ["blocked"] });
  await exchange();
  expect(await there(clone, id)).toMatchObject({ state: "unproven" });
  await createProposals(at.host).update(id, { state: "blocked", report }, { from: ["blocked"] });
  await exchange();
  expect(await there(clone, id)).toMatchObject({ state: "blocked" });
});

it("what was tried where the histories are may be approved in another clone while a person there vouches for it", async () => {
  git(at, "push", "-q", "team", "main");
  git(clone, "pull", "-q", "team", "main");
  const { id, state } = await proposed(at, "GitHub is supplies", { [INGEST]: [['"GITHUB", account: 5020', '"GITHUB", account: 5030']] });
  expect(state).toBe("ready");
  await exchange();
  const { proposal } = await checkProposal(clone.host, id);
  expect([proposal.state, proposal.report?.backtests[0]?.runs]).toEqual(["ready", 1]);
  expect(told(proposal)).toContain("Not proven: Daily Ingest was tried in another clone, by Pat, not here");
  await decidedBy(clone, proposal.number, "Mo");
  expect(await there(clone, id)).toMatchObject({ state: "applied" });
  git(clone, "push", "-q", "team", "main");
  git(at, "pull", "-q", "team", "main");
});

it("a report that was invented, or made on other code, proves nothing there", async () => {
  const { id } = await proposed(at, "Dropbox is supplies", { [INGEST]: [['"DROPBOX", account: 5020', '"DROPBOX", account: 5030']] });
  const store = createProposals(at.host);
  const { report } = await store.get(id);
  const [backtest] = report?.backtests ?? [];
  if (report === null || backtest === undefined) throw new Error("nothing was tried");
  const made = {
    ...report,
    backtests: [{ ...backtest, runs: 500, counts: { ...backtest.counts, same: 500, changed: 0 }, differences: [] }],
  };
  await store.update(id, { state: "ready", report: made }, { from: ["ready"] });
  await exchange();
  const { proposal } = await checkProposal(clone.host, id);
  expect(proposal.state).toBe("unproven");
  expect(told(proposal)).toMatch(/^No evidence here: it was tried on 500 recorded runs of Daily Ingest where they are/);
  expect((await failure(decidedBy(clone, proposal.number, "Mo"))).code).toBe("PROPOSAL_STATE");
  await store.update(id, { state: "superseded" }, { from: ["ready", "unproven"] });
});

it("a clone that proposes on its own says that it has no evidence", async () => {
  const books = await proposed(clone, "Zoom is travel", { [INGEST]: [['"ZOOM.US", account: 5020', '"ZOOM.US", account: 5040']] });
  expect([books.state, told(books)]).toEqual(["unproven", expect.stringMatching(/^No evidence here: Daily Ingest has run/)]);
  // Of a process that commits nothing, what others have tried tells that it has run.
  const process = await proposed(clone, "Pay later", {
    "agents/invoice_reconciliation.ts": [
      ["risk: medium", "risk: high"],
      ["APPROVAL_GATE?", "APPROVAL_GATE"],
    ],
  });
  expect([process.state, told(process)]).toEqual(["unproven", expect.stringContaining("No evidence here: Invoice Reconciliation has run")]);
});

it("a report is made again after a person has corrected what it depends on", async () => {
  const { id, number, state } = await proposed(at, "Staples is software", {
    [INGEST]: [['"UBER", account: 5040', '"UBER", account: 5020']],
  });
  expect(state).toBe("ready");
  const card = at.host.cards.list({ open: true, kind: "entry" }).find(({ title }) => title.startsWith("UBER"));
  await decideCard(at.host, signAs(at.dir, at.host.trust, { ...asked(card as never), decision: "approved", at: at.host.clock.now() }));
  const said = await failure(decidedBy(at, number, "Mo"));
  expect(said).toMatchObject({
    code: "PROPOSAL_STATE",
    message: expect.stringMatching(/looks different .*it is blocked: .*1 entry you confirmed would be booked differently \(UBER/s),
  });
  expect(await there(at, id)).toMatchObject({ state: "blocked" });
});

it("an approval does not cover a payment or a line of its files that its card did not show", async () => {
  const change: Rewrite = {
    "scripts/payment_terms.ts": [["const saves =", 'const saves = vendor.vendor_id !== "V-100" &&']],
    "knowledge/rates.yaml": [["vat: 19", "vat: 7"]],
  };
  const { id, number, report, state } = await proposed(at, "No discount", change);
  if (report === null) throw new Error(state);
  const told = (acts: NonNullable<BacktestReport["acts"]>) => ({ backtests: report.backtests.map((one) => ({ ...one, acts })) });
  const acts = report.backtests.flatMap((one) => one.acts ?? []).map((act) => ({ ...act, now: act.was }));
  const hidden: [Partial<Report>, RegExp][] = [
    [{ changes: [] }, /it now also changes: .*vat/],
    [told([]), /recorded runs of invoice_reconciliation now differ in .*call erp\/schedule_payment/],
    [told(acts), /call erp\/schedule_payment: 52340\.00 in all, not 51293\.20/],
  ];
  for (const [other, wanted] of hidden) {
    await createProposals(at.host).update(id, { state: "ready", report: { ...report, ...other } }, { from: ["ready"] });
    expect((await failure(decidedBy(at, number, "Mo"))).message).toMatch(wanted);
  }
});

it("nor another payee, or another account in the bank's file, that its runs did not show", async () => {
  const changes: [Rewrite, RegExp][] = [
    [{ [INGEST]: [['vendor: "GitHub"', 'vendor: "Eve"']] }, /ingest now differ in .*the counterparty of entries/],
    [{ "scripts/pay_file.ts": [["iban: account.iban,", "iban: people[0].account.iban,"], ["account_number: account.account_number,", "account_number: people[0].account.account_number,"]] }, /payroll now differ in .*a bank file: some of some payments would go to another account/], // biome-ignore format: one row, one rewrite
  ];
  for (const [n, [change, wanted]] of changes.entries()) {
    const { id, number, report, state } = await proposed(at, `Seen before its runs ${n}`, change);
    if (report === null || state !== "ready") throw new Error(state);
    const then = { ...report, backtests: report.backtests.map((one) => ({ ...one, differences: [] })) };
    await createProposals(at.host).update(id, { state: "ready", report: then }, { from: ["ready"] });
    expect((await failure(decidedBy(at, number, "Mo"))).message).toMatch(wanted);
  }
});

it("the first of two approvals counts as long as a new check changes nothing relevant", async () => {
  const { id, number } = await proposed(at, "Comcast is internet", { [INGEST]: [['vendor: "Comcast"', 'vendor: "Comcast Business"']] });
  const store = createProposals(at.host);
  const proposal = await store.get(id);
  const first = { ...asked(at.host.cards.get(number) as never), decision: "approved" as const, at: at.host.clock.now() };
  expect(first.gate).toBe(gateOf(proposal));
  await store.update(id, { state: "ready", decisions: [signAs(at.dir, at.host.trust, first)] }, { from: ["ready"] });
  git(at, "commit", "-q", "--allow-empty", "-m", "edit: nothing");
  const { proposal: again } = await checkProposal(at.host, id);
  expect(again.report?.since).toBe(proposal.report?.at);
  expect(again.decisions.filter(({ at: when }) => when >= (again.report?.since ?? 0))).toHaveLength(1);
});
