/** `cleared ask`: one request, exactly one end, whatever the model does; and nothing it says is believed that is not computed. */
import { beforeAll, expect, test } from "vitest";
import { start, until, warmUp } from "../cli/command-line.ts";
import { type Asking, type Script, asking, call, cleared, commit, lastResult, shell, source } from "./asking.ts";

beforeAll(warmUp);

const INGEST = source("agents/ingest.ts");
const rule = (confidence: string, account = 5020) =>
  `  { text: "HETZNER", account: ${account}, vendor: "Hetzner", confidence: ${confidence} },\n`;
const withRule = (confidence: string) => INGEST.replace('  { text: "UBER"', `${rule(confidence)}  { text: "UBER"`);
const HETZNER = { kind: "rule", subject: "HETZNER", to: "5020" };
const NOTHING_ELSE = { kind: "nothing_else", subject: "" };
const submit = (...claims: object[]) =>
  call("submit", { title: "Hetzner is software", reason: "It was asked for.", claims, says: "One rule." });
const write = (text: string, path = "agents/ingest.ts") => call("write", { path, text });

/** How each request ended, as `asks --json` tells it, by its text. */
// biome-ignore lint/suspicious/noExplicitAny: what a command prints is looked at by the test, not typed
async function ends({ dir }: Asking): Promise<Record<string, any>> {
  const all = (await cleared(dir, "asks", "--json")).json() as { text: string; end: object }[];
  return Object.fromEntries(all.map(({ text, end }) => [text, end]));
}

test("a rule is written, checked, tried and proposed, with its claims compared and its steps shown as they happen", async () => {
  const { dir, server, ask } = await asking({
    "Everything from Hetzner is Software": [
      call("read", { path: "agents/ingest.ts" }),
      write(withRule("0.9")),
      call("check", {}),
      call("backtest", { agent: "ingest" }),
      submit({ kind: "agent_changed", subject: "ingest" }, HETZNER, NOTHING_ELSE),
    ],
  });
  const done = await ask("Everything from Hetzner is Software");
  expect(done.stdout).toMatch(
    /reads agents\/ingest\.ts\n {2}writes agents\/ingest\.ts \(\d+ lines\)\n {2}checks ok\n {2}backtest of ingest: 1 of 1 run unchanged/,
  );
  expect(done.stdout).toMatch(/Written by: fake\/hand, for request 1: 2 claims, 2 true; no line changed beside them/);
  expect(done.stdout).toMatch(/The proposer says: “One rule\.”\n {2}Needs: approval by a person/);
  expect(done.code).toBe(0);
  expect((await cleared(dir, "asks")).stdout).toMatch(/1 .*proposal \d+ .*Everything from Hetzner/);
  expect((await cleared(dir, "asks", "show", "1")).stdout).toMatch(/fake\/hand {2}0\.\d+ USD\n {4}read \{"path":"agents\/ingest\.ts"\}/);
  expect(server.asked).toHaveLength(5);
  // Nothing counts before a person says yes.
  expect((await shell(dir, "git show HEAD:agents/ingest.ts")).stdout).not.toContain("HETZNER");
  const number = /proposal (\d+)/.exec(done.stdout)?.[1] ?? "";
  expect((await cleared(dir, "approve", number)).code).toBe(0);
  expect((await shell(dir, "git show HEAD:agents/ingest.ts")).stdout).toContain("HETZNER");
});

