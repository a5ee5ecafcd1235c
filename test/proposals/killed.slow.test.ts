/** kill -9 at every stage of apply and undo: all or nothing, whoever comes next finishes it, and there are never two commits. */
import { spawn } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { createApi } from "../../runtime/app/api.ts";
import { importFiles } from "../../runtime/app/imports.ts";
import { wakeWaiting } from "../../runtime/app/wake.ts";
import { createProposals } from "../../runtime/change/proposals/store.ts";
import { verifyBooks } from "../../runtime/workspace/books/verify.ts";
import { type Workspace, close, closeAll, copyOf, host, removeAll, workspace } from "../engine/harness.ts";
import { decide, failure, ready, script } from "./ready.ts";
import { share } from "../share.ts";

afterEach(closeAll);
afterAll(removeAll);

const HELLO = "agents/hello.ts";
const STAGES = ["asked", "objects", "recorded", "moved", "files", "done"] as const;
const LANDED = ["moved", "index", "files", "done"];

async function killAt(one: Workspace, ...args: string[]): Promise<void> {
  const child = spawn(process.execPath, [join(import.meta.dirname, "killed.ts"), one.dir, ...args], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  expect(await new Promise((resolve) => child.on("exit", (_, signal) => resolve(signal)))).toBe("SIGKILL");
  for (let i = 0; i < 100 && existsSync(join(one.dir, ".git/index.lock")); i++) await sleep(20);
}
const count = (one: Workspace): number => Number(one.git("rev-list", "--count", "HEAD"));
const DIRTY = " M main.journal\nA  staged.txt\n";

/** A person's own work lies about the whole time. */
function disturb(one: Workspace): void {
  writeFileSync(join(one.dir, "staged.txt"), "s\n");
  one.git("add", "staged.txt");
  one.write("main.journal", `${one.read("main.journal")}; mine\n`);
}

describe("killed while applying", async () => {
  const template = await workspace({ [HELLO]: script(0) });
  const owner = await host(template);
  const { id } = await ready(owner, { [HELLO]: script(1), "agents/new.ts": script("n") });
  await close(owner);

  it.each(share(STAGES, 3, (one) => `applies ${one}`))("at %s", async (stage) => {
    const one = copyOf(template);
    disturb(one);
    const before = count(one);
    await killAt(one, "approve", id, stage);
    expect(count(one)).toBe(before + (LANDED.includes(stage) ? 1 : 0));
    const next = await host(one);
    // At the start of an owner, and again: a repeat changes nothing.
    await wakeWaiting(next);
    await wakeWaiting(next);
    expect(count(one)).toBe(before + 1);
    expect(await createProposals(next).get(id)).toMatchObject({ state: "applied", decisions: [{ by: "Pat" }] });
    expect([one.read(HELLO), one.read("agents/new.ts")]).toEqual([script(1), script("n")]);
    expect(one.git("status", "--porcelain")).toBe(DIRTY);
    expect(await failure(decide(next, await createProposals(next).get(id)))).toMatchObject({ code: "CARD_CLOSED" });
  });
});

describe("killed while undoing", async () => {
  const template = await workspace({ [HELLO]: script(0) });
  const owner = await host(template);
  const proposal = await ready(owner, { [HELLO]: script(1), "agents/new.ts": script("n") });
  await decide(owner, proposal);
  template.write("import/october.csv", "Date,Description,Amount\n2026-10-01,GITHUB PRO,-21.00\n2026-10-05,INVOICE 7,1200.00\n");
  await importFiles(owner, { files: [join(template.dir, "import/october.csv")], dryRun: false, again: false });
  await close(owner);

  it.each(share(["asked", "recorded", "moved", "done"], 2, (one) => `undoes ${one}`))("a proposal, at %s", async (stage) => {
    const one = copyOf(template);
    disturb(one);
    const before = count(one);
    await killAt(one, "undo", proposal.id, stage);
    const landed = LANDED.includes(stage);
    const next = await host(one);
    expect([count(one), one.read(HELLO)]).toEqual([before + (landed ? 1 : 0), script(landed ? 0 : 1)]);
    expect((await createProposals(next).get(proposal.id)).state).toBe(landed ? "reverted" : "applied");
    const again = await failure(createApi(next).undo({ target: proposal.id, by: "Pat" }));
    expect(again.code).toBe(landed ? "UNDO_REFUSED" : "none");
    expect([count(one), one.read(HELLO), existsSync(join(one.dir, "agents/new.ts"))]).toEqual([before + 1, script(0), false]);
    expect(one.git("status", "--porcelain")).toBe(DIRTY);
  });

  it.each(share(["asked", "recorded", "moved"], 3, (one) => `import ${one}`))(
    "an import, at %s: the statement lies where the books say",
    async (stage) => {
      const one = copyOf(template);
      const before = count(one);
      await killAt(one, "undo", "import", stage);
      const landed = LANDED.includes(stage);
      const next = await host(one);
      await next.tidy();
      expect(count(one)).toBe(before + (landed ? 1 : 0));
      expect([existsSync(join(one.dir, "import/october.csv")), existsSync(join(one.dir, "import/processed/october.csv"))]).toEqual([
        landed,
        !landed,
      ]);
      expect((await verifyBooks(next.git.tree(await next.git.head()), await next.config())).findings).toEqual([]);
      expect((await failure(createApi(next).undo({ target: "import", by: "Pat" }))).code).toBe(landed ? "UNDO_REFUSED" : "none");
      expect(count(one)).toBe(before + 1);
      expect(one.git("status", "--porcelain")).toBe("");
    },
  );
});
