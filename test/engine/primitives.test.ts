/** Every built-in primitive's example in a real run: live in a workspace, dry to the same shape, and the same again on replay. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { primitives } from "../../primitives/index.ts";
import { nameServer } from "../../runtime/cli/commands/init.ts";
import type { Host } from "../../runtime/app/host.ts";
import { replayRun } from "../../runtime/engine/replay.ts";
import type { Json, RunRecord } from "../../runtime/kernel/ports.ts";
import { close, decide, host, removeAll, run, start, workspace, type Workspace } from "./harness.ts";
import { STATEMENT } from "./plugins.ts";

const ID = '"261106-9sd0ee4k2m"';
const ENTRY = `const made = journal_add_double({ date: "2026-11-06", description: "Example", debit_account: 5030, credit_account: 1010, amount: "1.00", key: "example", status: "pending-review" });\n`;
const uses = [...new Set(primitives.map((one) => one.domain)), "agent:look"].join(", ");
const agent = (name: string): string => `x-${name.replaceAll("_", "-")}`;

const MODEL = [
  { when: ["Say which class"], answer: { class: "Software" } },
  { when: ["Read fields out"], answer: { fields: [{ name: "invoice_id", value: "INV-7", quote: "Invoice INV-7" }] } },
  { when: ["Summarize what is given"], answer: "INV-7 is over 84.00." },
  { when: ["You work on a task"], answer: [{ type: "tool_call", id: "1", tool: "finish", params: { answer: "nobody knows" } }] },
];

/** An agent of A2A 0.3 that answers everything at once. */
const treasury = createServer((request, response) => {
  const json = (body: unknown) => response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
  const skills = { defaultInputModes: ["text"], defaultOutputModes: ["text"], skills: [], capabilities: {} };
  const card = { name: "Treasury", description: "", version: "1", protocolVersion: "0.3.0", preferredTransport: "JSONRPC", ...skills };
  if (request.method === "GET") return void json({ ...card, url: urlOf(treasury) });
  let text = "";
  request.on("data", (chunk) => (text += String(chunk)));
  const result = { kind: "message", messageId: "m", role: "agent", parts: [{ kind: "text", text: "12,000.00 is open." }] };
  request.on("end", () => json({ jsonrpc: "2.0", id: JSON.parse(text).id, result }));
});
const urlOf = (server: typeof treasury) => `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;

/** What must have happened before the example makes sense. */
function before(name: string, example: string): string {
  if (example.includes(ID)) return ENTRY;
  return name === "importer_mark_processed" ? 'importer_parse("statement.csv");\n' : "";
}

// What moves the statement away comes last.
const ordered = primitives.toSorted((a, b) => Number(a.name === "importer_mark_processed") - Number(b.name === "importer_mark_processed"));

let one: Workspace;
let live: Host;
let dry: Host;
beforeAll(async () => {
  const files: Record<string, string> = {
    "scripts/vendor_of.ts": '/*\nname: Vendor\n*/\n({ vendor: String(input.description).split(" ")[0] });\n',
  };
  for (const { name, example } of primitives) {
    files[`agents/${agent(name)}.ts`] =
      `/*\nname: Example\nuses: [${uses}]\n${name === "fsm_enter" ? "states: [ASSESS]\n" : ""}*/\n${before(name, example)}${example.replace(ID, "made.entry_id")};\n`;
  }
  files["agents/look.ts"] = "/*\nname: Look\nmutates: false\n*/\n1;\n";
  one = await workspace(files);
  await nameServer(join(one.dir, "trust.yaml"));
  await new Promise<void>((listening) => treasury.listen(0, "127.0.0.1", listening));
  one.commit({
    "trust.yaml": one
      .read("trust.yaml")
      .replace(/^models: .*$/m, "models: {script: {backend: scripted, file: models.jsonl}}")
      .replace(/^a2a: .*$/m, `a2a: {treasury: {url: "${urlOf(treasury)}", class: read}}`),
    "config.yaml": `${one.read("config.yaml")}\nmodels: {small: script/x, large: script/x}\n`,
    "models.jsonl": MODEL.map((line) => JSON.stringify(line)).join("\n"),
  });
  one.write("import/statement.csv", STATEMENT);
  live = await host(one);
  dry = await host(one, { mode: "memory" });
});
afterAll(async () => {
  treasury.close();
  await close(dry);
  await removeAll();
});

async function finish(opened: Host, id: string): Promise<RunRecord> {
  const rest = await opened.engine.result(id, { timeoutMs: 100_000 });
  if (rest.status === "waiting" && rest.reason === "child") return opened.engine.result(id, { ended: true, timeoutMs: 100_000 });
  // The form's own example asks for an amount; at other gates nobody reads it.
  return rest.status === "waiting" ? decide(opened, id, "approved", rest.reason === "input" ? { result: { amount: "18.50" } } : {}) : rest;
}

describe.each(ordered.map((primitive) => [primitive.name, primitive] as const))("%s", (name) => {
  test("its example runs live, dry to the same shape, and survives a replay", async () => {
    const simulated = await dry.start(agent(name), { cause: { kind: "command", key: name }, input: {}, mode: "dry" });
    const there = await dry.engine.result(simulated.id, { timeoutMs: 100_000, ended: true });
    expect([there.status, there.error]).toEqual(["done", null]);
    const id = await start(live, agent(name));
    const end = await finish(live, id);
    expect([end.status, end.error]).toEqual(["done", null]);
    expect(shapeOf(there.result)).toEqual(shapeOf(end.result));
    const replay = await replayRun(end, await live.engine.steps(id), live.world);
    expect(replay.findings).toEqual([]);
    expect(replay.steps).toBeGreaterThan(0);
    expect(one.git("status", "--porcelain")).toBe("");
  });
});

test("a script gets the primitives its code names, however spelled, and a child may request no others", async () => {
  const header = "/*\nname: Named\nuses: [ctx]\n*/\n";
  one.commit({
    "agents/spelled.ts": `${header}ctx_l\\u006fg("spelled");\n({ day: ctx_today() });\n`,
    "agents/console.ts": `${header}console.log("logged");\n({ day: ctx_today() });\n`,
  });
  for (const name of ["spelled", "console"]) {
    const done = await run(live, name);
    expect(done).toMatchObject({ status: "done", result: { day: expect.any(String) } });
    expect((await live.engine.steps(done.id)).map((step) => step.name)).toEqual(["ctx_log", "ctx_today"]);
    const { named } = await live.script(done);
    expect(named.includes("git_commit")).toBe(name === "spelled");
  }
});

function shapeOf(value: Json): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(shapeOf);
  return typeof value === "object" && value !== null ? Object.keys(value).sort() : typeof value;
}
