/**
 * Rewrites about what is worse and what the ratchet keeps, on a fresh workspace and on one that has taken ten changes, with a second person's
 * corrections between them; then in a clone. What is bad is stopped on both, what is good is ready on both. A seeded share of them; all with
 * `npm run test:long -- evolved`.
 */
import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { asked, decideCard } from "../../runtime/app/decide.ts";
import { signAs } from "../../runtime/app/identity.ts";
import type { Host } from "../../runtime/app/host.ts";
import { importFiles } from "../../runtime/app/imports.ts";
import { propose } from "../../runtime/app/proposals-api.ts";
import type { Decision } from "../../runtime/kernel/ports.ts";
import { createGuard } from "../../runtime/change/proposals/guard.ts";
import type { Proposal } from "../../runtime/change/proposal-types.ts";
import { share } from "../share.ts";
import { type Workspace, close, copyOf, decide, host, removeAll, run, workspace } from "../engine/harness.ts";
import { BAD, type Change, GOOD, INGEST, PACK, PAY, PAYER, POLICY, STATEMENT, TEN, UNJUDGED } from "./evolved-changes.ts";

let made = 0;
async function proposed(owner: Host, title: string, change: Change): Promise<Proposal> {
  const tree = owner.git.tree(await owner.git.head());
  const from = join(owner.dir, `.cleared/proposed-${++made}`);
  for (const path of new Set(change.map(([one]) => one))) {
    let text = (await tree.read(path)) ?? "";
    for (const [, what, to] of change.filter(([one]) => one === path)) {
      const next = text.replace(what, to);
      if (next === text) throw new Error(`${title}: ${path} has no ${String(what)}`);
      text = next;
    }
    mkdirSync(dirname(join(from, path)), { recursive: true });
    writeFileSync(join(from, path), text);
  }
  return (await propose(owner, { title, reason: "", by: "Pat", paths: [], from })).proposal;
}

const failures = ({ report }: Proposal): string[] =>
  (report?.checks ?? []).flatMap(({ status, findings }) => (status === "failed" ? findings.map(({ message }) => message) : []));

/** As Lee, whose key lies beside Pat's. */
async function asLee<T>(owner: Host, work: () => Promise<T>): Promise<T> {
  process.env["CLEARED_KEY"] = join(owner.dir, ".cleared/Lee.key");
  return work().finally(() => delete process.env["CLEARED_KEY"]);
}

async function says(owner: Host, title: string | number, decision: Partial<Decision>): Promise<void> {
  const card = owner.cards.list({ open: true }).find((one) => (typeof title === "number" ? one.id === title : one.title.startsWith(title)));
  if (card === undefined) throw new Error(`no card ${title}`);
  const { run: id } = card;
  await decideCard(owner, signAs(owner.dir, owner.trust, { ...asked(card), decision: "approved", at: owner.clock.now(), ...decision }));
  if (id !== null) await owner.engine.result(id, { timeoutMs: 100_000 });
}

async function month(one: Workspace, owner: Host, n: number): Promise<void> {
  const file = join(one.dir, `.cleared/statement-${n}.csv`);
  writeFileSync(file, STATEMENT(String(n).padStart(2, "0"), n));
  await importFiles(owner, { files: [file], dryRun: false, again: false });
}

async function pays(owner: Host, to: string, amount: string, decision?: Decision["decision"]): Promise<void> {
  const { id, status } = await run(owner, "payer", { to, amount });
  expect(status).toBe(decision === undefined ? "done" : "waiting");
  if (decision !== undefined) await asLee(owner, () => decide(owner, id, decision));
}

