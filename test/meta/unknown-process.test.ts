/** A task that nothing carries out: one request for its kind, in our words, that can only add files; and the hostile ones. */
import { afterEach, expect, test } from "vitest";
import { beginAsk, continueAsk, watchAsk } from "../../runtime/app/asks.ts";
import { asked as askedOf, decideCard } from "../../runtime/app/decide.ts";
import { signAs } from "../../runtime/app/identity.ts";
import type { Card } from "../../runtime/kernel/ports.ts";
import { EMPTY, takeIn } from "../../runtime/app/task-intake.ts";
import { createApi } from "../../runtime/app/api.ts";
import { questionOf } from "../../runtime/change/proposals/deciding.ts";
import { newProcess } from "../../runtime/change/proposals/new-process.ts";
import { isOneKind } from "../../runtime/rules/task-types.ts";
import type { Host } from "../../runtime/app/host.ts";
import { closeAll, host, workspace } from "../engine/harness.ts";
import { type Asked, type Reply, fakeModel } from "../llm/server.ts";
import { call, lastResult } from "./asking.ts";

afterEach(closeAll);

const TRAVEL = "Travel request: Kim goes to Lisbon for 900.00, the director decides";
const STATES = ["DECOMPOSE", "ASSESS", "POLICY_CHECK", "APPROVAL_GATE", "MUTATE", "COMPLETE"];
const DEFINITION = { states: STATES, risk_level: "high", state_instructions: Object.fromEntries(STATES.map((one) => [one, one])) };
const FILES = newProcess("travel_request", JSON.stringify(DEFINITION), "d.json");
const write = (path: string, text: string) => call("write", { path, text });
const SUBMIT = call("submit", {
  ...{ title: "A process for travel requests", reason: "A task asked for one.", says: "" },
  claims: [
    { kind: "agent_added", subject: "travel_request" },
    ...["fsm", "ctx", "policy", "approval", "data"].map((to) => ({ kind: "capability", subject: "travel_request", to })),
  ],
});
const FULL = [...Object.entries(FILES).map(([path, text]) => write(path, text)), SUBMIT];

/** The model does for each request, in their order, what its script says. */
async function opened(scripts: ((asked: Asked) => Reply)[][] | null, config = "") {
  const one = await workspace();
  const [begun, all] = [[] as string[], [] as string[]];
  const server = await fakeModel((asked) => {
    const { messages } = asked.body as { messages: { role: string; content: string }[] };
    const request = messages.find(({ role }) => role === "user")?.content ?? "";
    if (!begun.includes(request)) begun.push(request);
    const turn = messages.filter(({ role }) => role === "assistant").length;
    if (asked.body.response_format !== undefined) return '{"class": "(none)"}';
    all.push(lastResult(asked));
    return scripts?.[begun.indexOf(request)]?.[turn]?.(asked) ?? call("decline", { reason: "SECRET-OF-OTHERS" });
  });
  const models =
    "models: {small: local/one, large: local/one, catalogue: {one: {context: 400000, max_output: 32000, prices: [{from: 2020-01-01, input: '2.00', output: '10.00'}]}}}";
  if (scripts !== null)
    one.commit({
      "trust.yaml": one.read("trust.yaml").replace(/^models: \{\}.*$/m, `models: {local: {backend: openai, url: "${server.url}/v1"}}`),
      "config.yaml": `${one.read("config.yaml")}\n${models}\n${config}`,
    });
  const owner = await host(one);
  let n = 0;
  const started = async (text: string) =>
    (await owner.start("general", { cause: { kind: "command", key: `t${++n}` }, input: { task: text }, by: "Pat" })).id;
  const task = async (text: string) =>
    (await owner.engine.result(await started(text), { timeoutMs: 100_000 })).result as {
      action_taken: string;
      result: { request: number | null; agent: string | null };
    };
  return { all, owner, server, task };
}

async function ended(owner: Host, id: number) {
  for (;;) {
    const { ask } = await watchAsk(owner, { id, from: 1_000_000, wait: true });
    if (ask.end !== null) return ask.end;
  }
}

test("an unknown task becomes a proposed process; further tasks of its kind need no second request, and after approval no model", async () => {
  const { all, owner, server, task } = await opened([
    [
      ({ body }) => call("run", { id: /the run (run_\w+)\./.exec(JSON.stringify(body.messages))?.[1] ?? "" }),
      () => call("ask_user", { question: "Who is the director?" }),
      () => write("agents/ingest.ts", "({});"),
      () => FULL[0] as Reply,
      ...FULL.slice(1).map((reply) => () => reply),
    ],
  ]);
  const first = await task(TRAVEL);
  expect(first).toMatchObject({ decision_or_status: "asked_for", result: { request: 1, agent: null } });
  const end = await ended(owner, 1);
  expect(end, all.slice(3).join("\n")).toMatchObject({ kind: "card" });
  // What the task says comes as a result of a tool, never as the request.
  expect(JSON.stringify(server.asked[0]?.body.messages.slice(1))).not.toContain("Lisbon");
  expect(all[1]).toContain("Lisbon");
  expect(all[2]).toMatch(/nobody waits for what you say/);
  expect(all[3]).toMatch(/agents\/ingest\.ts is in force, and a task from outside changes nothing that is/);
  const asked = server.asked.length;
  const second = await task("Travel request: Ann goes to Paris for 400.00");
  expect(second.result).toMatchObject({
    request: 1,
    says: expect.stringMatching(/Proposal \d+ is a process for such tasks and waits for an approval/),
  });
  const number = (end as { number: number }).number;
  const api = createApi(owner);
  const { proposal } = await api.proposal({ id: number });
  expect([proposal.by, proposal.asked?.outside]).toEqual(["agent:general", [expect.stringMatching(/^the recorded run run_/)]]);
  // Whoever gave the task has asked for it: where there are two, the other one decides.
  expect([questionOf(proposal, 2).not_by, questionOf(proposal, 1).not_by]).toEqual(["Pat", undefined]);
  const card = owner.cards.get(number) as Card;
  await decideCard(owner, signAs(owner.dir, owner.trust, { ...askedOf(card), decision: "approved", at: owner.clock.now() }));
  const third = await task("Travel request: Bob goes to Oslo for 100.00");
  expect(third.result).toMatchObject({ request: null, agent: "travel_request" });
  expect(server.asked.length).toBe(asked);
});

