/** Undo of imports: the books stay tied to the bank, the statement lies where the receipts say, and a person's decisions stand. */
import { existsSync, renameSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { createApi } from "../../runtime/app/api.ts";
import { asked, decideCard } from "../../runtime/app/decide.ts";
import { signAs } from "../../runtime/app/identity.ts";
import type { Host } from "../../runtime/app/host.ts";
import { filePorts } from "../../runtime/app/file-ports.ts";
import { importFiles } from "../../runtime/app/imports.ts";
import { planUndo, undo } from "../../runtime/change/proposals/undo.ts";
import { verifyBooks } from "../../runtime/workspace/books/verify.ts";
import { type Workspace, closeAll, host, removeAll, workspace } from "../engine/harness.ts";
import { failure } from "./ready.ts";

afterEach(closeAll);
afterAll(removeAll);

const OCTOBER = "Date,Description,Amount,Balance\n2026-10-01,GITHUB PRO,-21.00,979.00\n2026-10-05,INVOICE 7,1200.00,2179.00\n";
const LATER = "Date,Description,Amount,Balance\n2026-10-20,DROPBOX,-10.00,2169.00\n2026-11-02,ZOOM.US,-15.00,2154.00\n";

async function opened(): Promise<{ one: Workspace; owner: Host }> {
  const one = await workspace();
  return { one, owner: await host(one) };
}
async function importText(one: Workspace, owner: Host, name: string, text: string): Promise<string> {
  one.write(`import/${name}`, text);
  const { runs } = await importFiles(owner, { files: [join(one.dir, "import", name)], dryRun: false, again: false });
  return runs[0] ?? "";
}
async function assertTrue(owner: Host): Promise<void> {
  expect((await verifyBooks(owner.git.tree(await owner.git.head()), await owner.config())).findings).toEqual([]);
}
const treeOf = (one: Workspace, at = "HEAD"): string => one.git("rev-parse", `${at}^{tree}`).trim();

describe("undo of an import", () => {
  it("removes entries and receipt and returns the statement, which nothing imports automatically", async () => {
    const { one, owner } = await opened();
    const before = treeOf(one);
    const id = await importText(one, owner, "october.csv", OCTOBER);
    expect(existsSync(join(one.dir, "import/processed/october.csv"))).toBe(true);
    const api = createApi(owner);
    const plan = await api.planUndo({ target: "import" });
    expect(plan.title).toBe(`the last import, october.csv, imported on ${new Date().toISOString().slice(0, 10)}, ${id} (ingest)`);
    expect(plan.statements).toMatchObject([{ file: "october.csv" }]);
    expect(plan.money.find(({ account }) => account === "Assets:Bank:Checking")).toEqual({
      account: "Assets:Bank:Checking",
      month: "2026-10",
      currency: "USD",
      was: "2179.00",
      now: "0.00",
      difference: "-2179.00",
    });
    await api.undo({ target: "import", by: "Pat" });
    expect(treeOf(one)).toBe(before);
    expect(owner.cards.list({ open: true })).toEqual([]);
    expect(one.git("status", "--porcelain")).toBe("");
    expect([existsSync(join(one.dir, "import/october.csv")), existsSync(join(one.dir, "import/processed/october.csv"))]).toEqual([
      true,
      false,
    ]);
    await assertTrue(owner);
    const ports = filePorts(owner);
    const { startForFiles } = await import("../../runtime/outside/triggers/files.ts");
    const started = await startForFiles(
      { ...ports, importing: async () => false, start: owner.start },
      "import/",
      (await ports.look("import/")).files,
    );
    expect(started.map(({ created }) => created)).toEqual([false]);
    // By hand it is new again.
    await importText(one, owner, "october.csv", OCTOBER);
    expect((await planUndo(owner, "import")).money).toEqual(plan.money);
    expect(await failure(undo(owner, id, { by: "Pat" }))).toMatchObject({
      code: "UNDO_REFUSED",
      message: expect.stringContaining("is undone already by Pat"),
    });
  });

  it("of an older import reverses its entries, because a later stated balance depends on them", async () => {
    const { one, owner } = await opened();
    const first = await importText(one, owner, "october.csv", OCTOBER);
    await importText(one, owner, "later.csv", LATER);
    const balance = (await createApi(owner).balances()).find(({ account }) => account.id === "1010")?.balance["USD"];
    const plan = await planUndo(owner, first);
    expect(plan.entries).toMatchObject({ removed: 0, reversed: 2 });
    expect(plan.notes.join(" ")).toContain("because a balance that was stated later depends on them");
    await undo(owner, first, { by: "Pat", seen: plan.seen });
    await assertTrue(owner);
    const now = (await createApi(owner).balances()).find(({ account }) => account.id === "1010")?.balance["USD"];
    expect([balance, now]).toEqual(["2154.00", "975.00"]);
  });

  it("is refused with the reason once a person has confirmed one of its entries", async () => {
    const { one, owner } = await opened();
    const id = await importText(one, owner, "october.csv", OCTOBER);
    const card = owner.cards.list({ open: true, kind: "entry" })[0];
    if (card === undefined) throw new Error("no card");
    await decideCard(owner, signAs(owner.dir, owner.trust, { ...asked(card), decision: "approved", at: owner.clock.now() }));
    const head = one.git("rev-parse", "HEAD");
    const refused = await failure(undo(owner, id, { by: "Pat" }));
    expect(refused).toMatchObject({
      code: "UNDO_REFUSED",
      message: expect.stringMatching(/"INVOICE 7" is user-confirmed by Pat; .*cleared correct .*git revert COMMIT/),
    });
    expect(one.git("rev-parse", "HEAD")).toBe(head);
    expect(existsSync(join(one.dir, "import/processed/october.csv"))).toBe(true);
    // Plain git takes the confirmation back, and then the import goes as well.
    one.git("revert", "--no-edit", "HEAD");
    await undo(owner, id, { by: "Pat" });
    await assertTrue(owner);
  });
});

describe("an import that was first refused, until a dialect was added", () => {
  const UNKNOWN = "Datum;Wofür;Hin;Her\n04.10.2026;MIETE;900,00;\n05.10.2026;RECHNUNG 7;;1200,00\n";
  const DIALECT =
    'name: house\ndelimiter: ";"\nmatch:\n  header: [Datum, Wofür, Hin, Her]\ncolumns:\n  date: Datum\n  description: Wofür\n  out: Hin\n  in: Her\ndate: DD.MM.YYYY\namount: {decimal: ","}\n';
  const names = (one: Workspace) => ["import", "import/processed"].map((folder) => existsSync(join(one.dir, folder, "house.csv")));

  async function imported(): Promise<{ one: Workspace; owner: Host; start: () => Promise<boolean[]> }> {
    const { one, owner } = await opened();
    await importText(one, owner, "house.csv", UNKNOWN);
    expect(names(one)).toEqual([true, false]);
    one.commit({ "importers/house.yaml": DIALECT }, "importers: house");
    await importText(one, owner, "house.csv", UNKNOWN);
    expect(names(one)).toEqual([false, true]);
    const ports = filePorts(owner);
    const { startForFiles } = await import("../../runtime/outside/triggers/files.ts");
    const start = async () =>
      (
        await startForFiles({ ...ports, importing: async () => false, start: owner.start }, "import/", (await ports.look("import/")).files)
      ).map(({ created }) => created);
    return { one, owner, start };
  }

  it("returns when it is undone, and is booked again on request", async () => {
    const { one, owner, start } = await imported();
    expect((await planUndo(owner, "import")).statements).toMatchObject([{ file: "house.csv" }]);
    await undo(owner, "import", { by: "Pat" });
    expect(names(one)).toEqual([true, false]);
    expect(await start()).toEqual([false]);
    const { receipts } = await importFiles(owner, { files: [join(one.dir, "import/house.csv")], dryRun: false, again: false });
    expect(receipts).toMatchObject([{ file: "house.csv", new: 2, refused: [] }]);
    expect(names(one)).toEqual([false, true]);
    await assertTrue(owner);
  });

  it("is imported again automatically when plain git reverts it", async () => {
    const { one, owner, start } = await imported();
    one.git("revert", "--no-edit", "HEAD");
    renameSync(join(one.dir, "import/processed/house.csv"), join(one.dir, "import/house.csv"));
    expect(await start()).toEqual([true]);
    await owner.engine.result((await owner.engine.list({ agent: "ingest", limit: 1 }))[0]?.id ?? "");
    await assertTrue(owner);
    expect(names(one)).toEqual([false, true]);
  });
});

it("plain git reverts a data commit under a later stated balance: verify says so, and the next import states the gap", async () => {
  const { one, owner } = await opened();
  const first = await importText(one, owner, "october.csv", OCTOBER);
  const sha = one.git("log", "-1", "--format=%H", `--grep=Run: ${first}`).trim();
  await importText(one, owner, "later.csv", LATER);
  try {
    one.git("revert", "--no-edit", sha);
  } catch {
    // As text the two imports touch; a person takes the older one's rows away by hand.
    one.git("revert", "--abort");
    const file = "journal/2026/10.journal";
    const rows = one
      .read(file)
      .split("\n\n")
      .filter((entry) => !entry.includes("GITHUB PRO"));
    one.commit({ [file]: rows.join("\n\n") }, "edit: rows away");
  }
  const { findings } = await verifyBooks(owner.git.tree(await owner.git.head()), await owner.config());
  expect(findings.map(({ code }) => code)).toContain("JOURNAL_ASSERTION");
  one.write("import/third.csv", "Date,Description,Amount,Balance\n2026-11-20,ZOOM.US,-15.00,2139.00\n");
  const { receipts } = await importFiles(owner, { files: [join(one.dir, "import/third.csv")], dryRun: false, again: false });
  expect(receipts).toMatchObject([{ closing: "2139.00", gap: "-21.00" }]);
});
