/** The status page on the wire: what a form does, what is refused, and what every answer carries. */
import { request as httpRequest } from "node:http";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Listening, listen } from "../../runtime/outside/http.ts";
import { createStatusApp } from "../../runtime/web/app.ts";
import { amount, duration, plain, facts as recorded } from "../../runtime/web/html.ts";
import type { Proposal } from "../../runtime/change/proposal-types.ts";
import { createFacts, NOW } from "./busy-day.ts";

let facts: ReturnType<typeof createFacts>;
let site: Listening;

beforeEach(async () => {
  facts = createFacts();
  site = await listen(createStatusApp(facts, { now: () => NOW }), 0);
});
afterEach(() => site.close());

const token = async (): Promise<string> => /name="token" value="([^"]+)"/.exec(await (await fetch(site.url)).text())?.[1] ?? "";

function post(path: string, fields: Record<string, string>, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${site.url}${path}`, {
    method: "POST",
    redirect: "manual",
    body: new URLSearchParams(fields),
    headers: { origin: site.url, ...headers },
  });
}

test("a form of the page decides once, and the page says so", async () => {
  const fields = { token: await token(), decision: "approved", reason: "  agreed on the phone " };
  const answer = await post("/cards/7", fields);
  expect([answer.status, answer.headers.get("location")]).toEqual([303, "/?decided=7#cards"]);
  expect(facts.answers).toEqual([[7, { decision: "approved", reason: "agreed on the phone" }]]);
  expect(await (await fetch(`${site.url}/?decided=7`)).text()).toMatch(/approved by Ada, .* \(“agreed on the phone”\)/);
  const again = await post("/cards/7", fields);
  expect([again.status, facts.answers.length]).toEqual([400, 1]);
});

test("the header counts this person's and all open cards; records are a table, and the card says what an answer does", async () => {
  facts.othersOf = async () => new Set([7]);
  const ended = { ...(await facts.proposals())[0], state: "rejected" } as Proposal;
  facts.proposals = async () => [ended];
  const page = await (await fetch(site.url)).text();
  expect(page).toMatch(
    /6 questions wait for you, 1 for someone else\. [\s\S]*<a href="\/proposals">Proposals<\/a>\. <a href="\/asks">Requests<\/a>\. Updated/,
  );
  expect(page).not.toContain('action="/cards/7"');
  expect(page).toMatch(/id="card-9"[\s\S]*<dt>Leave it out<\/dt><dd><bdi>it stays out of the books/);
  expect(
    String(
      await recorded([
        { employee: "E-1", net: "10.00" },
        { employee: "E-2", net: "7.00" },
      ]),
    ),
  ).toMatch(/<th scope="col">net<\/th>[\s\S]*<bdi>7\.00<\/bdi>/);
});

test("the chosen account is sent with an approval and dropped with a rejection", async () => {
  await post("/cards/8", { token: await token(), decision: "approved", account: "5030", reason: "" });
  await post("/cards/9", { token: await token(), decision: "rejected", account: "5030" });
  expect(facts.answers).toEqual([
    [8, { decision: "approved", account: "5030" }],
    [9, { decision: "rejected" }],
  ]);
});

test.each([
  ["no token", async () => post("/cards/7", { decision: "approved" }), 403],
  ["another process's token", async () => post("/cards/7", { decision: "approved", token: "x".repeat(43) }), 403],
  ["another origin", async () => post("/cards/7", { decision: "approved", token: await token() }, { origin: "http://evil.example" }), 403],
  ["an opaque origin", async () => post("/cards/7", { decision: "approved", token: await token() }, { origin: "null" }), 403],
  ["JSON instead of a form", async () => post("/cards/7", {}, { "content-type": "application/json" }), 403],
  ["an unknown decision", async () => post("/cards/7", { decision: "maybe", token: await token() }), 400],
  ["an unknown card", async () => post("/cards/99", { decision: "approved", token: await token() }), 400],
  ["a card that is no number", async () => post("/cards/7e0", { decision: "approved", token: await token() }), 400],
  ["a body without end", async () => post("/cards/7", { decision: "approved", reason: "x".repeat(100_000), token: await token() }), 413],
  ["a GET that would act", async () => fetch(`${site.url}/cards/7?decision=approved&token=${await token()}`), 404],
  ["another method", async () => fetch(site.url, { method: "DELETE" }), 405],
])("%s decides nothing", async (_name, send, status) => {
  expect((await send()).status).toBe(status);
  expect(facts.answers).toEqual([]);
});

test("a host name that leads to 127.0.0.1 is refused, so that no other page can read the books by rebinding", async () => {
  const statusFor = (host: string): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      httpRequest({ host: "127.0.0.1", port: site.port, headers: { host } }, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on("error", reject)
        .end();
    });
  const hosts = [
    "localhost",
    `localhost:${site.port}`,
    "127.0.0.1:1",
    "[::1]:80",
    "evil.example",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "evil@localhost",
  ];
  expect(await Promise.all(hosts.map(statusFor))).toEqual([200, 200, 200, 200, 403, 403, 403, 400]);
});

test("a run is named by its summary, else its input, else its cause", async () => {
  const page = await (await fetch(site.url)).text();
  expect(page).toContain('<span class="name">invoice</span> <bdi class="summary">INV-7 approved by Ann: 120.00 &lt;script&gt;');
  expect(page).toContain('<span class="name">ingest</span> <bdi class="summary">import/chase-2026-10.csv</bdi>');
});

test("every answer has the strict headers, and text from outside is escaped", async () => {
  for (const path of ["/", "/runs/run_02fail", "/proposals", "/proposals/11", "/proposals/12", "/nowhere", "/style.css"]) {
    const answer = await fetch(`${site.url}${path}`);
    expect(answer.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
    const text = await answer.text();
    expect(text).not.toContain("<script");
    expect(text).not.toContain("\u202e");
  }
});

test("the message of an internal error is not shown", async () => {
  facts.balances = async () => {
    throw new Error("secret path /home/ada");
  };
  const answer = await fetch(site.url);
  expect([answer.status, (await answer.text()).includes("secret")]).toEqual([500, false]);
});

test("a long history is paginated", async () => {
  const first = await (await fetch(`${site.url}/runs/run_04done`)).text();
  expect(first).toContain('href="/runs/run_04done?from=200"');
  const second = await (await fetch(`${site.url}/runs/run_04done?from=200`)).text();
  expect([second.includes('value="200"'), second.includes('value="199"'), second.includes('value="259"')]).toEqual([true, false, true]);
  expect((await fetch(`${site.url}/runs/run_none`)).status).toBe(404);
});

test("a port in use is reported with the remedy", async () => {
  await expect(listen(createStatusApp(facts, { now: () => NOW }), site.port)).rejects.toMatchObject({
    code: "PORT_BUSY",
    message: `Port ${site.port} is in use by another program.`,
  });
});

test("amounts are formatted as text, to the last digit", () => {
  expect(amount("-1234567890123456789.5", "USD")).toBe("\u22121,234,567,890,123,456,789.50");
  expect([amount("1200", "JPY"), amount("3", "USD"), amount("1.005", "USD"), amount("2", "AAPL.X"), amount("1e3", "USD")]).toEqual([
    "1,200",
    "3.00",
    "1.005",
    "2",
    "1e3",
  ]);
});

test("durations are in one unit and hidden characters are shown", () => {
  expect([12.4, 2_400, 180_000, 7_300_000].map(duration)).toEqual(["12 ms", "2.4 s", "3 min", "2 h"]);
  expect(plain("a\u0000b\u202ec\nd")).toBe("a\\u0000b\\u202ec\nd");
  expect(plain("\u0410CME, Москва")).toBe("\\u0410CME, Москва");
});
