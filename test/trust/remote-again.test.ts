/** A task that a remote agent was given, of which a store from a backup knows nothing. */
import { copyFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, expect, it } from "vitest";
import { close, closeAll, decide, host, openCard, removeAll, run, workspace } from "../engine/harness.ts";
import { header } from "../gate/shop.ts";

afterEach(closeAll);
afterAll(removeAll);

it("a store from a backup gives a task to a remote agent again only if a person says that it was not taken, or trust.yaml that it may be", async () => {
  const got: string[] = [];
  const status = {
    state: "completed",
    message: { kind: "message", role: "agent", messageId: "m", parts: [{ kind: "text", text: "paid" }] },
  };
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk) => (text += String(chunk)));
    request.on("end", () => {
      const answer = (body: object) => response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
      const more = { capabilities: {}, skills: [], defaultInputModes: ["text"], defaultOutputModes: ["text"] };
      if (request.method === "GET")
        return answer({ name: "t", description: "t", url, version: "1", protocolVersion: "0.3.0", preferredTransport: "JSONRPC", ...more });
      const { id, method, params } = JSON.parse(text);
      if (method !== "message/send") return answer({ jsonrpc: "2.0", id, error: { code: -32601, message: "no such method" } });
      got.push(params.message.parts[0].text);
      answer({ jsonrpc: "2.0", id, result: { kind: "task", id: `t${got.length}`, contextId: "c", status } });
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
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
