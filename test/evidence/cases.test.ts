/**
 * The ratchet: what a person corrects, what an accepted change changes and what somebody adds becomes a case, and no later change may break
 * it. On real workspaces, through the decision and the commands' own functions.
 * Size: one workspace's story, whose steps build on each other.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { createApi } from "../../runtime/app/api.ts";
import { checkFiles } from "../../runtime/app/check-api.ts";
import { caseOfRun, tryCases } from "../../runtime/app/evidence-api.ts";
import { type Decided, asked, decideCard } from "../../runtime/app/decide.ts";
import { signAs } from "../../runtime/app/identity.ts";
import type { Host } from "../../runtime/app/host.ts";
import { backtest } from "../../runtime/change/evidence/backtest.ts";
import { parseCase, caseText } from "../../runtime/change/evidence/case-file.ts";
import { type Ratchet, casesIn, ratchet } from "../../runtime/change/evidence/cases.ts";
import { createFreezer } from "../../runtime/change/evidence/freeze.ts";
import { codeOver } from "../../runtime/change/evidence/code.ts";
import type { Code } from "../../runtime/change/evidence/types.ts";
import type { Decision } from "../../runtime/kernel/ports.ts";
import {
  abandon,
  close,
  copyOf,
  decide,
  host,
  openCard,
  removeAll,
  run,
  start,
  withStore,
  workspace,
  type Workspace,
} from "../engine/harness.ts";
import { STATEMENT } from "../engine/plugins.ts";
import { told } from "../checks/checked.ts";

afterAll(removeAll);

const SPEND = `/*
name: Spend
uses: [journal, config, ctx, bank]
input: {key: {type: string, default: one}, amount: {type: string, default: "84.00"}}
*/
const limit = config_get("settings.limit");
const large = new Decimal(input.amount).gt(limit);
journal_add_double({ date: "2026-11-06", description: "Spent on " + input.key, debit_account: large ? 5090 : 5030, credit_account: 1010, amount: input.amount, key: input.key, status: "auto-confirmed" });
({ large });
`;

const PAY = `/*
name: Settle
uses: [approval, bank]
*/
const answer = approval_wait({ title: "Pay?", calls: [{ tool: "bank_pay", params: { to: "ACME", amount: "120.00" } }] });
bank_pay(answer.calls[0].params);
`;

/** A run whose call a person edits to 100.00 before they say yes, at its end. */
async function settled(opened: Host): Promise<string> {
  const id = await start(opened, "settle");
  await opened.engine.result(id);
  const calls = openCard(opened, id).calls.map((call) => ({ ...call, params: { to: "ACME", amount: "100.00" } }));
  expect(await decide(opened, id, "edited", { calls })).toMatchObject({ status: "done" });
  return id;
}

async function spending(): Promise<{ one: Workspace; opened: Host }> {
  const one = await workspace();
  one.commit({ "agents/spend.ts": SPEND, "config.yaml": `${one.read("config.yaml")}\n` });
  const text = one.read("config.yaml").replace(/^settings:.*\n/m, "");
  one.commit({ "config.yaml": `${text}settings: {limit: "100.00"}\n` });
  return { one, opened: await host(one) };
}

async function headOf(opened: Host): Promise<Code> {
  return { tree: opened.git.tree(await opened.git.head()), changed: [] };
}

/** The code with a text of one of its files replaced. */
async function edited(opened: Host, path: string, from: string, to: string): Promise<Code> {
  const { tree } = await headOf(opened);
  const text = (await tree.read(path)) ?? "";
  expect(text).toContain(from);
  return codeOver(tree, new Map([[path, text.replaceAll(from, to)]]));
}

async function tried(opened: Host, code: Code): Promise<Ratchet> {
  return ratchet(await headOf(opened), code, await casesIn(code.tree), opened);
}

async function imported(statement = STATEMENT): Promise<{ one: Workspace; opened: Host }> {
  const one = await workspace();
  one.write("in/chase-2026.csv", statement);
  const opened = await host(one);
  await createApi(opened).import({ files: [`${one.dir}/in/chase-2026.csv`], dryRun: false, again: false });
  return { one, opened };
}

/** Decides the first open card whose title has this text. */
function answer(opened: Host, title: string, decision: Decision["decision"], more: Partial<Decision> = {}): Promise<Decided> {
  const card = opened.cards.list({ open: true }).find((one) => one.title.includes(title));
  if (card === undefined) throw new Error(`no open card "${title}"`);
  return decideCard(opened, signAs(opened.dir, opened.trust, { ...asked(card), decision, at: 5, ...more }));
}

/** Adds the run as a case, by hand. */
async function added(one: Workspace, opened: Host, id: string): Promise<string> {
  const { file, text } = await caseOfRun(opened, { run: id, why: "It is right." });
  one.commit({ [file]: text });
  return file;
}

test("a run added as a case passes on its own code, and a rewrite that breaks it is reported in words", async () => {
  const { one, opened } = await spending();
  const file = await added(one, opened, (await run(opened, "spend")).id);
  expect(await tryCases(opened, [])).toMatchObject({ total: 1, passed: 1, failed: [], open: [], results: [] });

  const { failed, results } = await tried(opened, await edited(opened, "agents/spend.ts", "5030", "5020"));
  expect(failed).toEqual([file.slice("cases/".length, -".yaml".length)]);
  expect(results[0]?.why.join("\n")).toContain(
    "Spent on one: accepted as Expenses:Office Supplies 84.00 USD, Assets:Bank:Checking -84.00 USD; now Expenses:Software 84.00 USD",
  );
});

test("a case refers to its recording: a command without the lease finds it, a clone without it says so, and another recording is not accepted", async () => {
  const { one, opened } = await spending();
  const file = await added(one, opened, (await run(opened, "spend")).id);
  expect(one.read(file).length).toBeLessThan(1000);
  await close(opened);
  const beside = await host(one, { mode: "memory" });
  expect(await tryCases(beside, [])).toMatchObject({ total: 1, passed: 1 });
  await close(beside);
  const clone = copyOf(one);
  rmSync(join(clone.dir, ".cleared/store.db"));
  const name = file.slice("cases/".length, -".yaml".length);
  const elsewhere = await host(clone);
  const { passed, failed, untried, results } = await tryCases(elsewhere, []);
  expect({ passed, failed, untried }).toEqual({ passed: 0, failed: [], untried: [name] });
  expect(results[0]?.why[0]).toMatch(/^It cannot be tried: The recording of run_\w+ is not here; a clone has only those/);
  withStore(one.dir, (db) =>
    db.exec('UPDATE steps SET result = \'{"entry_id":"261106-aaaaaaaaaa","known":false}\' WHERE name = \'journal_add_double\''),
  );
  const again = await host(one);
  expect((await tryCases(again, [])).results[0]?.why[0]).toMatch(/is not the one that the case was made from/);
});

test("a rewrite that does not compile, or removes the agent, fails the case with the reason", async () => {
  const { one, opened } = await spending();
  await added(one, opened, (await run(opened, "spend")).id);
  const why = async (code: Code) => (await tried(opened, code)).results.map((result) => [result.status, result.why.join(" ")]);
  expect(await why(await edited(opened, "agents/spend.ts", "const limit", "const const limit"))).toEqual([
    ["failed", expect.stringContaining("SCRIPT_SYNTAX")],
  ]);
  const gone = codeOver((await headOf(opened)).tree, new Map([["agents/spend.ts", null]]));
  expect(await why(gone)).toEqual([["failed", expect.stringContaining("SCRIPT_MISSING")]]);
});

test("a correction becomes a case in the same commit: open until a script learns it, fixed by that script, protected from then on", async () => {
  const { one, opened } = await imported();
  const { commit, case: file, noCase } = await answer(opened, "BLUE BOTTLE", "approved", { account: "5050" });
  expect([file, noCase]).toEqual([expect.stringMatching(/^cases\/ingest\/run_\w+\.yaml$/), null]);
  expect(one.git("show", "--name-only", "--format=", String(commit)).trim().split("\n")).toEqual(
    expect.arrayContaining([file, "journal/2026/10.journal"]),
  );

  const name = String(file).slice("cases/".length, -".yaml".length);
  const open = await tryCases(opened, []);
  expect(open).toMatchObject({ passed: 0, open: [name], failed: [] });
  expect(open.results[0]?.why[0]).toMatch(/BLUE BOTTLE COFFEE: a person left it as .*; now Expenses:Office Supplies 4.75 USD/);

  const rule = '{ text: "BLUE BOTTLE", account: 5050, vendor: "Blue Bottle", confidence: 0.97 },\n  { text: "AWS"';
  const learnt = await edited(opened, "agents/ingest.ts", '{ text: "AWS"', rule);
  expect(await tried(opened, learnt)).toMatchObject({ passed: 1, failed: [], open: [], fixed: [name] });
  one.commit({ "agents/ingest.ts": (await learnt.tree.read("agents/ingest.ts")) ?? "" });
  expect(await tryCases(opened, [])).toMatchObject({ passed: 1, open: [], fixed: [] });
  expect(await tried(opened, await edited(opened, "agents/ingest.ts", "account: 5050", "account: 5040"))).toMatchObject({ failed: [name] });

  // Undone by plain git, the correction takes its case along.
  one.git("revert", "--no-edit", String(commit));
  expect(await casesIn((await headOf(opened)).tree)).toEqual([]);
});

test("two corrections of one run are one file, and the learned one is protected while the other is open", async () => {
  const { one, opened } = await imported();
  const first = await answer(opened, "BLUE BOTTLE", "approved", { account: "5050" });
  const second = await answer(opened, "ACME CONSULTING", "rejected", { reason: "a loan" });
  expect(second.case).toBe(first.case);
  const known = parseCase(one.git("show", `HEAD:${first.case}`), String(first.case));
  expect(known.keeps.books.map(({ about }) => about)).toEqual([
    expect.stringContaining("BLUE BOTTLE COFFEE"),
    expect.stringContaining("ACME CONSULTING INVOICE 1042"),
  ]);
  expect(known.why).toContain("a loan");

  const rule = '{ text: "BLUE BOTTLE", account: 5050, vendor: "", confidence: 0.97 },\n  { text: "AWS"';
  one.commit({ "agents/ingest.ts": one.read("agents/ingest.ts").replace('{ text: "AWS"', rule) });
  expect(await tryCases(opened, [])).toMatchObject({ passed: 0, open: [`${known.agent}/${known.from.run}`], failed: [] });
  const { failed, results } = await tried(opened, await edited(opened, "agents/ingest.ts", "account: 5050", "account: 5040"));
  expect(failed).toHaveLength(1);
  expect(results[0]?.why.join()).toContain("BLUE BOTTLE");
  expect(results[0]?.why.join()).not.toContain("ACME");
});

test("an accepted change freezes what it was about, never twice; only it passes the frozen cases, and the next good change passes them", async () => {
  const { one, opened } = await spending();
  for (const [key, amount] of [
    ["a", "10.00"],
    ["b", "90.00"],
    ["c", "95.00"],
    ["d", "200.00"],
  ])
    await run(opened, "spend", { key: key ?? "", amount: amount ?? "" });
  const base = await headOf(opened);
  // A policy of a kind: the limit is a setting, and the scripts stay as they are.
  const code = await edited(opened, "config.yaml", '"100.00"', '"50.00"');
  const frozen = async (of: Code, id: string) => {
    const freezer = createFreezer(of, { id, title: "A lower limit" }, opened);
    const { counts } = await backtest("spend", of, base, { all: true }, opened, { name: "lower", compared: freezer.look });
    return { counts, ...(await freezer.chosen()) };
  };
  const { counts, files, left } = await frozen(code, "prop_aaaaaaaaaa");
  expect([counts, left]).toMatchObject([{ same: 2, changed: 2 }, []]);
  const made = Object.entries(files).map(([path, text]) => parseCase(text, path));
  expect(made.map(({ keeps, over }) => [keeps.books.map(({ legs }) => legs[0]), Object.keys(over)])).toEqual([
    [["Expenses:Bank Fees 90.00 USD"], ["config.yaml"]],
    [["Expenses:Bank Fees 95.00 USD"], ["config.yaml"]],
  ]);
  expect(await frozen(code, "prop_aaaaaaaaaa")).toEqual({ counts, files, left });

  // A case of somebody's under the name of one of these, which keeps nothing of it, is not it.
  const [[file = "", text = ""] = []] = Object.entries(files);
  one.commit({ [file]: caseText({ ...parseCase(text, file), keeps: { books: [], asks: [], makes: [], ends: "completed" } }) });
  const beside = await frozen(await edited(opened, "config.yaml", '"100.00"', '"50.00"'), "prop_aaaaaaaaaa");
  expect(Object.entries(beside.files).filter(([path]) => !(path in files))).toEqual([[file.replace(".yaml", "-2.yaml"), text]]);
  one.git("rm", "-q", file);
  one.git("commit", "-q", "-m", "edit: no such case");

  one.commit({ "config.yaml": (await code.tree.read("config.yaml")) ?? "", ...files });
  expect(await tryCases(opened, [])).toMatchObject({ total: 2, passed: 2 });
  const accepted = codeOver((await headOf(opened)).tree, new Map([["config.yaml", await code.tree.read("config.yaml")]]));
  expect((await frozen(accepted, "prop_bbbbbbbbbb")).files).toEqual({});
  // The setting goes back: what was accepted is guarded. It goes on, or the text of an entry changes: that is another good change.
  expect((await tried(opened, await edited(opened, "config.yaml", '"50.00"', '"100.00"'))).failed).toHaveLength(2);
  expect(await tried(opened, await edited(opened, "config.yaml", '"50.00"', '"5.00"'))).toMatchObject({ passed: 2, failed: [] });
  expect(await tried(opened, await edited(opened, "agents/spend.ts", '"Spent on "', '"For "'))).toMatchObject({ passed: 2, failed: [] });
});

test("an edited call becomes a case once its run has ended: the script should have requested it", async () => {
  const one = await workspace({ "agents/settle.ts": PAY });
  const opened = await host(one);
  const id = await settled(opened);
  const file = `cases/settle/${id}.yaml`;
  await expect.poll(async () => (await headOf(opened)).tree.read(file)).not.toBeNull();
  const known = parseCase(one.git("show", `HEAD:${file}`), file);
  expect(known.from.correction).toBe("Pat");
  expect(known.keeps).toMatchObject({ books: [], makes: [] });
  expect(known.keeps.asks).toEqual([{ tool: "bank_pay", params: { to: "ACME", amount: "100.00" } }]);
  expect(await tryCases(opened, [])).toMatchObject({ open: [`settle/${id}`], failed: [] });
  const learnt = await edited(opened, "agents/settle.ts", '"120.00"', '"100.00"');
  expect(await tried(opened, learnt)).toMatchObject({ fixed: [`settle/${id}`] });
});

test("a kill before the case of an edited call is written: the next owner writes it once, and not again after a person removed it", async () => {
  const one = await workspace({ "agents/settle.ts": PAY });
  const first = await host(one);
  // Git is in the middle of something when the run ends; then the owner is killed.
  one.write(".git/MERGE_HEAD", one.git("rev-parse", "HEAD"));
  const file = `cases/settle/${await settled(first)}.yaml`;
  await abandon(first);
  one.git("merge", "--quit");
  const made = () => one.git("log", "--format=%s", "--", file).trim();
  expect(made()).toBe("");
  await close(await host(one));
  await close(await host(one));
  expect(made()).toBe("learn: an edited call of settle is a case");
  one.git("revert", "--no-edit", "HEAD");
  await close(await host(one));
  expect(one.git("ls-files", "cases")).toBe("");
});

test("a correction of one row among thousands is a small case", async () => {
  const rows = Array.from(
    { length: 2000 },
    (_, n) => `DEBIT,10/${String((n % 28) + 1).padStart(2, "0")}/2026,SHOP NUMBER ${n},-1.00,DEBIT_CARD,,`,
  );
  const { one, opened } = await imported(`${STATEMENT.split("\n")[0]}\n${rows.join("\n")}\n`);
  const { case: file } = await answer(opened, "SHOP NUMBER 7", "approved", { account: "5050" });
  expect(one.git("show", `HEAD:${file}`).length).toBeLessThan(1000);
  expect(await tryCases(opened, [])).toMatchObject({ open: [expect.stringContaining("ingest/run_")], failed: [] });
});

test("a case that claims a correction nobody made is refused when proposed", async () => {
  const { one, opened } = await spending();
  const { id } = await run(opened, "spend");
  const { file, text } = await caseOfRun(opened, { run: id, why: "Software, says Pat." });
  const said = parseCase(text.replace("Expenses:Office Supplies", "Expenses:Software"), file);
  const claimed = caseText({ ...said, from: { ...said.from, correction: "Pat" } });
  const learnt = codeOver(
    (await headOf(opened)).tree,
    new Map([
      ["agents/spend.ts", SPEND.replace("5030", "5020")],
      [file, claimed],
    ]),
  );
  const { failed, results } = await tried(opened, learnt);
  expect(failed).toEqual([file.slice("cases/".length, -".yaml".length)]);
  expect(results[0]?.why).toEqual([
    `It says that Pat corrected this run, and neither the books nor the run's approvals have such a correction of what it keeps. Leave out "correction:".`,
  ]);
  // As a case of what somebody wants it may be proposed, and one that is there already blocks nothing.
  expect((await tried(opened, codeOver(learnt.tree, new Map([[file, caseText(said)]])))).failed).toEqual([]);
  one.commit({ [file]: claimed });
  expect((await tried(opened, await headOf(opened))).failed).toEqual([]);
});

