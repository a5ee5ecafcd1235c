/** Large bodies: every answer is JSON, and what would hold others up starts nothing. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { cleared } from "../cli/command-line.ts";
import { type Any, rpc, said, type Served, serve, skill } from "./client.ts";

let site: Served;
beforeAll(async () => {
  site = await serve();
});
afterAll(() => site.started.stop());

const counted = async () => ((await cleared(site.dir, "runs", "list", "--json")).json() as unknown[]).length;
const raw = async (body: string): Promise<Any> => {
  const answer = await fetch(`${site.url}/`, { method: "POST", body });
  return { http: answer.status, ...((await answer.json()) as object) };
};
const call = (method: string, params: unknown) => JSON.stringify({ jsonrpc: "2.0", id: 7, method, params });

test("a body of 15 MB is accepted, one over 16 MB is refused in JSON", async () => {
  const large = (size: number) =>
    call("message/send", {
      message: said("x".repeat(size), { parts: [{ text: "x" }, { data: { unread: "y".repeat(size) } }], ...skill("echo") }),
    });
  expect(await raw(large(14_500_000))).toMatchObject({ http: 200, result: { status: { state: "input-required" } } });
  expect(await raw(large(17_000_000))).toMatchObject({ http: 413, error: { code: -32602 } });
});

test("a message too large to read at once starts nothing and says so; sent twice it is one task", async () => {
  const before = await counted();
  const words = "Please look at the invoice INV-2024-447 for $52,340.00 of Acme Corp. ";
  const sent = [[{ text: words.repeat(200_000) }], [{ text: "x" }, { data: { rows: Array(6000).fill(1) } }]].map((parts) =>
    said("x", { parts, ...skill("echo") }),
  );
  for (const message of sent) {
    const { result } = await rpc(site, "message/send", { message });
    expect(result.status).toMatchObject({
      state: "input-required",
      message: { parts: [{ text: expect.stringContaining("nothing was started") }, {}] },
    });
    expect(JSON.stringify(result).length).toBeLessThan(6000);
    expect((await rpc(site, "message/send", { message })).result.id).toBe(result.id);
    const shorter = (await rpc(site, "message/send", { message: said("good day", { taskId: result.id, ...skill("echo") }) })).result;
    expect(shorter.artifacts[0].parts[0].text).toBe("said good day\nwords: 2");
  }
  expect(await counted()).toBe(before + 2);
  const beside = { message: said("x", skill("echo")), metadata: { policy_doc: "x".repeat(5_000_000) } };
  expect((await rpc(site, "message/send", beside)).error).toMatchObject({ code: -32602, message: expect.stringContaining("a few pages") });
});

test("large bodies arriving at once get a Retry-After before they are read; one of unknown length counts as short", async () => {
  const body = call("message/send", { message: said("word ".repeat(3_000_000), skill("echo")) });
  const sent = await Promise.all(Array.from({ length: 12 }, () => fetch(`${site.url}/`, { method: "POST", body })));
  const full = sent.filter(({ status }) => status === 429);
  expect([full.length >= 6, full.length + sent.filter(({ status }) => status === 200).length]).toEqual([true, 12]);
  const told = await Promise.all(full.map(async (one) => [one.headers.get("retry-after"), ((await one.json()) as Any).error.code]));
  expect(told).toEqual(full.map(() => ["5", -32029]));
  expect(await raw(body)).toMatchObject({ http: 200 });
  const parts = async (many: number) => {
    const stream = ReadableStream.from(Array.from({ length: many }, () => new TextEncoder().encode(" ".repeat(65_536))));
    const init: RequestInit = { method: "POST", body: stream, duplex: "half", headers: { authorization: "Bearer x" } };
    return (await fetch(`${site.url}/`, init)).status;
  };
  expect([await parts(8), await parts(40)]).toEqual([401, 413]);
});
