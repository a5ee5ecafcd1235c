/** Notices, one-off runs and the audit record as a user meets them: real processes, killed in the middle, against real receivers. */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeAll, expect, test } from "vitest";
import { signBody } from "../../runtime/outside/notices/webhook.ts";
import { cleared, commit, shell, start, until, workspace, warmUp } from "../cli/command-line.ts";
import { closeReceivers, hookReceiver, mailSink } from "./receivers.ts";

beforeAll(warmUp);

afterEach(closeReceivers);

const TELL = `/*
name: Tell
uses: [notify, schedule, audit, ctx]
input: {channel: {type: string, default: page}}
*/
const told = notify_send({ to: "ann@example.com", subject: "Overdue: INV-7", text: "30 days.", channel: input.channel, key: "INV-7" });
const later = schedule_run({ agent: "tell", at: "in 30d", input: { channel: "page" }, key: "again" });
audit_add({ subject: "INV-7", text: "Reminded.", refs: ["INV-7"] });
({ told: told.state, later: later.run, created: later.created });
`;
const HOOKED = `/*
name: Hooked
trigger: webhook
webhook: shop
uses: [ctx]
*/
ctx_log("order");
input.payload;
`;

async function acme(notices: string): Promise<string> {
  const dir = await workspace();
  const trust = `${readFileSync(join(dir, "trust.yaml"), "utf8").replace(/^(?:notices|webhooks):.*\n/gm, "")}\nnotices: ${notices}\nwebhooks: {shop: {secret: "secret:shop_hook"}}\n`;
  await commit(dir, { "agents/tell.ts": TELL, "agents/hooked.ts": HOOKED, "trust.yaml": trust });
  const kept = await shell(
    dir,
    "printf 'a-long-secret' | cleared secrets set ops_hook && printf 'a-long-secret' | cleared secrets set shop_hook",
  );
  if (kept.code !== 0) throw new Error(kept.stderr);
  return dir;
}

test("killed with a mail in flight: the next owner asks, every command says so, and exactly one mail exists", async () => {
  const { promise: letGo, resolve: release } = Promise.withResolvers<void>();
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
  const sink = await mailSink({
    held: () => {
      arrive();
      return letGo;
    },
  });
  const dir = await acme(`{smtp: {host: 127.0.0.1, port: ${sink.port}, from: books@acme.example}}`);
  const first = await start(dir, "--accept-trust");
  const run = await cleared(dir, "run", "tell", "--input", '{"channel":"smtp"}', "--json");
  expect(run.json()).toMatchObject({ status: "done", result: { told: "queued", created: true } });
  await arrived;
  await first.stop("SIGKILL");
  release();
  await until(() => sink.mails.length === 1);
  const second = await start(dir);
  await second.says(/Perhaps not delivered: "Overdue: INV-7" to ann@example\.com/);
  const queue = await cleared(dir, "queue");
  expect(queue.stdout).toMatch(/Was this mail sent\?/);
  const card = /^(\d+) {2}open {2}note/m.exec(queue.stdout)?.[1] ?? "";
  expect((await cleared(dir, "runs")).stderr).toMatch(/^! Card \d+: Was this mail sent\?/);
  expect((await cleared(dir, "approve", card)).code).toBe(0);
  expect((await cleared(dir, "runs")).stderr).toBe("");
  // The same key again, in another run: told already.
  expect((await cleared(dir, "run", "tell", "--input", '{"channel":"smtp"}', "--json")).json()).toMatchObject({
    result: { created: false },
  });
  expect(await second.stop()).toBe(0);
  expect(sink.mails).toHaveLength(1);
});

test("killed with a webhook in flight: it is repeated under its key, and the receiver recognizes it", async () => {
  let kill: (() => void) | null = null;
  const receiver = await hookReceiver({
    status: () => {
      kill?.();
      kill = null;
      return 200;
    },
  });
  const dir = await acme(`{webhooks: {ops: {url: "${receiver.url}", secret: "secret:ops_hook"}}}`);
  const first = await start(dir, "--accept-trust");
  kill = () => process.kill(first.pid, "SIGKILL");
  await cleared(dir, "run", "tell", "--input", '{"channel":"ops"}', "--no-wait");
  await first.ended;
  const second = await start(dir);
  await until(() => receiver.requests.length === 2);
  expect(receiver.told()).toHaveLength(1);
  expect(await second.stop()).toBe(0);
});