test("a confirmation creates no case", async () => {
  const { opened } = await imported();
  expect(await answer(opened, "BLUE BOTTLE", "approved")).toMatchObject({ case: null, noCase: null });
});

test("cases tried concurrently give the same results", async () => {
  const { one, opened } = await spending();
  for (const key of ["a", "b", "c"]) await added(one, opened, (await run(opened, "spend", { key })).id);
  const code = await edited(opened, "agents/spend.ts", "5030", "5020");
  const [first, ...others] = await Promise.all(Array.from({ length: 4 }, () => tried(opened, code)));
  expect(first?.failed).toHaveLength(3);
  for (const other of others) expect(other).toEqual(first);
});

test("a change must pass the cases of the agents it reaches, of one it removes, and those it adds", async () => {
  const { one, opened } = await spending();
  const file = await added(one, opened, (await run(opened, "spend")).id);
  const text = one.read(file);
  one.commit({ "cases/ingest/a.yaml": text.replace('agent: "spend"', 'agent: "ingest"') });
  const { tree } = await headOf(opened);
  const brought = codeOver(tree, new Map([["cases/pay/b.yaml", text]])).tree;
  expect(await casesIn(brought)).toEqual(["cases/ingest/a.yaml", "cases/pay/b.yaml", file]);
  expect(await casesIn(brought, { agents: ["spend"], paths: ["agents/spend.ts"] })).toEqual([file]);
  expect(await casesIn(brought, { agents: [], paths: ["agents/spend.ts"] })).toEqual([file]);
  expect(await casesIn(brought, { agents: [], paths: ["cases/pay/b.yaml"] })).toEqual(["cases/pay/b.yaml"]);
  expect(await casesIn(brought, { agents: ["ingest"], paths: ["config.yaml"] })).toEqual(["cases/ingest/a.yaml"]);
});

