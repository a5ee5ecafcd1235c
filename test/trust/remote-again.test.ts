/** A task that a remote agent was given, of which nothing is known here: the store is from a backup, or its answer was lost. */
import { copyFileSync } from "node:fs";
import { type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, expect, it } from "vitest";
import { close, closeAll, decide, host, openCard, removeAll, run, workspace } from "../engine/harness.ts";
import { ended } from "../engine/gates.ts";
import { header } from "../gate/shop.ts";

afterEach(closeAll);
afterAll(removeAll);

type Send = (answer: unknown, status?: number) => ServerResponse;

/** An agent of 0.3 that answers each message so. */
async function remote(taken: (words: string, id: number, send: Send) => void) {
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk) => (text += String(chunk)));
    request.on("end", () => {
      const send: Send = (body, status = 200) =>
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
      const more = { capabilities: {}, skills: [], defaultInputModes: ["text"], defaultOutputModes: ["text"] };
      if (request.method === "GET")
        return send({ name: "t", description: "t", url, version: "1", protocolVersion: "0.3.0", preferredTransport: "JSONRPC", ...more });
      const { id, method, params } = JSON.parse(text);
      if (method !== "message/send") return send({ jsonrpc: "2.0", id, error: { code: -32601, message: "no such method" } });
      taken(params.message.parts[0].text, id, send);
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return { server, url };
}

it("a store from a backup gives a task to a remote agent again only if a person says that it was not taken, or trust.yaml that it may be", async () => {
  const got: string[] = [];
  const status = {
    state: "completed",
    message: { kind: "message", role: "agent", messageId: "m", parts: [{ kind: "text", text: "paid" }] },
  };
  const { server, url } = await remote((words, id, send) => {
    got.push(words);
    send({ jsonrpc: "2.0", id, result: { kind: "task", id: `t${got.length}`, contextId: "c", status } });
  });
  const agent = (name: string) => `${header("approval, a2a")}const params = { agent: "${name}", text: "${name}" };
approval_wait({ title: "Give it?", calls: [{ tool: "a2a_call", params }] });
a2a_call(params).text;
`;
  const at = await workspace({ "agents/careless.ts": agent("careless"), "agents/careful.ts": agent("careful") });
  const trust = `a2a:\n  careless: {url: "${url}"}\n  careful: {url: "${url}", idempotent: true}`;
  at.write("trust.yaml", at.read("trust.yaml").replace(/^a2a: \{\}.*$/m, trust));
  try {
    const first = await host(at);
    const ids = [(await run(first, "careless")).id, (await run(first, "careful")).id];
    await close(first);
    copyFileSync(join(at.dir, ".cleared/store.db"), `${at.dir} backup.db`);
    const owner = await host(at);
    for (const id of ids) expect(await decide(owner, id, "approved")).toMatchObject({ outcome: "completed", result: "paid" });
    await close(owner);
    copyFileSync(`${at.dir} backup.db`, join(at.dir, ".cleared/store.db"));
    const again = await host(at);
    const [doubt, repeated] = [await decide(again, ids[0] ?? "", "approved"), await decide(again, ids[1] ?? "", "approved")];
    expect([doubt.reason, openCard(again, doubt.id).title]).toEqual(["in_doubt", "Did careless get this task?"]);
    expect([repeated.outcome, got]).toEqual(["completed", ["careless", "careful", "careful"]]);
    expect(await decide(again, doubt.id, "rejected")).toMatchObject({ outcome: "completed", result: "paid" });
    expect(got.filter((words) => words === "careless")).toHaveLength(2);
  } finally {
    server.close();
  }
});

it.each([
  [422, 2],
  [429, 3],
  [200, 2],
])(
  "an answer %i to a repeat does not tell that the first send was not taken: a person does, and only then another agent may do it",
  async (code, sends) => {
    let got = 0;
    const { server, url } = await remote((_, id, send) => {
      got++;
      if (got === 1) send({ oops: true }, 502);
      else send({ jsonrpc: "2.0", id, error: { code: -32602, message: "message id already used" } }, code);
    });
    const params = `{ agent: "pal", text: "pay", fallback: { agent: "second", input: {} } }`;
    const at = await workspace({
      "agents/order.ts": `${header('approval, a2a, "agent:second"')}approval_wait({ title: "Pay?", calls: [{ tool: "a2a_call", params: ${params} }] });
a2a_call(${params}).agent;
`,
      "agents/second.ts": `${header("ctx")}({ summary: "done" });\n`,
    });
    at.write("trust.yaml", at.read("trust.yaml").replace(/^a2a: \{\}.*$/m, `a2a: {pal: {url: "${url}", idempotent: true}}`));
    try {
      const owner = await host(at);
      const ids = [(await run(owner, "order")).id, (await run(owner, "order")).id];
      for (const [n, answer] of (["approved", "rejected"] as const).entries()) {
        got = 0;
        const doubt = await decide(owner, ids[n] ?? "", "approved");
        expect([doubt.reason, got]).toEqual(["in_doubt", sends]);
        await decide(owner, doubt.id, answer);
        const done = await ended(owner, doubt.id);
        // A person's no is about the first sends: what refuses the next one has not taken it.
        const isFree = answer === "rejected" && code === 429;
        if (isFree) expect(done).toMatchObject({ outcome: "completed", result: "second" });
        else expect([done.status, done.error?.code]).toEqual(["failed", "REMOTE_REFUSED"]);
        expect(got).toBe(answer === "approved" ? sends : sends + (isFree ? 3 : 1));
      }
    } finally {
      server.close();
    }
  },
);
