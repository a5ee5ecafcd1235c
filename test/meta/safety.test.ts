/**
 * Orders in text from outside, each with a model that reads and obeys them: what stops it is the runtime. The text comes in by the way that
 * injections.yaml names, stands only in results of tools, and nothing of the workspace changes. Those that differ in kind, way or act; all
 * of them with `npm run test:long`.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createApi } from "../../runtime/app/api.ts";
import { type Ask, beginAsk, continueAsk, watchAsk } from "../../runtime/app/asks.ts";
import type { Host } from "../../runtime/app/host.ts";
import { openHost } from "../../runtime/app/open-host.ts";
import { createProposals } from "../../runtime/change/proposals/store.ts";
import { readYaml } from "../../runtime/scripts/yaml-text.ts";
import type { Asked, Reply } from "../llm/server.ts";
import { type Script, asking, call, cleared, commit, shell, source } from "./asking.ts";
import { ACTS, PACK, PAY } from "./obeying.ts";

type Row = [id: string, kind: string, via: string, obeys: string, text: string];
const table = readFileSync(join(import.meta.dirname, "injections.yaml"), "utf8");
const all = (readYaml(table, { file: "injections.yaml", code: "CONFIG_INVALID", maxLength: 65_536 }).value as { rows: Row[] }).rows;
const met = new Set<string>();
/** It orders in another kind of words, comes in by another way, or has another order obeyed than those before it. */
const isNew = ([, ...ways]: Row): boolean => ways.slice(0, 3).filter((one) => !met.has(one) && met.add(one)).length > 0;
const rows = all.filter((row) => isNew(row) || process.env["CLEARED_LONG"] === "1");
const by = (...ways: string[]) => rows.filter(([, , via]) => ways.includes(via));
const said = ([id, , , , text]: Row) => `${id} ${text}`;

/** A tool server whose records and schemas hold the texts. */
const DESK = `import { createInterface } from "node:readline";
import { readFileSync } from "node:fs";
const rows = JSON.parse(readFileSync(new URL("rows.json", import.meta.url), "utf8"));
const note = { name: "get_note", description: "a note", inputSchema: { type: "object", properties: { id: { type: "string" } } } };
const others = rows.filter(([, , via]) => via === "schema" || via === "offer").map(([id, , , , text]) => ({ name: "get_" + id.toLowerCase(), description: id + " " + text,
  inputSchema: { type: "object", properties: { value: { type: "string", description: id + " " + text } } } }));
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  const reply = (result) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\\n");
  if (method === "initialize") reply({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "desk", version: "1" } });
  else if (method === "tools/list") reply({ tools: [note, ...others] });
  else if (method === "tools/call") {
    const [row, , via, , text] = rows.find(([one]) => one === params.arguments.id);
    reply({ content: [{ type: "text", text: JSON.stringify({ id: row, amount: "12.00", [via === "tool" ? "status" : via]: row + " " + text }) }] });
  } else if (id !== undefined) reply({});
});
`;
const agent = (name: string, uses: string, body: string) =>
  `/*\nname: ${name}\nuses: [${uses}]\ninput:\n  text: {type: string}\n*/\n${body}`;
const FILES: Record<string, string> = {
  "policies/invoice_reconciliation.yaml": PACK,
  "agents/pay.ts": PAY,
  "plugins/bank.ts": source("examples/pay/plugins/bank.ts"),
  "agents/clerk.ts": agent("Clerk", "", "({ received: input.text });\n"),
  "agents/desk.ts": agent("Desk", "mcp", 'mcp_call({ tool: "desk/get_note", params: { id: input.text } });\n'),
  "agents/tools.ts": agent("Tools", "mcp", 'mcp_list({ server: "desk" }).filter((one) => one.tool === input.text);\n'),
  "agents/log.ts": agent("Log", "git", "git_log({ limit: 200 }).filter((one) => one.subject.includes(input.text));\n"),
  "desk/server.mjs": DESK,
  "desk/rows.json": JSON.stringify(rows),
};

/** How the model comes to read the text of a row. */
type Look = (row: Row, runs: ReadonlyMap<string, string>) => Reply;
const run: Look = ([id], runs) => call("run", { id: runs.get(id) ?? "" });
const LOOK: Record<string, Look> = {
  bank: ([id]) => call("search", { query: id, in: "entries" }),
  file: ([id]) => call("read", { path: `knowledge/${id}.md` }),
  offer: ([id]) => call("search", { query: id, in: "tools" }),
  rejection: ([id]) => call("search", { query: id, in: "proposals" }),
  ...{ task: run, vendor: run, filename: run, commit: run, tool: run, schema: run, unit: run, due: run },
};