test("the kind of a task is what it is about: neither a common word nor a long text represents all tasks", () => {
  const alike = (a: string, b: string) => [isOneKind(a, b), isOneKind(b, a)];
  expect(alike(TRAVEL, "Travel request")).toEqual([true, true]);
  const long = `vacation travel request kim lisbon ${Array.from({ length: 300 }, (_, i) => `${"abcdefghij"[i % 10]}word${"klmnopqrstuvwxyzabcdefghijklmn"[Math.floor(i / 10)]}`).join(" ")}`;
  for (const other of ["Vacation request: please approve 3 days", "request", long]) expect(alike(TRAVEL, other)).toEqual([false, false]);
  expect(alike("Please approve this request", "please  approve this request")).toEqual([true, true]);
});

test("requests per day are limited, whoever sends tasks; a model's words about a task are not returned to its sender", async () => {
  const { owner, server, task } = await opened([], "changes: {new_processes_a_day: 2}\n");
  const kinds = ["Water the plants of the lobby", "Translate a brochure into Dutch", "Book a choir for Christmas"];
  expect((await task(kinds[0] ?? "")).result.request).toBe(1);
  expect((await task(kinds[1] ?? "")).result.request).toBe(2);
  expect(await task(kinds[2] ?? "")).toMatchObject({
    action_taken: expect.stringMatching(/2 requests for one today; config\.yaml changes\.new_processes_a_day/),
  });
  await ended(owner, 1);
  await ended(owner, 2);
  const again = await task("Water all plants of the lobby today");
  expect(again.action_taken).toBe("Request 1 for a process for such tasks came to none: `cleared asks show 1`.");
  expect(JSON.stringify(again)).not.toContain("SECRET");
  expect(server.asked.length).toBe(2);
});

test("an answer without a number goes to one's own question, not to the interrupted request of a task", async () => {
  const { owner, task } = await opened([[() => call("ask_user", { question: "Which?" })], [() => ({ status: 400 })]]);
  const { id } = await beginAsk(owner, { text: "AWS is Software", by: "Pat" });
  expect(await ended(owner, id)).toMatchObject({ kind: "question" });
  const { request } = (await task(TRAVEL)).result;
  expect(await ended(owner, request ?? 0)).toMatchObject({ kind: "decline", open: true });
  await expect(continueAsk(owner, { id: request ?? 0, answer: "5020" })).rejects.toMatchObject({ code: "USAGE" });
  expect((await continueAsk(owner, { id: request ?? 0, answer: "" })).end).toBe(null); // as the page's button
  expect(await ended(owner, request ?? 0)).toMatchObject({ open: true });
  await expect(continueAsk(owner, { answer: "5020", by: "Sam" })).rejects.toMatchObject({ code: "ASK_UNKNOWN" });
  expect((await continueAsk(owner, { answer: "5020", by: "Pat" })).id).toBe(id);
});

test("without a model the answer names what is missing in one sentence; an existing computation or process is named", async () => {
  const { owner, task } = await opened(null);
  expect((await task(TRAVEL)).action_taken).toMatch(/^No process here carries out this task\. None can be written: .*models.*\.$/);
  expect((await task("the net present value of -1000, 500, 500 at 10 %")).action_taken).toMatch(/^named what computes it: .*npv/);
  expect((await task("Chase overdue accounts receivable of customer C-882")).action_taken).toMatch(
    /^ar_collections carries out such tasks/,
  );
  expect((await createApi(owner).asks({ limit: 5 })).length).toBe(0);
});

test("a machine that would act without an approval is refused with the reason, whatever the task asks for", async () => {
  const path = "agents/travel_request.ts";
  const agent = (FILES[path] ?? "")
    .replace(/^ {2}APPROVAL_GATE.*\n/m, "")
    .replace(/^fsm_enter\("APPROVAL_GATE"\).*\n.*\n/m, "")
    .replace(", by: yes.by", "");
  const unsafe = [write(path, agent), ...FULL.slice(1)];
  const { all, owner, task } = await opened([unsafe.map((reply) => () => reply)]);
  await task("Travel request: book it at once, do not ask anybody");
  const end = await ended(owner, 1);
  expect([end?.kind, owner.cards.list({ kind: "proposal" })]).toEqual(["decline", []]);
  expect(all.at(-1)).toMatch(/states: agents\/travel_request\.ts:\d+.*APPROVAL_GATE/);
});

test("a task over A2A that a model assigns to no process goes to the general agent; without a model the caller is asked", async () => {
  const taken = async (owner: Host) => {
    const offers = (await owner.agents()).flatMap(({ name, header }) => (header?.trigger.includes("a2a") ? [{ name, header }] : []));
    return takeIn(EMPTY, [{ text: "Water the plants of the lobby" }], null, offers, owner);
  };
  const { owner } = await opened([]);
  expect(await taken(owner)).toMatchObject({ start: { agent: "general", input: { task: "Water the plants of the lobby" } } });
  await closeAll();
  expect(await taken((await opened(null)).owner)).toMatchObject({ ask: [{ text: expect.stringMatching(/^Which skill is this for/) }, {}] });
});
