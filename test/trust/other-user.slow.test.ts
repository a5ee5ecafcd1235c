/**
 * Another account of the same machine: it reaches 127.0.0.1, and may have got hold of a browser's cookie and of the page's token. It sees
 * nothing and decides nothing; whoever runs the workspace decides after one click on the link that `start` printed.
 */
import { spawn } from "node:child_process";
import { afterEach, beforeEach, expect, test } from "vitest";
import { cleared, commit, shell, start, workspace, type Started } from "../cli/command-line.ts";

const ASK = `/*
name: Ask
uses: [approval]
*/
approval_wait({ title: "Pay?", calls: [{ tool: "bank_pay", params: { to: "ACME", amount: "120.00" } }] }).decision;
`;
const NOBODY = 65534;
const isRoot = process.getuid?.() === 0;

let dir: string;
let started: Started;
let url: string;

beforeEach(async () => {
  dir = await workspace({ "agents/ask.ts": ASK });
  started = await start(dir);
  url = /http:\/\/127\.0\.0\.1:\d+/.exec(started.said())?.[0] ?? "";
  await cleared(dir, "run", "ask");
});
afterEach(() => started.stop());

const value = (text: string, name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(text)?.[1] ?? "";
const tokenNow = async () => value(await (await fetch(`${url}/pair`)).text(), "token");
const decisionNow = async () => (await cleared(dir, "queue", "--all", "--json")).json()[0].decision;

async function pair(): Promise<string> {
  const link = /http:\S+\/pair\?code=[0-9a-f]+/.exec(started.said())?.[0] ?? "";
  const page = await (await fetch(link)).text();
  const body = new URLSearchParams({ token: value(page, "token"), code: value(page, "code") });
  const answer = await fetch(`${url}/pair`, { method: "POST", redirect: "manual", body, headers: { origin: url } });
  return /cleared=([\w-]+)/.exec(answer.headers.get("set-cookie") ?? "")?.[1] ?? "";
}

const decide = (token: string) => new URLSearchParams({ token, decision: "approved" }).toString();

/** What another user's program gets; `hasty`: it closes its end as soon as it has sent. */
function asNobody(path: string, { method = "GET", body = "", cookie = "", hasty = false, more = [] as string[] }): Promise<string> {
  const request = [
    `${method} ${path} HTTP/1.1`,
    `host: ${new URL(url).host}`,
    ...(more.length > 0 ? more : [`origin: ${url}`, "content-type: application/x-www-form-urlencoded"]),
    ...(cookie === "" ? [] : [`cookie: cleared=${cookie}`]),
    `content-length: ${body.length}`,
    "connection: close",
    "",
    body,
  ].join("\r\n");
  const program = `
    const { connect } = require("node:net");
    process.setgid(${NOBODY}); process.setuid(${NOBODY});
    let text = "";
    const socket = connect(${new URL(url).port}, "127.0.0.1", () => ${hasty ? "{ socket.end(process.argv[1]); socket.destroySoon(); }" : "socket.write(process.argv[1])"});
    socket.on("data", (chunk) => (text += chunk)).on("close", () => process.stdout.write(text)).on("error", () => undefined);`;
  return new Promise((done) => {
    const child = spawn(process.execPath, ["-e", program, request], { stdio: ["ignore", "pipe", "ignore"] });
    let text = "";
    child.stdout.on("data", (chunk) => (text += chunk)).on("end", () => done(text));
  });
}

test.skipIf(!isRoot)("another user sees nothing and approves nothing, even with the owner's cookie and token", async () => {
  expect(await asNobody("/", {})).toMatch(/^HTTP\/1\.1 403 [\s\S]*another user/);
  const token = await tokenNow();
  const cookie = await pair();
  expect(cookie).toMatch(/^[\w-]{43}$/);
  for (const more of [{}, { cookie }, { cookie, hasty: true }]) {
    const said = await asNobody("/cards/1", { method: "POST", body: decide(token), ...more });
    if (!("hasty" in more)) expect(said).toMatch(/^HTTP\/1\.1 403 /);
  }
  const link = new URL(/http:\S+\/pair\?code=\S+/.exec((await cleared(dir, "pair")).stdout)?.[0] ?? `${url}/pair?code=0`);
  expect(
    await asNobody("/pair", {
      method: "POST",
      body: new URLSearchParams({ token, code: link.searchParams.get("code") ?? "" }).toString(),
    }),
  ).toMatch(/^HTTP\/1\.1 403 /);
  await new Promise((later) => setTimeout(later, 1000));
  expect(await decisionNow()).toBeNull();
  // Programs that are not pages sign what they send: that door is theirs.
  expect(await asNobody("/hooks/none", { method: "POST", body: "{}" })).toMatch(/^HTTP\/1\.1 40[14] /);
});

test.skipIf(!isRoot)(
  "a program that cannot be identified as this user's sees how to pair a browser, and with its cookie the books",
  async () => {
    const cookie = await pair();
    // As from within a container or a browser's own jail.
    const get = async (path: string, ...more: string[]) =>
      (await shell(dir, `unshare --pid --fork curl -si ${more.join(" ")} ${url}${path}`)).stdout;
    for (const path of ["/", "/proposals", "/runs/x", "/nowhere"]) {
      const said = await get(path);
      expect(said).toMatch(/^HTTP\/1\.1 403 [\s\S]*cleared pair<\/code> and enter its code/);
      expect(said).not.toMatch(/Pay\?|Acme|There is no/);
    }
    expect(await get("/style.css")).toMatch(/^HTTP\/1\.1 200 /);
    const form = `-H 'origin: ${url}' -d token=${await tokenNow()}`;
    expect(await get("/cards/1", form, "-d decision=approved")).toMatch(/^HTTP\/1\.1 403 /);
    expect(await get("/entries/x/correct", form)).toMatch(/^HTTP\/1\.1 403 /);
    expect(await decisionNow()).toBeNull();
    expect(await get("/", `-H 'cookie: cleared=${cookie}'`)).toMatch(/^HTTP\/1\.1 200 [\s\S]*Pay\?/);
  },
);

const rpc = (method: string, params: object) => JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
const message = { messageId: "m", role: "user", parts: [{ kind: "text", text: "ask" }], metadata: { skill: "ask" } };
const DOORS = [
  ["/", "POST", rpc("message/send", { message })],
  ["/", "POST", rpc("tasks/list", {})],
  ["/message:send", "POST", JSON.stringify({ message })],
  ["/message:stream", "POST", JSON.stringify({ message })],
  ["/tasks", "GET", ""],
  ["/mcp", "POST", rpc("tools/call", { name: "ask", arguments: {} })],
  ["/mcp", "POST", rpc("tools/list", {})],
  ["/mcp", "POST", rpc("resources/read", { uri: "cleared://queue" })],
] as const;

test.skipIf(!isRoot)(
  "another user starts and reads nothing over A2A and MCP without a token, even if it closes its end at once",
  async () => {
    await commit(dir, { "agents/ask.ts": ASK.replace("uses:", "trigger: a2a\nuses:") });
    const runs = async () => (await cleared(dir, "runs", "--json")).json().length;
    const before = await runs();
    for (const hasty of [false, true])
      for (const [path, method, body] of DOORS) {
        const more = ["content-type: application/json", "accept: application/json, text/event-stream", "a2a-version: 1.0"];
        const answer = await asNobody(path, { method, body, hasty, more });
        if (!hasty) expect([path, body, answer]).toEqual([path, body, expect.stringMatching(/^HTTP\/1\.1 40[13] (?![\s\S]*Pay\?)/)]);
      }
    await new Promise((later) => setTimeout(later, 1000));
    expect(await runs()).toBe(before);
    // The same from a program of this user starts a run.
    await fetch(`${url}/`, { method: "POST", body: DOORS[0][2] });
    expect(await runs()).toBe(before + 1);
  },
);

test("nothing written here can be changed by another user, even if the shell's umask allows it", async () => {
  const made = await shell(dir, "umask 000 && cleared init ../open --person Ada && find ../open -perm -o+w ! -type l");
  expect(made).toMatchObject({ code: 0, stdout: expect.not.stringMatching(/^\.\.\/open/m) });
});

test("the link printed by start pairs one browser, once, which can then decide", async () => {
  const cookie = await pair();
  expect(await pair()).toBe("");
  const answer = await fetch(`${url}/cards/1`, {
    method: "POST",
    redirect: "manual",
    body: decide(await tokenNow()),
    headers: { origin: url, "content-type": "application/x-www-form-urlencoded", cookie: `cleared=${cookie}` },
  });
  expect(answer.status).toBe(303);
  expect(await decisionNow()).toMatchObject({ decision: "approved", by: "Ada", session: { key: expect.any(String) } });
});
