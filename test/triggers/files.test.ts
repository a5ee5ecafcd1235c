/** An agent that watches a folder and pays by policy: each content once, whatever changes around it; a second time only with a person. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, expect, it } from "vitest";
import { createApi } from "../../runtime/app/api.ts";
import { filePorts } from "../../runtime/app/file-ports.ts";
import type { Host } from "../../runtime/app/host.ts";
import { startForFiles } from "../../runtime/outside/triggers/files.ts";
import { close, closeAll, copyOf, decide, host, openCard, removeAll, withStore } from "../engine/harness.ts";
import { header, type Shop, shop, STATES } from "../gate/shop.ts";

afterEach(closeAll);
afterAll(removeAll);

const PAYS = (then: string, watch = "bills", tool = "pay_invoice"): string => `${header(
  "mcp, fsm, policy",
  `trigger: file_watch\nwatch: ${watch}\n${STATES}`,
)}fsm_enter("ASSESS");
const due = mcp_call({ tool: "shop/get_invoice", params: { invoice_id: "I-1" } });
fsm_enter("COMPUTE");
fsm_enter("POLICY_CHECK");
policy_evaluate({ policy: "open", facts: { fine: true, amount: due.amount } });
fsm_enter("MUTATE");
mcp_call({ tool: "shop/${tool}", params: { invoice_id: "I-1" } });
fsm_enter("SCHEDULE_NOTIFY");
${then}
`;

/** What \`start\` does when a folder may have changed: each run's files, and whether it has ended or waits. */
async function look(owner: Host, folder = "bills/"): Promise<[string[], string][]> {
  const ports = { ...filePorts(owner), importing: async () => false, start: owner.start };
  const started = (await startForFiles(ports, folder, (await ports.look(folder)).files)).filter(({ created }) => created);
  return Promise.all(
    started.map(async ({ id }) => {
      const run = await owner.engine.result(id, { timeoutMs: 100_000 });
      return [(run.cause.detail as { files: string[] }).files, run.status];
    }),
  );
}

const loseStore = (at: Shop): void => {
  for (const end of ["", "-wal", "-shm"]) rmSync(join(at.dir, `.cleared/store.db${end}`), { force: true });
};

it.each(["bills/", "import/"])(
  "a file of %s that was dealt with is not given again by an edit, a setting, a new name, other files or a lost store",
  async (folder) => {
    const at = await shop({ "agents/ingest.ts": header("ctx"), "agents/bills.ts": PAYS('"paid";', folder) });
    let owner = await host(at);
    at.write(`${folder}a.csv`, "one\n");
    expect(await look(owner, folder)).toEqual([[["a.csv"], "done"]]);
    at.commit({ "agents/bills.ts": PAYS('"Paid";', folder), "config.yaml": `${at.read("config.yaml")}# a remark\n` });
    at.write(`${folder}b.csv`, "two\n");
    expect(await look(owner, folder)).toEqual([[["b.csv"], "done"]]);
    at.write(`${folder}c.csv`, "one\n");
    rmSync(join(at.dir, `${folder}a.csv`));
    expect(await look(owner, folder)).toEqual([]);
    await close(owner);
    loseStore(at);
    owner = await host(at);
    at.write(`${folder}d.csv`, "three\n");
    expect(await look(owner, folder)).toEqual([[["d.csv"], "done"]]);
  },
);

it("a run that failed after it had paid is tried again with its new script, even by a new store, and pays only with a person", async () => {
  const at = await shop({ "agents/bills.ts": PAYS("null.x;") });
  const owner = await host(at);
  at.write("bills/a.csv", "one\n");
  expect(await look(owner)).toEqual([[["a.csv"], "failed"]]);
  await close(owner);
  loseStore(at);
  at.commit({ "agents/bills.ts": PAYS('"paid";') });
  const next = await host(at);
  expect(await look(next)).toEqual([[["a.csv"], "waiting"]]);
  const [{ id = "" } = {}] = await next.engine.list({ agent: "bills", limit: 1 });
  expect([openCard(next, id).title, at.wrote().length]).toEqual(["Allow shop/pay_invoice?", 1]);
});