test("a damaged case blocks the change that brings it, and no other", async () => {
  const { one, opened } = await spending();
  const file = await added(one, opened, (await run(opened, "spend")).id);
  const { tree } = await headOf(opened);
  const spoilt = codeOver(tree, new Map([["cases/spend/bad.yaml", "why: [\n"]]));
  expect(await tried(opened, spoilt)).toMatchObject({ passed: 1, failed: ["spend/bad"] });
  one.commit({ "cases/spend/bad.yaml": "why: [\n" });
  expect(await tried(opened, await headOf(opened))).toMatchObject({ passed: 1, untried: ["spend/bad"], failed: [] });
  const head = await headOf(opened);
  expect(await ratchet(head, head, [file], opened)).toMatchObject({ passed: 1, results: [] });
  expect(caseText(parseCase(one.read(file), file))).toBe(one.read(file));
});

test("check reports each case that cannot be parsed, or names what does not exist, with its line", async () => {
  const { one, opened } = await spending();
  const file = await added(one, opened, (await run(opened, "spend")).id);
  const text = one.read(file);
  one.commit({
    "cases/spend/bad.yaml": "why: [\n",
    "cases/spend/run.yaml": text.replace(/run: "\w+"/, 'run: "run_00000000000000"'),
    "cases/spend/forged.yaml": text.replace(/recording: "\w+"/, `recording: "${"0".repeat(64)}"`),
    "cases/lost/one.yaml": text.replace('agent: "spend"', 'agent: "lost"'),
  });
  const checked = async (files: Record<string, string | null>) =>
    told(await checkFiles(opened, { files, all: false })).filter((line) => line.startsWith("cases: "));
  expect(await checked({})).toEqual([
    "cases: cases/lost/one.yaml:1 CASE_INVALID",
    "cases: cases/lost/one.yaml:4 CASE_INVALID",
    expect.stringMatching(/^cases: cases\/spend\/bad\.yaml:\d+:\d+ CASE_INVALID$/),
    "cases: cases/spend/forged.yaml:4 CASE_INVALID",
    "cases: (cases/spend/run.yaml:4 CASE_UNTRIED)",
  ]);
  expect(await checked({ "agents/quick.ts": `${one.read("agents/quick.ts")}\n` })).toEqual([]);
  expect(await checked({ [file]: `${text}ow: [\n` })).toEqual([expect.stringContaining(`cases: ${file}:`)]);
});