async function plant(host: Host): Promise<Map<string, string>> {
  const api = createApi(host);
  const runs = new Map<string, string>();
  const start = async (name: string, text: string) => (await api.run({ agent: name, input: { text }, dry: false, wait: true })).id;
  for (const row of by("task", "vendor")) runs.set(row[0], await start("clerk", said(row)));
  for (const row of by("tool", "unit", "due")) runs.set(row[0], await start("desk", row[0]));
  for (const row of by("schema")) runs.set(row[0], await start("tools", `desk/get_${row[0].toLowerCase()}`));
  for (const row of by("commit")) runs.set(row[0], await start("log", row[0]));
  for (const row of by("rejection")) {
    const files = { "agents/ingest.ts": `${source("agents/ingest.ts")}// ${row[0]}\n` };
    const wish = { title: row[0], reason: "It says so.", by: "agent:ingest", files };
    const { proposal } = await createProposals(host).create(wish, await host.git.head());
    await createProposals(host).update(proposal.id, { state: "rejected", by: "Ada", why: said(row) }, { from: ["draft"] });
  }
  return runs;
}

/** Until the request ends; what a question asks is answered. */
async function ended(host: Host, text: string): Promise<Ask> {
  let { id } = await beginAsk(host, { text });
  for (let from = 1; ; ) {
    const { ask, rows: news } = await watchAsk(host, { id, from, wait: true });
    from = (news.at(-1)?.n ?? from - 1) + 1;
    if (ask.end === null) continue;
    if (ask.end.kind !== "question") return ask;
    ({ id } = await continueAsk(host, { id, answer: "Yes, blue." }));
  }
}

test(`${rows.length} orders in text from outside move nothing, whatever the model that obeys them does`, async () => {
  const scripts: Record<string, Script> = {};
  const { dir, server } = await asking(scripts, { runs: false, files: FILES });
  const desk = "{command: node, args: [desk/server.mjs], trusted: true, timeout_ms: 20000, tools: {get_note: {class: read}}}";
  const trust = readFileSync(join(dir, "trust.yaml"), "utf8")
    .replace(/^plugins: \[\].*$/m, "plugins: [plugins/bank.ts]")
    .replace(/^mcp: \{\}.*$/m, `mcp: {desk: ${desk}}`);
  await commit(dir, { "trust.yaml": trust });
  await commit(dir, Object.fromEntries(by("file").map((row) => [`knowledge/${row[0]}.md`, `${said(row)}\n`])));
  for (const row of by("commit")) {
    writeFileSync(join(dir, "message"), said(row));
    await shell(dir, "git commit -q --allow-empty -F message && rm message");
  }
  const csv = (some: Row[]) =>
    `Date,Description,Amount\n${some.map((row, i) => `2026-11-${String(i + 2).padStart(2, "0")},"${said(row).replaceAll('"', "'")}",-${i + 1}.00`).join("\n")}\n`;
  writeFileSync(join(dir, "import/bank.csv"), csv(by("bank")));
  await cleared(dir, "import", join(dir, "import/bank.csv"));
  const named = new Map<string, string>();
  for (const row of by("filename")) {
    const file = join(dir, "import", `${said(row)}.csv`);
    writeFileSync(file, `Date,Description,Amount\n2026-11-20,"${row[0]} plain",-3.00\n`);
    await cleared(dir, "import", file);
    const [last] = (await cleared(dir, "runs", "--json")).json() as { id: string }[];
    named.set(row[0], last?.id ?? "");
  }
  const host = await openHost(dir, { mode: "owner" });
  const got: unknown[] = [];
  try {
    const runs = new Map([...named, ...(await plant(host))]);
    const state = async () => (await shell(dir, "git rev-parse HEAD; git status --short; md5sum trust.yaml; ls payments.log 2>&1")).stdout;
    const before = await state();
    for (const row of rows) {
      const [id, , via, obeys] = row;
      const act = ACTS[obeys];
      if (act === undefined) throw new Error(`${id} obeys ${obeys}, which obeying.ts does not have`);
      const seen: string[] = [];
      const keep = (reply: Reply) => (asked: Asked) => {
        seen.push(JSON.stringify(asked.body.messages.at(-1)));
        return reply;
      };
      const config = readFileSync(join(dir, "config.yaml"), "utf8");
      const text = `Look at ${runs.get(id) ?? id.toLowerCase()}`;
      scripts[text] = [(LOOK[via] as Look)(row, runs), ...act.calls(config).map(keep)];
      const at = server.asked.length;
      const { end } = await ended(host, text);
      const asked = server.asked.slice(at);
      // It was read, and only as what a tool answered.
      const marker = said(row).slice(0, 14);
      expect(seen[0], id).toContain(JSON.stringify(marker).slice(1, -1));
      const others = asked.flatMap(({ body }) =>
        (body.messages as { role: string }[]).filter(({ role }) => role !== "tool" && role !== "assistant"),
      );
      expect(JSON.stringify(others), id).not.toContain(JSON.stringify(marker).slice(1, -1));
      const told = `${seen.slice(1).join("\n")}\n${JSON.stringify(end)}`;
      got.push([id, obeys, end?.kind, act.says.test(told) ? "stopped" : told.slice(0, 3000)]);
    }
    expect(JSON.stringify(server.asked[0]?.body.messages[0])).toContain("desk; their tools are found by `search` in tools");
    expect(await state()).toBe(before);
    expect(got).toEqual(rows.map(([id, , , obeys]) => [id, obeys, ACTS[obeys]?.end, "stopped"]));
  } finally {
    await host.close();
  }
}, 600_000);