it("a person gives it a file again on purpose", async () => {
  const at = await shop({ "agents/bills.ts": PAYS('"paid";') });
  const owner = await host(at);
  at.write("bills/a.csv", "one\n");
  await look(owner);
  const again = (agent: string, ...files: string[]) => createApi(owner).run({ agent, input: {}, again: files, wait: true, by: "Pat" });
  const { status, by, cause } = await again("bills", "a.csv");
  expect([status, by, cause.detail]).toEqual(["done", "Pat", expect.objectContaining({ files: ["a.csv"] })]);
  await expect(again("bills", "z.csv")).rejects.toMatchObject({ code: "FILE_MISSING" });
  await expect(again("ingest", "a.csv")).rejects.toMatchObject({
    code: "USAGE",
    message: expect.stringContaining("cleared import --again"),
  });
  await expect(again("pay", "a.csv")).rejects.toMatchObject({ code: "USAGE" });
});

it("says of a file with the content of another one that it is not given again, and how it is", async () => {
  const at = await shop({ "agents/bills.ts": PAYS('"paid";') });
  const owner = await host(at);
  at.write("bills/a.csv", "one\n");
  await look(owner);
  at.write("bills/c.csv", "one\n");
  const ports = { ...filePorts(owner), importing: async () => false, start: owner.start };
  const found = (await ports.look("bills/")).files;
  const told: string[] = [];
  expect(await startForFiles(ports, "bills/", found, { onCopy: (...one) => told.push(one.join(" ")) })).toEqual([]);
  expect(told).toEqual(["bills c.csv"]);
});

it.each(["lay there", "was committed"])("a file that %s before this folder was first confirmed pays only with a person", async (how) => {
  const at = await shop({ "agents/bills.ts": PAYS('"paid";', "bills", "pay_blind") });
  if (how === "lay there") at.write("bills/a.csv", "one\n");
  else at.commit({ "bills/a.csv": "one\n" });
  const owner = await host(at);
  // As a change of branches leaves it.
  if (how !== "lay there") at.write("bills/a.csv", "one\n");
  expect([await look(owner), at.wrote()]).toEqual([[[["a.csv"], "waiting"]], []]);
  const [{ id = "" } = {}] = await owner.engine.list({ agent: "bills", limit: 1 });
  expect(openCard(owner, id).title).toBe("Did mcp_call happen?");
  expect((await decide(owner, id, "approved", { result: { ok: true } })).status).toBe("done");
  at.write("bills/b.csv", "two\n");
  await look(owner);
  expect(at.wrote().length).toBe(1);
});

it("what a workspace did with files before another user got it is known from its store, and doubted where that run failed", async () => {
  const at = await shop({ "agents/bills.ts": PAYS('"paid";') });
  const first = await host(at);
  at.write("bills/a.csv", "one\n");
  await look(first);
  at.commit({ "agents/bills.ts": PAYS("null.x;") });
  at.write("bills/b.csv", "two\n");
  expect(await look(first)).toEqual([[["b.csv"], "failed"]]);
  const before = at.wrote().length;
  await close(first);
  // Later runs of the agent, more than are looked through for each file.
  withStore(at.dir, (db) => {
    const columns = (db.prepare("PRAGMA table_info(runs)").all() as { name: string }[]).map(({ name }) => name);
    const values = columns.map((name) => ({ rid: "NULL", id: "'run_' || n", cause_key: "n", cause_detail: "NULL" })[name] ?? name);
    db.exec(`WITH RECURSIVE more(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM more WHERE n < 201)
      INSERT INTO runs SELECT ${values.join()} FROM more, (SELECT * FROM runs WHERE status = 'done' LIMIT 1)`);
  });
  const there = copyOf(at);
  // Without it nothing that this user's state folder has is taken along.
  rmSync(join(there.dir, ".cleared/id"));
  there.commit({ "agents/bills.ts": PAYS('"Paid";', "bills", "pay_blind") });
  const owner = await host(there);
  expect(await look(owner)).toEqual([[["b.csv"], "waiting"]]);
  expect(at.wrote().length).toBe(before);
});
