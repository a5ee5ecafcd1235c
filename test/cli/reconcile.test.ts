/** Cards of entries follow the books, whoever moves them. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { createApi } from "../../runtime/app/api.ts";
import { asked } from "../../runtime/app/decide.ts";
import { signAs } from "../../runtime/app/identity.ts";
import type { Card } from "../../runtime/kernel/ports.ts";
import type { Host } from "../../runtime/app/host.ts";
import { openHost } from "../../runtime/app/open-host.ts";
import { reconcileCards } from "../../runtime/app/reconcile.ts";
import { initWorkspace } from "../../runtime/workspace/init.ts";

const root = join(import.meta.dirname, "..", "..");
let dir = "";
let host: Host | undefined;

afterEach(async () => {
  await host?.close();
  rmSync(dir, { recursive: true, force: true });
});

const titles = () =>
  host?.cards
    .list({ open: true, kind: "entry" })
    .map((card) => card.title)
    .sort();

const decide = (card: Card, decision: "approved" | "rejected", answer: { account?: string } = {}) =>
  createApi(host as Host).decide({
    decision: signAs(join(dir, "books"), (host as Host).trust, { ...asked(card), decision, at: Date.now(), ...answer }),
  });

/** Books of Ann's with this statement imported, by default one of test/statements. */
async function imported(statement: string, text?: string) {
  dir = mkdtempSync(join(tmpdir(), "cleared-reconcile-"));
  const workspace = join(dir, "books");
  await initWorkspace(workspace, { name: "Acme", from: root, person: "Ann" });
  const git = (...args: string[]) =>
    execFileSync("git", ["-C", workspace, "-c", "user.name=Ann", "-c", "user.email=ann@localhost", ...args], { encoding: "utf8" });
  if (text === undefined) cpSync(join(root, "test", "statements", statement), join(workspace, "import", "a.csv"));
  else writeFileSync(join(workspace, "import", statement), text);
  host = await openHost(workspace, { mode: "owner" });
  const api = createApi(host);
  await api.run({ agent: "ingest", input: {}, wait: true });
  return { workspace, git, host, api };
}

test("an approval reverted by plain git is asked again, and an entry removed by plain git no longer asks", async () => {
  const { workspace, git, host, api } = await imported("chase_checking_header.csv");
  const first = git("rev-parse", "HEAD").trim();
  const before = titles();
  expect(before).toHaveLength(3);
  const legs = () =>
    host?.cards.list({ open: true, kind: "entry" }).map(({ title, body }) => [title, (body as { booked?: string[] }).booked]);
  const booked = new Map(legs() as [string, string[]][]);
  expect(booked.get(before?.[0] ?? "")?.[0]).toMatch(/^2025-\d\d-\d\d {2}\w+(:\w+)+ {2}-?[\d.]+ USD$/);

  const [card] = host.cards.list({ open: true, kind: "entry" });
  if (card === undefined) throw new Error("no card");
  await api.decide({ decision: signAs(workspace, host.trust, { ...asked(card), decision: "approved", at: Date.now() }) });
  await reconcileCards(host);
  expect(titles()).toHaveLength(2);

  git("revert", "--no-edit", "HEAD");
  await reconcileCards(host);
  expect(titles()).toEqual(before);
  // With its date and its amount: what asks again says as much as what asked first.
  expect(new Map(legs() as [string, string[]][])).toEqual(booked);
  await reconcileCards(host);
  expect(titles()).toEqual(before);

  git("revert", "--no-edit", "HEAD"); // confirmed again
  await reconcileCards(host);
  expect(titles()).toHaveLength(2);
  git("revert", "--no-edit", "HEAD"); // and pending again
  await reconcileCards(host);
  expect(titles()).toEqual(before);
  git("revert", "--no-edit", first);
  await reconcileCards(host);
  expect(titles()).toEqual([]);
});

test("an approval is for the entry as its card shows it: after an edit by hand, the card is updated before anything is confirmed", async () => {
  const { workspace, git, host, api } = await imported("chase_checking_header.csv");
  const cards = () => host?.cards.list({ open: true, kind: "entry" }) ?? [];
  const bookedOn = (at: number) => (cards()[at] as Card & { body: { booked: string[] } }).body.booked;
  const approve = (card: Card | undefined) =>
    api.decide({ decision: signAs(workspace, trust, { ...asked(card as Card), decision: "approved", at: Date.now() }) });
  const { trust } = host;
  for (const at of [0, 1]) {
    const { entry } = (cards()[at] as Card & { body: { entry: string } }).body;
    const month = join(workspace, git("grep", "-l", entry, "--", "journal").trim());
    const [before, rest = ""] = readFileSync(month, "utf8").split(`(${entry})`);
    writeFileSync(month, `${before}(${entry})${rest.replace(/^( {2,})(?!Assets:)[A-Z].*?(?= {2})/m, "$1Expenses:Meals")}`);
  }
  git("commit", "-qam", "by hand");
  await expect(approve(cards()[0])).rejects.toMatchObject({
    code: "CARD_CHANGED",
    message: expect.stringMatching(/Card .* no longer shows .* Expenses:Meals .*look at the card again/),
  });
  expect(bookedOn(0).join()).toContain("Expenses:Meals");
  expect(bookedOn(1).join()).not.toContain("Expenses:Meals");
  await reconcileCards(host);
  expect(bookedOn(1).join()).toContain("Expenses:Meals");
  const [first] = cards();
  expect((await approve(first)).card.decision).toMatchObject({ by: "Ann" });
});

