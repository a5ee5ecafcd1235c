/** Trials of code that does not behave: each ends in its code, nothing of it reaches the world, and the next trial is unharmed. */
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Host } from "../../runtime/app/host.ts";
import { type Workspace, host, removeAll, run, workspace } from "../engine/harness.ts";
import { header, only } from "./trials.ts";

let one: Workspace;
let opened: Host;

const honest = `${header("journal, queue, data, notify, audit, bank, ctx, config, importer, agent:quick, git, schedule")}
const limit = config_get("thresholds.auto_confirm");
ctx_log("begins");
journal_add_double({ date: "2026-11-06", description: "Hosting", debit_account: 5030, credit_account: 1010, amount: "42.00", key: "hosting" });
({ limit })
`;
const after = (text: string) => honest.replace("({ limit })", `${text}\n({ limit })`);

beforeAll(async () => {
  one = await workspace({ "agents/honest.ts": honest });
  opened = await host(one);
  expect((await run(opened, "honest")).status).toBe("done");
});
afterAll(removeAll);

/** Everything a trial could leave behind: the store's rows, the refs, the files, what reached the bank. */
function world(): string {
  const hash = createHash("sha256");
  const store = new DatabaseSync(join(one.dir, ".cleared/store.db"), { readOnly: true });
  const tables = store.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all() as { name: string }[];
  for (const { name } of tables)
    if (name !== "lease")
      hash.update(
        JSON.stringify([name, store.prepare(`SELECT * FROM "${name}"`).all()], (_, value) =>
          typeof value === "bigint" ? String(value) : value,
        ),
      );
  store.close();
  hash.update(one.git("for-each-ref"));
  hash.update(one.git("status", "--porcelain", "--ignored"));
  for (const path of readdirSync(one.dir, { recursive: true }).map(String).sort())
    if (!/^\.git|^\.cleared\/(cache|store)/.test(path) && statSync(join(one.dir, path)).isFile())
      hash.update(path).update(readFileSync(join(one.dir, path)));
  return hash.digest("hex");
}

const HOSTILE: [what: string, text: string, expected: RegExp][] = [
  ["loops", after("while (true) limit.toString();"), /failed.*LIMIT_CPU/],
  ["eats memory", after("const all: any[] = []; while (true) all.push(new Array(1e6).fill(1));"), /failed.*LIMIT_MEMORY/],
  ["recurses without end", after("function deeper(): any { return deeper() + 1; }\ndeeper();"), /failed/],
  ["logs what is too large", after("ctx_log('x'.repeat(6e6));"), /failed|not_replayable/],
  ["pays without a yes", after(`bank_wire({ to: "EVE", amount: "9999.00" });`), /failed.*APPROVAL_REQUIRED/],
  [
    "pays with a yes nobody gave",
    `${after(`approval_wait({ title: "Pay?", calls: [{ tool: "bank_wire", params: { to: "EVE", amount: "9.00" } }] });\nbank_wire({ to: "EVE", amount: "9.00" });`).replace("bank, ctx", "bank, approval, ctx")}`,
    /changed.*new call bank_wire/,
  ],
  ["tells somebody", after(`notify_send({ to: "eve", subject: "all", text: "of it", channel: "page" });`), /changed.*new notice to eve/],
  ["starts a run", after(`schedule_run({ agent: "quick", at: "in 1m", input: {}, key: "x" });`), /changed.*schedule_run/],
  ["calls an agent", after(`agent_call({ agent: "quick" });`), /not_replayable|failed.*APPROVAL_REQUIRED/],
  ["reads another's statement", after(`importer_parse("october.csv");`), /not_replayable.*importer_parse/],
  [
    "commits and writes files",
    after(`data_write({ path: "x.txt", text: "x" });\naudit_add({ subject: "x", text: "x" });\ngit_commit("agent: x");`),
    /changed.*file data\/x.txt/,
  ],
  [
    "changes what texts are made with",
    after(`(JSON as any).stringify = () => "{}";\n(Array.prototype as any).map = () => [];\nctx_log("still here");`),
    /same|failed|changed/,
  ],
  ["throws what is no error", after("throw null;"), /failed/],
];

test.for(HOSTILE)("code that %s", async ([, text, expected]) => {
  const before = world();
  const found = await only(opened, "honest", { "agents/honest.ts": text });
  expect(found === "same" ? "same" : `${found.class}: ${found.why.join("; ")}`).toMatch(expected);
  expect(world()).toBe(before);
  expect(await only(opened, "honest", { "agents/honest.ts": `${honest}// reviewed\n` })).toBe("same");
});

test("a trial makes no proposal where the agent would, and compares it", async () => {
  const wish = (text: string) => `${header("propose")}
propose_change({ title: "Learn", reason: "it was seen", files: [{ path: "knowledge/x.md", text: "${text}" }] }).accepted
`;
  one.commit({ "agents/learner.ts": wish("one") });
  expect((await run(opened, "learner")).status).toBe("done");
  const before = world();
  expect(await only(opened, "learner", { "agents/learner.ts": `${wish("one")}// reviewed\n` })).toBe("same");
  expect(await only(opened, "learner", { "agents/learner.ts": wish("two") })).toMatchObject({
    class: "changed",
    why: ['event proposal: payload.files.knowledge/x.md "one" -> "two"'],
    supposed: [`the proposal "Learn" is taken, which the recorded run did not make`],
  });
  expect(world()).toBe(before);
});
