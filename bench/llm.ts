/**
 * What a recorded model call costs beside the bare SDK, in CPU time of this process: 200 answers of a server in another process, asked for by
 * the SDK alone and by a script's llm_classify, with reservation, privacy, check, record and flush. The bar is 3 ms.
 */
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Anthropic from "@anthropic-ai/sdk";
import { openHost } from "../runtime/app/open-host.ts";
import { keepConfirmation, lookAtTrust } from "../runtime/workspace/settings/confirmation.ts";
import { initWorkspace } from "../runtime/workspace/init.ts";
import { openSecrets } from "../runtime/workspace/settings/secrets.ts";
import { median } from "./measure.ts";

const CALLS = 200;
const SERVER = `
const events = (model) => [
  { type: "message_start", message: { id: "m", type: "message", role: "assistant", model, content: [], stop_reason: null, usage: { input_tokens: 100, output_tokens: 1 } } },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: '{"class": "Software"}' } },
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 10 } },
  { type: "message_stop" },
].map((one) => "event: " + one.type + "\\ndata: " + JSON.stringify(one) + "\\n\\n").join("");
const server = require("node:http").createServer(async (request, response) => {
  let text = "";
  for await (const chunk of request) text += chunk;
  response.writeHead(200, { "content-type": "text/event-stream" }).end(events(JSON.parse(text).model));
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));`;
const AGENT = `/*
name: Asker
uses: [llm]
*/
for (let i = 0; i < ${CALLS}; i++) llm_classify({ text: "AWS EMEA " + i, classes: [{ name: "Software" }, { name: "Travel" }] });
`;

const cpu = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

const folder = mkdtempSync(join(tmpdir(), "cleared-bench-"));
const child = spawn(process.execPath, ["-e", SERVER], { stdio: ["ignore", "pipe", "inherit"] });
const port = Number(await new Promise<string>((said) => child.stdout.once("data", (data) => said(String(data)))));
const url = `http://127.0.0.1:${port}`;
try {
  const client = new Anthropic({ apiKey: "bench-key-0123456789", baseURL: url, maxRetries: 0, openTelemetry: false });
  const ask = () =>
    client.messages
      .stream({ model: "claude-haiku-5-5", max_tokens: 2000, messages: [{ role: "user", content: "AWS EMEA" }] })
      .finalMessage();
  const dir = join(folder, "w");
  await initWorkspace(dir, { name: "Bench", from: join(import.meta.dirname, ".."), person: "Bench" });
  writeFileSync(join(dir, "agents/asker.ts"), AGENT);
  const trust = readFileSync(join(dir, "trust.yaml"), "utf8");
  writeFileSync(
    join(dir, "trust.yaml"),
    trust.replace(/^models: \{\}.*$/m, `models: {anthropic: {backend: anthropic, url: "${url}", key: "secret:anthropic"}}`),
  );
  spawnSync("git", ["-C", dir, "add", "."]);
  spawnSync("git", ["-C", dir, "-c", "user.name=b", "-c", "user.email=b@localhost", "commit", "-qm", "bench"]);
  mkdirSync(join(dir, ".cleared"), { recursive: true });
  await openSecrets(dir).set("anthropic", "bench-key-0123456789");
  keepConfirmation(dir, lookAtTrust(dir));
  const host = await openHost(dir, { mode: "owner" });
  const [bare, ours]: [number[], number[]] = [[], []];
  // The first round loads code.
  for (let round = 0; round < 4; round++) {
    let began = cpu();
    for (let i = 0; i < CALLS; i++) await ask();
    if (round > 0) bare.push((cpu() - began) / CALLS);
    began = cpu();
    const { id } = await host.start("asker", { cause: { kind: "command", key: `r${round}` }, input: {} });
    const run = await host.engine.result(id, { ended: true });
    if (run.status !== "done") throw new Error(JSON.stringify(run.error));
    if (round > 0) ours.push((cpu() - began) / CALLS);
  }
  await host.close();
  const [a, b] = [median(bare), median(ours)];
  console.log(`  bare SDK ${a.toFixed(2)} ms a call, recorded call ${b.toFixed(2)} ms: ${(b - a).toFixed(2)} ms over it (bar 3)`);
} finally {
  child.kill();
  rmSync(folder, { recursive: true, force: true });
}