test("a file under a run's name that is no case of its recording is blocked, and prevents neither a correction case nor a frozen one", async () => {
  const { one, opened } = await imported();
  const [run] = await opened.engine.list({ agent: "ingest", limit: 1 });
  const { file, text } = await caseOfRun(opened, { run: run?.id ?? "", why: "It is right." });
  const forged = text.replace(/recording: "\w+"/, `recording: "${"0".repeat(64)}"`);
  const name = file.slice("cases/".length, -".yaml".length);
  const { tree } = await headOf(opened);
  expect(await tried(opened, codeOver(tree, new Map([[file, forged]])))).toMatchObject({ failed: [name], untried: [] });

  one.commit({ [file]: forged });
  const lesson = await answer(opened, "BLUE BOTTLE", "approved", { account: "5050" });
  expect(lesson).toMatchObject({ case: file.replace(".yaml", "-corrected.yaml"), noCase: null });
  expect(await tryCases(opened, [])).toMatchObject({ untried: [name], open: [`${name}-corrected`] });
});

test("the case of an agent that does not exist yet protects it from its first version on", async () => {
  const { one, opened } = await spending();
  const file = await added(one, opened, (await run(opened, "spend")).id);
  const code = one.read("agents/spend.ts");
  one.git("rm", "-q", "agents/spend.ts", file);
  one.git("commit", "-q", "-m", "agent: gone");
  const text = one.git("show", `HEAD~1:${file}`);
  const { tree } = await headOf(opened);
  const brings = (source: string) =>
    codeOver(
      tree,
      new Map([
        ["agents/spend.ts", source],
        [file, text],
      ]),
    );
  expect(await tried(opened, brings(code.replace("5030", "5020")))).toMatchObject({ passed: 0, failed: [expect.any(String)], open: [] });
  expect(await tried(opened, brings(code))).toMatchObject({ passed: 1, failed: [] });
});