let one: Workspace;
let owner: Host;
beforeAll(async () => {
  one = await workspace({ [PAY]: PAYER, [PACK]: POLICY });
  const pair = generateKeyPairSync("ed25519");
  writeFileSync(join(one.dir, ".cleared/Lee.key"), pair.privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600 });
  const key = pair.publicKey.export({ type: "spki", format: "der" }).toString("base64");
  const lee = `  - {name: Lee, key: "${key}", roles: [board]}\n`;
  one.commit(
    { "trust.yaml": one.read("trust.yaml").replace(/^people:\n(?: {2}.*\n)+/m, (people) => people + lee) },
    "trust: a second person",
  );
  owner = await host(one);
  await month(one, owner, 1);
  await says(owner, "AMZN", {});
  await asLee(owner, () => says(owner, "BLUE BOTTLE", { account: "5050" }));
  await asLee(owner, () => says(owner, "ACME CONSULTING", { decision: "rejected", reason: "a loan" }));
  await pays(owner, "ACME", "80.00");
  await pays(owner, "ACME", "120.00", "approved");
  await pays(owner, "ACME", "130.00", "rejected");
  await pays(owner, "EVE", "10.00");
});
afterAll(removeAll);

const FRESH = "fresh";

function tried(name: string): void {
  describe(`${name}, what is bad is stopped with the reason`, () => {
    it.each(share(BAD, 4, ([what]) => name + what))(
      "%s",
      async (what, change, reason, unmet) => {
        const proposal = await proposed(owner, what, change);
        // What no recorded run has met is told.
        if (name === FRESH && unmet !== undefined)
          return expect(proposal.report?.widening.map(({ text }) => text).join("\n")).toMatch(unmet);
        expect(proposal.state).toBe("blocked");
        expect(failures(proposal).join("\n")).toMatch(reason);
      },
      120_000,
    );
  });
  it(`${name}, a policy that is told another amount lets nothing pass, and the card says so`, async () => {
    const { report, state } = await proposed(owner, "another amount", UNJUDGED);
    expect(state).toBe("ready");
    expect(report?.widening.map(({ text }) => text).join("\n")).toContain('a fact for the policy, amount, is "1.00" instead of');
    expect(JSON.stringify(report?.backtests)).toContain("Allow bank_pay?");
  });
  describe(`${name}, what is good is ready`, () => {
    it.each(share(GOOD, 4, ([what]) => name + what))(
      "%s",
      async (what, change) => {
        const proposal = await proposed(owner, what, change);
        expect([proposal.state, failures(proposal)]).toEqual(["ready", []]);
      },
      120_000,
    );
  });
}

tried(FRESH);

it("ten good changes are accepted in sequence, with months, payments and corrections in between; the guard reverts none", async () => {
  const guard = createGuard(owner);
  for (const [n, [title, change]] of TEN.entries()) {
    const proposal = await proposed(owner, title, change);
    expect([title, proposal.state, failures(proposal)]).toEqual([title, "ready", []]);
    await asLee(owner, () => says(owner, proposal.number, {}));
    if (n % 3 === 0) await month(one, owner, 2 + n / 3);
    if (n % 3 === 1) await pays(owner, `ACME ${n}`, "40.00");
    if (n === 3) await says(owner, "AMZN", {});
    if (n === 6) await pays(owner, "ACME", "140.00", "approved");
    expect(await guard.look()).toEqual([]);
  }
  expect(one.git("ls-files", "cases").trim().split("\n").length).toBeGreaterThan(3);
});

tried("after ten changes");

it("what the second change introduced is protected, and follows a later correction by a person", async () => {
  const back: Change = [[INGEST, '"COMCAST", account: 5040', '"COMCAST", account: 5070']];
  expect(failures(await proposed(owner, "Comcast is no rent", back)).join("\n")).toMatch(/COMCAST.*accepted as Expenses:/);
});

it("a clone without recordings blocks nothing by its cases, and says that none could be tried; one with them blocks bad changes", async () => {
  await close(owner);
  const [bare, whole] = [copyOf(one), copyOf(one)];
  for (const file of ["store.db", "store.db-wal", "store.db-shm"]) rmSync(join(bare.dir, ".cleared", file), { force: true });
  const without = await host(bare);
  const good = await proposed(without, "a comment", GOOD[0]?.[1] as Change);
  expect(good.report?.cases).toMatchObject({ passed: 0, failed: [], open: [] });
  expect(good.report?.cases.untried?.length).toBeGreaterThan(3);
  await close(without);
  owner = await host(whole);
  expect((await proposed(owner, "moves what was confirmed", BAD[1]?.[1] as Change)).state).toBe("blocked");
  expect((await proposed(owner, "a comment", GOOD[0]?.[1] as Change)).state).toBe("ready");
});