const HEADERLESS = "2026-11-01,GITHUB PRO,-21.00\n2026-11-02,BLUE BOTTLE,-4.50\n";
test.each<[what: string, statement: string, text: string | undefined, decision: "approved" | "rejected", closes: number]>([
  ["a row dealt with", "own_refused_rows.csv", undefined, "approved", 1],
  ["a row left out", "own_refused_rows.csv", undefined, "rejected", 1],
  ["a file whose guessed dialect was approved", "november.csv", HEADERLESS, "approved", 1],
  ["a file left out", "november.csv", HEADERLESS, "rejected", 1],
  ["an unknown account left out", "nz_creditcard_inverted_sign.csv", undefined, "rejected", 1],
])("%s is asked about again once plain git has taken back the answer, as it was asked", async (_, statement, text, decision, closes) => {
  const { git, host } = await imported(statement, text);
  const questions = () => host.cards.list({ open: true }).map(({ kind, title, body }) => JSON.stringify([kind, title, body]));
  const before = questions();
  for (let times = 0; times < 2; times++) {
    const card = host.cards.list({ open: true }).find(({ kind }) => kind === "row" || kind === "account");
    await decide(card as Card, decision);
    await reconcileCards(host);
    expect(questions()).toHaveLength(before.length - closes);
    git("revert", "--no-edit", "HEAD");
    await reconcileCards(host);
    await reconcileCards(host);
    expect(questions().sort()).toEqual(before.toSorted());
  }
  git("rm", "-rqf", "import/receipts");
  git("commit", "-qm", "the import is gone");
  await reconcileCards(host);
  expect(host.cards.list({ open: true }).filter(({ kind }) => kind === "row" || kind === "account")).toEqual([]);
});

test("what a rule for an account would book is counted once, however often its statement was tried", async () => {
  const { host, api } = await imported("nz_creditcard_inverted_sign.csv");
  for (let times = 0; times < 3; times++) await api.run({ agent: "ingest", input: {}, wait: true });
  const [card] = host.cards.list({ open: true, kind: "account" });
  const { proposal: id } = await decide(card as Card, "approved", { account: "2010" });
  const { proposal } = await api.checkProposal({ id: id ?? 0 });
  const [tried] = proposal.report?.backtests ?? [];
  expect(tried).toMatchObject({ runs: 4, counts: { changed: 4 } });
  const booked = new Set(tried?.differences.flatMap(({ entries }) => entries.flatMap(({ now }) => now?.id ?? [])));
  expect([booked.size > 0, tried?.entries]).toEqual([true, booked.size]);
});

test("an unknown account is asked about again once the rule proposed for it is rejected", async () => {
  const { host, workspace, api } = await imported("nz_creditcard_inverted_sign.csv");
  const asks = () => host.cards.list({ open: true, kind: "account" }).map(({ title }) => title);
  const before = asks();
  const [card] = host.cards.list({ open: true, kind: "account" });
  const { proposal } = await decide(card as Card, "approved", { account: "2010" });
  await reconcileCards(host);
  // Nor does another run ask while the proposal waits.
  await api.run({ agent: "ingest", input: {}, wait: true });
  expect(asks()).toEqual([]);
  await decide(host.cards.get(proposal ?? 0) as Card, "rejected");
  await reconcileCards(host);
  expect([before.length, asks(), workspace]).toEqual([1, before, workspace]);
});

test("a lost store asks again about rows that receipts list as refused, and not about closed ones", async () => {
  const { workspace } = await imported("own_refused_rows.csv");
  const rows = () => (host as Host).cards.list({ open: true, kind: "row" }).map(({ title, body }) => JSON.stringify([title, body]));
  const first = rows();
  expect(first.length).toBeGreaterThan(1);
  await reconcileCards(host as Host);
  expect(rows()).toEqual(first);

  const lose = async () => {
    await host?.close();
    for (const end of ["", "-wal", "-shm"]) rmSync(join(workspace, `.cleared/store.db${end}`), { force: true });
    host = await openHost(workspace, { mode: "owner" });
    await reconcileCards(host);
  };
  await lose();
  expect(rows()).toEqual(first);
  const [card] = (host as Host).cards.list({ open: true, kind: "row" });
  await createApi(host as Host).decide({
    decision: signAs(workspace, (host as Host).trust, { ...asked(card as Card), decision: "rejected", at: Date.now() }),
  });
  await reconcileCards(host as Host);
  expect(rows()).toEqual(first.slice(1));
  await lose();
  expect(rows()).toEqual(first.slice(1));
});