test("a scheduled run is listed and can be canceled; a dry run stores nothing; the audit line is in the commit", async () => {
  const dir = await acme("{}");
  const dry = await cleared(dir, "run", "tell", "--dry-run", "--json");
  expect(dry.json()).toMatchObject({ status: "done", result: { told: "sent", created: true } });
  expect((await cleared(dir, "runs", "--scheduled")).stdout).toBe("No run is scheduled.\n");
  const run = await cleared(dir, "run", "tell", "--json");
  const { later } = run.json().result as { later: string };
  expect((await cleared(dir, "queue")).stdout).toMatch(/note {2}Overdue: INV-7/);
  const listed = await cleared(dir, "runs", "--scheduled");
  expect(listed.stdout).toMatch(new RegExp(`^${later} +queued +tell .*not before \\d{4}-`));
  expect((await cleared(dir, "runs", "cancel", later)).stdout).toBe(`${later} is canceled.\n`);
  expect((await cleared(dir, "runs", "--scheduled")).stdout).toBe("No run is scheduled.\n");
  const files = (await shell(dir, "git ls-tree -r --name-only HEAD audit")).stdout.trim().split("\n");
  expect(files).toEqual([expect.stringMatching(/^audit\/\d{4}-\d\d\/\d\d-[0-9a-f]{16}\.json$/)]);
  expect(JSON.parse((await shell(dir, `git show HEAD:${files[0]}`)).stdout)).toMatchObject({
    agent: "tell",
    run: run.json().id,
    subject: "INV-7",
    refs: ["INV-7"],
  });
});

test("a signed webhook starts its agent once on the page's port", async () => {
  const dir = await acme("{}");
  const running = await start(dir, "--accept-trust");
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(running.said())?.[0] ?? "";
  const body = `{"order":"${randomUUID()}"}`;
  const headers = { "x-cleared-signature": signBody(body, "a-long-secret", Date.now()) };
  const answers = await Promise.all([1, 2, 3].map(() => fetch(`${url}/hooks/shop`, { method: "POST", body, headers })));
  expect(answers.map((one) => one.status)).toEqual([202, 202, 202]);
  await running.says(/hooked/);
  const runs = (await cleared(dir, "runs", "--agent", "hooked", "--json")).json() as { result: unknown; cause: { kind: string } }[];
  expect(runs).toMatchObject([{ cause: { kind: "webhook" }, result: JSON.parse(body) }]);
  expect(await running.stop()).toBe(0);
});

test("an agent that missed its run is reported by every command until somebody has read it", async () => {
  const dir = await workspace({
    "agents/daily.ts": '/*\nname: Daily\ntrigger: schedule\nschedule: "0 6 * * *"\nuses: [ctx]\n*/\nctx_today();\n',
  });
  const first = await start(dir);
  await until(() => inStore(dir, (db) => db.prepare("SELECT 1 FROM facts WHERE name = 'schedule:daily'").get() !== undefined));
  expect(await first.stop()).toBe(0);
  expect((await cleared(dir, "runs")).stderr).toBe("");
  // The machine slept for a week.
  inStore(dir, (db) =>
    db.exec(
      "UPDATE facts SET value = json_set(value, '$.last', json_extract(value, '$.last') - 604800000, '$.next', json_extract(value, '$.next') - 604800000) WHERE name = 'schedule:daily'",
    ),
  );
  expect((await cleared(dir, "queue")).stderr).toMatch(/^! daily should have run at \d{4}-\d\d-\d\d \d\d:00 UTC and has not/);
  const second = await start(dir);
  await second.says(/daily should have run at .* It runs once now\./);
  await second.says(/completed +daily/);
  const told = await cleared(dir, "runs", "--json");
  expect(told.json()).toMatchObject([{ agent: "daily", status: "done", cause: { kind: "schedule" } }]);
  const card = /^! Card (\d+): daily should have run/.exec(told.stderr)?.[1] ?? "";
  await cleared(dir, "approve", card);
  expect((await cleared(dir, "runs")).stderr).toBe("");
  expect(await second.stop()).toBe(0);
});

function inStore<T>(dir: string, use: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(join(dir, ".cleared/store.db"), { timeout: 10_000 });
  try {
    return use(db);
  } finally {
    db.close();
  }
}