test("a false claim and an unclaimed widening are returned as findings, and end the request if they remain", async () => {
  const seen: string[] = [];
  const look = (reply: ReturnType<typeof call>) => (asked: Parameters<typeof lastResult>[0]) => {
    seen.push(lastResult(asked));
    return reply;
  };
  const scripts: Record<string, Script> = {
    lies: [
      write(withRule("0.9")),
      submit({ ...HETZNER, to: "5030" }, NOTHING_ELSE),
      look(submit({ ...HETZNER, to: "5030" }, NOTHING_ELSE)),
    ],
    widens: [
      write(withRule("0.98")),
      submit(HETZNER, NOTHING_ELSE),
      look(submit({ ...HETZNER, to: "0.98" }, { kind: "review", subject: "ingest", to: "HETZNER" }, NOTHING_ELSE)),
    ],
    "does more than it says": [
      write(withRule("0.9").replace('"STAPLES", account: 5030', '"STAPLES", account: 5090')),
      submit(HETZNER, NOTHING_ELSE, { kind: "entries_changed", subject: "ingest", count: 7 }),
      look(call("decline", { reason: "I cannot." })),
    ],
    "tries again": [call("read", { path: "agents/ingest.ts" }), look(call("decline", { reason: "It failed before." }))],
    "drops the review": [
      write(INGEST.replace("      if (open.length > 0) queue_add_many({ items: open });\n", "")),
      submit({ kind: "agent_changed", subject: "ingest" }),
      look(submit({ kind: "agent_changed", subject: "ingest" }, { kind: "review", subject: "ingest", to: "asks" })),
      look(call("decline", { reason: "It takes a review away." })),
    ],
  };
  const one = await asking(scripts);
  for (const text of Object.keys(scripts)) await one.ask(text);
  const all = await ends(one);
  expect(seen).toHaveLength(6);
  expect(seen[0]).toContain("What changes of this kind: HETZNER: nothing -> HETZNER / 5020 / Hetzner");
  expect(all["lies"]).toMatchObject({
    kind: "decline",
    reason: expect.stringContaining("same findings came back twice"),
    files: ["agents/ingest.ts"],
  });
  expect(seen[1]).toMatch(/CLAIM_MISSING: It widens something that no claim names: Daily Ingest: books without review in one more case/);
  expect(all["widens"]).toMatchObject({ kind: "card" });
  expect(seen[2]).toMatch(/entries_changed.*is not true/);
  expect(seen[3]).toMatch(/tried before and failed: .*same findings came back twice/);
  expect(seen[4]).toMatch(/CLAIM_MISSING/);
  expect(all["drops the review"]).toMatchObject({ kind: "decline" });
  // Only what passed became a proposal; what failed is told to whoever tries the same file again.
  expect(
    (await cleared(one.dir, "proposals", "--json")).json().proposals.filter(({ asked }: { asked: unknown }) => asked !== null),
  ).toHaveLength(1);
});

test("whatever a model does, the request ends, in words", async () => {
  const endless: Script = Array.from({ length: 80 }, () => call("search", { query: "x", in: "scripts" }));
  const scripts: Record<string, Script> = {
    silent: [],
    talks: ["I will do it.", "Done!"],
    endless,
    refuses: [{ text: "I cannot help with that.", stop: "content_filter" }],
    "cut off": [
      { text: "const a", stop: "length" },
      { text: "const b", stop: "length" },
    ],
    "does not know the tools": [call("launch", {}), call("write", { file: "agents/x.ts" }), call("decline", { reason: "I give up." })],
    "breaks the file": [
      write("/*\nname: x\n*/\nconst = ;\n", "agents/x.ts"),
      submit(HETZNER),
      call("decline", { reason: "It does not compile." }),
    ],
    "reaches for more": [
      write("people: []\n", "trust.yaml"),
      write("x: 1\n", "cases/ingest/a.yaml"),
      call("read", { path: "trust.yaml" }),
      call("read", { path: ".cleared/secrets.age" }),
      call("read", { path: "../../etc/passwd" }),
      call("ask_user", { question: "What is your API key?" }),
      call("decline", { reason: "None of it is allowed." }),
    ],
    "submits nothing": [submit(HETZNER), call("decline", { reason: "There is nothing to do." })],
    "half a megabyte": [{ text: "x".repeat(500_000) }],
    "five megabytes": [{ text: "x".repeat(5_000_000) }],
    "My key is sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKL": [],
    "other name": [{ text: "x", model: "somebody-else" }],
  };
  const one = await asking(scripts, { runs: false });
  for (const text of Object.keys(scripts)) expect((await one.ask(text)).code, text).toBe(3);
  const all = await ends(one);
  const why = (text: string) => all[text].reason as string;
  expect(why("silent")).toMatch(/stopped without a proposal/);
  expect(why("talks")).toMatch(/stopped without a proposal/);
  expect(why("endless")).toMatch(/no end in 60 turns/);
  expect(why("refuses")).toMatch(/refuses this request/);
  expect(why("cut off")).toMatch(/stopped without a proposal/);
  expect(why("half a megabyte")).toMatch(/answered with more than 400000 characters/);
  expect(why("five megabytes")).toMatch(/more than \d+ bytes|too large|longer than/i);
  expect(JSON.stringify([all, one.server.asked.map(({ wire }) => wire)])).not.toContain("abcdefghijklmnop");
  expect(why("other name")).toMatch(/answers as "somebody-else"/);
  const shown = (await cleared(one.dir, "asks", "show", "8")).stdout;
  expect(shown.match(/: refused/g)).toHaveLength(6);
  expect(shown).toContain("asks for a secret: refused");
  expect((await shell(one.dir, "git status --short; ls agents/x.ts trust.yaml 2>&1")).stdout).not.toMatch(/ M trust|^agents\/x/m);
});

