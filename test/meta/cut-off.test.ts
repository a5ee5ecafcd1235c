/** A request that is stopped, killed, out of time or out of money: no spending is forgotten, and there is never a second proposal. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { beginAsk, continueAsk, listAsks, stopAsk, watchAsk } from "../../runtime/app/asks.ts";
import { withApi } from "../../runtime/app/connect.ts";
import { openHost } from "../../runtime/app/open-host.ts";
import { createProposals } from "../../runtime/change/proposals/store.ts";
import { createAsks } from "../../runtime/meta/requests.ts";
import { until, warmUp } from "../cli/command-line.ts";
import { type Asking, asking, call, cleared, commit, shell, source } from "./asking.ts";

beforeAll(warmUp);

const INGEST = source("agents/ingest.ts");
const WITH_RULE = INGEST.replace(
  '  { text: "UBER"',
  '  { text: "HETZNER", account: 5020, vendor: "Hetzner", confidence: 0.9 },\n  { text: "UBER"',
);
const write = call("write", { path: "agents/ingest.ts", text: WITH_RULE });
const submit = call("submit", {
  ...{ title: "Hetzner is software", reason: "It was asked for.", says: "" },
  claims: [
    { kind: "rule", subject: "HETZNER", to: "5020" },
    { kind: "nothing_else", subject: "" },
  ],
});
/** The model does not answer. */
const HOLD = { by: () => undefined };

/** `cleared ask` in the background. */
async function begun({ dir }: Asking, text: string): Promise<{ pid: number; over: Promise<{ code: number | null; said: string }> }> {
  const file = join(dir, ".cleared", "pid");
  const over = shell(dir, `cleared ask '${text}' 2>&1 & echo $! >.cleared/pid; wait $!`, true);
  await until(() => shell(dir, "cat .cleared/pid").then(({ stdout }) => stdout.trim() !== ""));
  return { pid: Number(readFileSync(file, "utf8")), over: over.then(({ code, stdout }) => ({ code, said: stdout })) };
}

const proposals = async (dir: string) =>
  ((await cleared(dir, "proposals", "--json")).json().proposals as { asked: object | null; state: string }[]).filter(
    ({ asked }) => asked !== null,
  );

test("killed while the model thinks, it counts the possible cost, and continues with what was written", async () => {
  const held = [write, HOLD];
  const scripts = { Hetzner: held };
  const one = await asking(scripts, { runs: false });
  const { pid, over } = await begun(one, "Hetzner");
  await until(() => one.server.asked.length === 2);
  process.kill(pid, "SIGKILL");
  await over;
  expect((await cleared(one.dir, "asks")).stdout).toMatch(/1 .*decline/);
  expect((await cleared(one.dir, "asks", "show", "1")).stdout).toMatch(/It was cut off: .*\n {2}continue: cleared ask --continue 1/);
  const [row] = (await cleared(one.dir, "costs", "--by", "proposal", "--json")).json();
  expect(row).toMatchObject({ name: "request 1", calls: 2, open: 1 });
  expect(Number(row.usd)).toBeGreaterThan(0.1);
  scripts.Hetzner = [write, submit];
  const again = await one.ask("--continue");
  expect(again.stdout).toMatch(/Written by: fake\/hand, for request 1/);
  expect(await proposals(one.dir)).toHaveLength(1);
});

test("killed while it proposes, it has one proposal and says so", async () => {
  const one = await asking({ Hetzner: [write, submit] }, { runs: false });
  const { pid, over } = await begun(one, "Hetzner");
  await until(async () => (await shell(one.dir, "git for-each-ref refs/cleared/proposals")).stdout !== "");
  process.kill(pid, "SIGKILL");
  await over;
  expect((await cleared(one.dir, "asks")).stdout).toMatch(/1 .*proposal \d+/);
  await one.ask("--continue", "1");
  const all = await proposals(one.dir);
  expect(all).toHaveLength(1);
  expect((await cleared(one.dir, "asks", "--json")).json()[0].end).toMatchObject({ kind: "card" });
});

test("Ctrl-C ends it with one sentence, and its draft is kept for continuing", async () => {
  const one = await asking({ Hetzner: [write, HOLD] }, { runs: false });
  const { pid, over } = await begun(one, "Hetzner");
  await until(() => one.server.asked.length === 2);
  process.kill(pid, "SIGINT");
  const { said, code } = await over;
  expect(said).toMatch(/It was stopped\.\n {2}continue: cleared ask --continue 1/);
  expect(code).toBe(3);
});

test("a request beyond its budget is not sent, and this is reported", async () => {
  const one = await asking({ Hetzner: [write, submit] }, { runs: false });
  const config = readFileSync(join(one.dir, "config.yaml"), "utf8").replace("models: {", 'models: {budgets: {proposal: {usd: "0.20"}}, ');
  await commit(one.dir, { "config.yaml": config });
  const done = await one.ask("Hetzner");
  expect(done.stdout).toMatch(/The budget for .* is 0\.20.*`cleared costs` shows them/);
  expect(done.code).toBe(3);
  const spent = (await cleared(one.dir, "costs", "--by", "proposal", "--json")).json();
  expect(Number(spent[0]?.usd ?? 0)).toBeLessThanOrEqual(0.2);
});

