/**
 * A shop as an MCP server over stdio: `node shop-server.ts FOLDER`. Each call that reached it is a line of FOLDER/reached.jsonl, with
 * whether it changed something. FOLDER/mood.json makes it kill its caller or itself around a write, refuse to start, or answer lies.
 */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type Mood, type Reached, READS, WRITES } from "./shop-tools.ts";

const folder = process.argv[2] ?? ".";
const mood = (): Mood => {
  const file = join(folder, "mood.json");
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Mood) : {};
};
const FILE = join(folder, "reached.jsonl");
const reached = (): Reached[] =>
  existsSync(FILE)
    ? readFileSync(FILE, "utf8")
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as Reached)
    : [];

if (mood().shut === true && reached().some((one) => one.wrote)) process.exit(1);

const send = (message: object) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const answer = (id: unknown, value: unknown) => send({ id, result: { content: [{ type: "text", text: JSON.stringify(value) }] } });
const listed = () => [...READS, ...WRITES].map((name) => ({ name, description: name, inputSchema: { type: "object" } }));

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === "initialize")
    send({
      id,
      result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "shop", version: "1" } },
    });
  else if (method === "tools/list") send({ id, result: { tools: listed() } });
  else if (method === "tools/call") call(id, params.name, params.arguments ?? {});
  else if (id !== undefined) send({ id, result: {} });
});

const slow = new Set<unknown>();
function call(id: unknown, tool: string, args: Reached["args"]): void {
  const { says, refuses, delay, at, kill, owner, once } = mood();
  if (READS.includes(tool)) {
    appendFileSync(FILE, `${JSON.stringify({ tool, args, wrote: false } satisfies Reached)}\n`);
    const paid = reached().find((one) => one.wrote && one.args["invoice_id"] === args["invoice_id"] && args["invoice_id"] !== undefined);
    answer(id, says ?? { invoice_id: args["invoice_id"], amount: "1.10", status: paid === undefined ? "open" : "paid" });
    return;
  }
  if (refuses !== undefined) {
    answer(id, refuses);
    return;
  }
  if (delay !== undefined && !slow.has(id)) {
    slow.add(id);
    setTimeout(() => call(id, tool, args), delay);
    return;
  }
  const known = args["request_id"] !== undefined && reached().some((one) => one.wrote && one.args["request_id"] === args["request_id"]);
  const strike = () => {
    if (once === true && reached().filter((one) => one.tool === tool).length > 1) return;
    if (kill === "owner" && owner !== undefined) {
      process.kill(owner, "SIGKILL");
      process.exit(9);
    }
    if (kill === "self") process.exit(139);
  };
  if (at === "before") {
    appendFileSync(FILE, `${JSON.stringify({ tool, args, wrote: false } satisfies Reached)}\n`);
    strike();
  }
  appendFileSync(FILE, `${JSON.stringify({ tool, args, wrote: !known } satisfies Reached)}\n`);
  if (at === "after") strike();
  answer(id, says ?? { ok: true });
}
