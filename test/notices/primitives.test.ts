/** notify_send, schedule_run and audit_add inside real runs: what the run says, and that a repeat after a kill changes nothing. */
import { afterAll, afterEach, expect, test } from "vitest";
import type { Json } from "../../runtime/kernel/ports.ts";
import { callPrimitive } from "../../runtime/kernel/primitive.ts";
import { schedule_run } from "../../primitives/schedule.ts";
import { closeAll, close, host, removeAll, run, start, withStore, workspace } from "../engine/harness.ts";
import { memory } from "../primitives/memory-ports.ts";

afterEach(closeAll);
afterAll(removeAll);

const NIGHT = Date.parse("2026-11-21T02:00:00Z");
const agent = (uses: string, body: string) => ({ "agents/tell.ts": `/*\nname: Tell\nuses: [${uses}, ctx]\n*/\n${body}` });
const nightly = async (files: Record<string, string>) => {
  const one = await workspace(files);
  const config = one.read("config.yaml").replace(/^notify:.*\n(?: .*\n)*/m, "");
  const trust = one.read("trust.yaml").replace(/^notices: .*\n/m, "");
  one.commit({
    "config.yaml": `${config}\nnotify: {quiet_hours: {from: "20:00", to: "08:00", timezone: America/New_York}, default: ops}\n`,
    "trust.yaml": `${trust}\nnotices: {webhooks: {ops: {url: "https://chat.example.com/x", secret: "secret:ops_hook"}}}\n`,
  });
  return one;
};

test("a notice in quiet hours moves to the next open minute, and the run says so", async () => {
  const one = await nightly(agent("notify", 'notify_send({ to: "ann", subject: "Overdue", text: "Look." });'));
  const opened = await host(one, { clock: { now: () => NIGHT } });
  const { id, result } = await run(opened, "tell");
  expect(result).toMatchObject({ channel: "ops", state: "queued", due: "2026-11-21T13:00:00.000Z" });
  const logs: Json[] = [];
  for await (const event of opened.engine.events(id, 1)) if (event.type === "log") logs.push(event.body);
  expect(logs).toEqual([{ level: "info", message: 'Quiet hours: "Overdue" to ann goes out at 2026-11-21T13:00:00.000Z.' }]);
});

test("a call in doubt after a kill notifies once, starts once and writes once", async () => {
  const one = await workspace(
    agent(
      "notify, schedule, audit",
      `notify_send({ to: "ann", subject: "Overdue", text: "Look." });
schedule_run({ agent: "quick", at: "in 3d", input: { n: 7 }, key: "k" });
audit_add({ subject: "INV-7", text: "Reminded." });
1;`,
    ),
  );
  const first = await host(one);
  const id = await start(first, "tell");
  await first.engine.result(id);
  await close(first);
  // As if the process had been killed after it acted and before it wrote that down, at each of the two calls.
  for (const [seq, gone] of [
    [0, 3],
    [1, 3],
  ] as const) {
    withStore(one.dir, (db) => {
      db.exec(
        `DELETE FROM steps WHERE seq > ${seq} AND seq <= ${gone}; UPDATE steps SET state = 'intent', result = NULL WHERE seq = ${seq}`,
      );
      db.exec(`UPDATE runs SET status = 'queued', outcome = NULL, ended_at = NULL WHERE id = '${id}'`);
    });
    const again = await host(one);
    expect(await again.engine.result(id)).toMatchObject({ status: "done" });
    expect(again.cards.list()).toHaveLength(1);
    expect(await again.engine.list({ agent: "quick" })).toMatchObject([{ status: "queued", input: { n: 7 }, cause: { kind: "schedule" } }]);
    await close(again);
  }
  expect(one.git("ls-tree", "-r", "--name-only", "HEAD", "audit").trim().split("\n")).toHaveLength(1);
});

test("a scheduled run starts at its time, with the rights and the input validation of its own agent", async () => {
  const one = await workspace(
    agent(
      "schedule",
      'schedule_run({ agent: "quick", at: "in 2h", input: { n: 5 }, key: "k" });\nschedule_run({ agent: "quick", at: "in 9h", input: { n: 6 }, key: "k" });',
    ),
  );
  let now = NIGHT;
  const opened = await host(one, { clock: { now: () => now } });
  const { result } = await run(opened, "tell");
  expect(result).toEqual({ run: expect.stringMatching(/^run_/), at: "2026-11-21T04:00:00.000Z", created: false });
  const { run: id } = result as { run: string };
  expect(await opened.engine.result(id, { timeoutMs: 700 })).toMatchObject({ status: "queued", notBefore: NIGHT + 7_200_000 });
  now += 7_200_000;
  expect(await opened.engine.result(id, { timeoutMs: 100_000 })).toMatchObject({ status: "done", result: { n: 5 } });
});

test("an unknown agent and an invalid input are refused, in a dry run too", async () => {
  const one = await workspace({
    ...agent("schedule", 'schedule_run({ agent: "qick", at: "in 2h", key: "k" });'),
    "agents/wrong.ts": '/*\nname: Wrong\nuses: [schedule]\n*/\nschedule_run({ agent: "quick", at: "in 2h", input: { m: 1 }, key: "k" });\n',
  });
  const opened = await host(one);
  for (const mode of ["live", "dry"] as const) {
    const ended = await Promise.all(
      ["tell", "wrong"].map(async (name) => {
        const { id } = await opened.start(name, { cause: { kind: "command", key: `${name} ${mode}` }, input: {}, mode });
        return (await opened.engine.result(id, { timeoutMs: 100_000 })).error?.code;
      }),
    );
    expect(ended).toEqual(["AGENT_UNKNOWN", "RUN_INPUT"]);
  }
  expect(await opened.engine.list({ agent: "quick" })).toEqual([]);
});

// at, now, zone, when it opens
test.each([
  ["in 30m", "2026-11-20T12:00:00Z", "UTC", "2026-11-20T12:30:00.000Z"],
  ["in 3d", "2026-03-06T14:00:00Z", "America/New_York", "2026-03-09T13:00:00.000Z"],
  ["in 1w", "2026-10-28T13:00:00Z", "America/New_York", "2026-11-04T14:00:00.000Z"],
  ["in 24h", "2026-03-07T14:00:00Z", "America/New_York", "2026-03-08T14:00:00.000Z"],
  ["2028-02-29", "2026-11-20T12:00:00Z", "America/New_York", "2028-02-29T14:00:00.000Z"],
  ["2026-07-01", "2026-11-20T12:00:00Z", "Europe/London", "2026-07-01T08:00:00.000Z"],
  ["2026-11-30T18:00:00+02:00", "2026-11-20T12:00:00Z", "UTC", "2026-11-30T16:00:00.000Z"],
])("at %s, asked at %s in %s, opens at %s", async (at, now, timezone, opens) => {
  const { ctx } = memory({ config: { timezone } });
  const answer = await callPrimitive(schedule_run, { agent: "a", at, key: "k" }, { ...ctx, now: Date.parse(now) });
  expect(answer).toMatchObject({ at: opens });
});

test.each(["tomorrow", "in 0d", "in 3 days", "2026-02-29", "2026-11-30T18:00", "2026-11-30T25:00:00Z", ""])(
  "at %s is refused",
  async (at) => {
    await expect(callPrimitive(schedule_run, { agent: "a", at, key: "k" }, memory().ctx)).rejects.toMatchObject({ code: "PARAMS_INVALID" });
  },
);