test("a model with a small context gets one line per callable, and finds the types by searching", async () => {
  const one = await asking(
    {
      "Who is the owner?": [call("search", { query: "journal_query", in: "primitives" }), call("decline", { reason: "No script knows." })],
    },
    { runs: false },
  );
  const config = (await shell(one.dir, "git show HEAD:config.yaml")).stdout.replace("context: 400000, max_output: 32000", "context: 24000");
  await commit(one.dir, { "config.yaml": config });
  expect((await one.ask("Who is the owner?")).stdout).toContain("No script knows.");
  const [first, second] = one.server.asked;
  expect(first?.body.messages[0].content).toMatch(/- journal_query\(\{ .*\}\): Entries of the books/);
  expect(first?.body.messages[0].content).not.toContain("declare function");
  expect(lastResult(second as never)).toContain("declare function journal_query");
});

test("with Anthropic's protocol a conversation keeps the model's thoughts, and its key is in no message", async () => {
  const one = await asking(
    {
      "Hetzner is software": [
        { thought: "sig-1", call: { name: "write", input: { path: "agents/ingest.ts", text: withRule("0.9") } } },
        submit(HETZNER, NOTHING_ELSE),
      ],
    },
    { runs: false },
  );
  const trust = (await shell(one.dir, "git show HEAD:trust.yaml")).stdout;
  await commit(one.dir, {
    "trust.yaml": trust.replace(`openai, url: "${one.server.url}/v1"`, `anthropic, url: "${one.server.url}", key: "secret:fake"`),
  });
  await shell(one.dir, "printf 'key-0123456789' | cleared secrets set fake");
  expect((await one.ask("Hetzner is software")).stdout).toMatch(/for request 1: 1 claim, 1 true/);
  const [first, second] = one.server.asked;
  expect(JSON.stringify(first?.headers)).toContain("key-0123456789");
  expect(first?.body.system[0].cache_control).toEqual({ type: "ephemeral" });
  expect(second?.body.messages[1].content[0]).toMatchObject({ type: "thinking", signature: "sig-1" });
  expect(JSON.stringify(one.server.asked.map(({ body }) => body))).not.toContain("key-0123456789");
});

test("a question is an end that continues with its answer", async () => {
  const one = await asking(
    {
      "Amazon is equipment": [
        call("ask_user", { question: "Which account is equipment?", options: ["Office Supplies", "Software"] }),
        (asked) => call("decline", { reason: `You said ${JSON.parse(lastResult(asked)).the_user_says}.` }),
      ],
    },
    { runs: false },
  );
  const asked = await one.ask("Amazon is equipment");
  expect(asked.stdout).toMatch(
    /Which account is equipment\?\n {2}1 {2}Office Supplies\n {2}2 {2}Software\n {2}answer: cleared ask --continue 1 "ANSWER"/,
  );
  expect(asked.code).toBe(0);
  expect((await one.ask("--continue")).stderr).toMatch(/Request 1 waits for an answer/);
  expect((await one.ask("--continue", "1", "Software")).stdout).toContain("You said Software.");
  expect((await one.ask("--continue", "1", "again")).stderr).toMatch(/Request 1 has ended/);
});

test("without a model nothing else changes, and the request names the missing setting in one sentence", async () => {
  const one = await asking({}, { runs: false });
  const config = (await shell(one.dir, "git show HEAD:config.yaml")).stdout.replace(/^models:.*$/m, "");
  await shell(one.dir, `cat > config.yaml <<'X'\n${config}X\ngit commit -qam 'config: no model'`);
  const { stderr, code } = await one.ask("Everything from Hetzner is Software");
  expect(stderr).toMatch(/^LLM_UNCONFIGURED\nNo model plays the role large: write models: \{large: fake\/MODEL\} in config\.yaml\.$/m);
  expect(code).toBe(2);
  expect((await cleared(one.dir, "asks")).stdout).toContain("No requests yet.");
});