test("a request has a time limit", async () => {
  const one = await asking({ Hetzner: [write, HOLD] }, { runs: false });
  const host = await openHost(one.dir, { mode: "owner" });
  try {
    const { id } = await beginAsk(host, { text: "Hetzner", wallMs: 2500 });
    for (let from = 1; ; ) {
      const { ask, rows } = await watchAsk(host, { id, from, wait: true });
      from = (rows.at(-1)?.n ?? from - 1) + 1;
      if (ask.end === null) continue;
      expect(ask.end).toMatchObject({
        kind: "decline",
        open: true,
        files: expect.any(Array),
        reason: expect.stringMatching(/longer than \d seconds.*budgets\.proposal\.minutes/),
      });
      break;
    }
  } finally {
    await host.close();
  }
});

test("a command whose run started a request waits until it has ended", async () => {
  const one = await asking({}, { runs: false });
  const { promise: over, resolve: go } = Promise.withResolvers<void>();
  one.server.answer = async ({ body }) => {
    if (body.tools === undefined) return '{"class": "(none)"}';
    await over;
    return call("decline", { reason: "Nobody travels here." });
  };
  await cleared(one.dir, "add", "general");
  await shell(one.dir, "git add agents scripts policies && git commit -qm general");
  await withApi(one.dir, (api) => api.run({ agent: "general", input: { task: "Book a flight" }, dry: false, wait: true }).finally(go));
  expect((await cleared(one.dir, "asks", "--json")).json()).toMatchObject([{ id: 1, end: { kind: "decline", open: false } }]);
});

test("watching it at the start ends nothing; of two callers who continue it only one does, and only whoever asked", async () => {
  const one = await asking({ Hetzner: [HOLD] }, { runs: false });
  const host = await openHost(one.dir, { mode: "owner" });
  try {
    const looking = { ...host, config: () => listAsks(host, { limit: 9 }).then(() => host.config()) };
    const { id } = await beginAsk(looking, { text: "Hetzner", by: "Pat" });
    expect((await listAsks(host, { limit: 1 }))[0]?.end).toBeNull();
    await stopAsk(host, { id });
    for (const by of [{ by: "Kim" }, {}])
      await expect(continueAsk(host, { id, ...by })).rejects.toMatchObject({ code: "APPROVAL_IDENTITY" });
    const both = await Promise.allSettled([continueAsk(host, { id, by: "Pat" }), continueAsk(host, { id, by: "Pat" })]);
    expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    await stopAsk(host, { id });
  } finally {
    await host.close();
  }
});

test("a request whose first message cannot be stored does not start: nothing is left that could never continue", async () => {
  const one = await asking({}, { runs: false });
  const host = await openHost(one.dir, { mode: "owner" });
  try {
    const { database } = host;
    const run = database.run.bind(database);
    database.run = (sql, ...values) => {
      if (sql.includes("INTO ask_rows")) throw new Error("killed here");
      return run(sql, ...values);
    };
    await expect(beginAsk(host, { text: "Hetzner" })).rejects.toThrow("killed here");
    database.run = run;
    expect(await listAsks(host, { limit: 9 })).toEqual([]);
  } finally {
    await host.close();
  }
});

test("an interrupted request ends with its own proposal, not with that of another clone's request of the same number", async () => {
  const one = await asking({}, { runs: false });
  const host = await openHost(one.dir, { mode: "owner" });
  try {
    const base = await host.git.head();
    const kinds: (string | undefined)[] = [];
    for (const later of [1, 0]) {
      const { id, at } = createAsks(host.database).create(
        { at: 1000, text: "Hetzner", by: null, base, prompt: "1" },
        { message: { role: "user", content: "Hetzner" } },
      );
      const asked = { request: id, at: at + later, model: "m", claims: [], says: "", outside: [] };
      await createProposals(host).create(
        { title: "Hetzner", reason: "", by: "Pat", files: { "agents/ingest.ts": WITH_RULE }, asked },
        base,
      );
      kinds.push((await listAsks(host, { limit: 1 }))[0]?.end?.kind);
    }
    expect(kinds).toEqual(["decline", "card"]);
  } finally {
    await host.close();
  }
});

test("a recorded run whose result has thousands of fields is not shown whole, and the request continues", async () => {
  const wide = "/*\nname: Wide\nuses: []\n*/\nconst all: any = {};\nfor (let i = 0; i < 40000; i++) all['field_' + i] = i;\nall;\n";
  const script: Parameters<typeof asking>[0][string] = [];
  const { dir, server, ask } = await asking({ Why: script }, { runs: false, files: { "agents/wide.ts": wide } });
  const { id } = (await cleared(dir, "run", "wide", "--json")).json();
  script.push(call("run", { id }), call("decline", { reason: "It is too large." }));
  expect((await ask("Why")).stdout).toMatch(/It is too large/);
  expect(server.asked).toHaveLength(2);
  expect(server.asked[1]?.body.messages.at(-1)?.content).toMatch(/^Error: .*has \d+ characters, and at most 200000 are told/);
});