const REMINDER = `/*
name: Review Reminder
description: Mondays, tell what waits for a review
trigger: schedule
schedule: 0 8 * * 1
uses: [journal, notify]
*/
const open = journal_query({ status: "pending-review" });
if (open.length > 0) notify_send({ to: "owner", subject: \`\${open.length} entries wait for a review\`, text: "Look at the queue." });
({ waiting: open.length });
`;

test("a new agent is proposed once each of its rights is claimed; the next request is told what people rejected", async () => {
  const seen: string[] = [];
  const added = [
    { kind: "agent_added", subject: "review_reminder" },
    { kind: "schedule", subject: "review_reminder", to: "0 8 * * 1" },
    { kind: "recipient", subject: "review_reminder", to: "owner" },
    NOTHING_ELSE,
  ];
  const right = (to: string) => ({ kind: "capability", subject: "review_reminder", to });
  const look = (reply: ReturnType<typeof call>) => (asked: Parameters<typeof lastResult>[0]) => {
    seen.push(lastResult(asked));
    return reply;
  };
  const agent = write(REMINDER, "agents/review_reminder.ts");
  const one = await asking(
    {
      "Every Monday at 8, tell me what waits": [
        agent,
        submit(...added, right("journal")),
        look(submit(...added, right("journal"), right("notify"))),
      ],
      "The same on Tuesdays": [agent, look(call("decline", { reason: "You said no to it." }))],
      "Mend the payment": [
        call("read", { path: "scripts/pay.ts" }),
        (asked) => write(JSON.parse(lastResult(asked)).text as string, "scripts/pay.ts"),
        look(call("decline", { reason: "I may not see the account." })),
      ],
    },
    { runs: false, files: { "scripts/pay.ts": '({ iban: "DE02120300000000202051" });\n' } },
  );
  const proposed = await one.ask("Every Monday at 8, tell me what waits");
  expect(seen[0]).toMatch(/CLAIM_MISSING: .*may use journal, notify/);
  expect(proposed.stdout).toMatch(/Review Reminder: starts automatically on a schedule: 0 8 \* \* 1/);
  const number = /proposal (\d+)/.exec(proposed.stdout)?.[1] ?? "";
  expect((await cleared(one.dir, "reject", number, "--reason", "Mondays are too early.")).code).toBe(0);
  await one.ask("The same on Tuesdays");
  expect(seen[1]).toMatch(/rejected: .*Mondays are too early\./);
  // What this server may not be sent is not lost by writing the file back.
  await one.ask("Mend the payment");
  expect(seen[2]).toMatch(/holds data that you are not shown \(\[IBAN:2051\]\)/);
  expect(JSON.stringify(one.server.asked)).not.toContain("DE02120300000000202051");
});

test("a served workspace works on requests of its commands, and Ctrl-C in the command stops them there", async () => {
  const rule = [write(withRule("0.9")), submit(HETZNER, NOTHING_ELSE)];
  const one = await asking({ Hetzner: rule, held: [write(withRule("0.9")), { by: () => undefined }] }, { runs: false });
  const served = await start(one.dir, "--no-open");
  const done = await one.ask("Hetzner");
  expect(done.stdout).toMatch(/writes agents\/ingest\.ts \(\d+ lines\)\n {2}proposal 1: /);
  const over = shell(one.dir, "cleared ask held 2>&1 & echo $! >.cleared/pid; wait $!", true);
  await until(() => one.server.asked.length === 4);
  process.kill(Number((await shell(one.dir, "cat .cleared/pid")).stdout), "SIGINT");
  expect((await over).stdout).toMatch(/It was stopped\./);
  // Whoever stops the workspace stops what is worked on; it may go on later.
  const left = one.ask("held");
  await until(() => one.server.asked.length === 6);
  expect(await served.stop()).toBe(0);
  await left;
  expect((await cleared(one.dir, "asks", "--json")).json()[0]).toMatchObject({ id: 3, end: { reason: "It was stopped.", open: true } });
});
