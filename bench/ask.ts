/**
 * What a request to the meta-agent costs beside checks and backtests, in CPU time of this process, and how long its prompt is: a scripted
 * model reads a file, searches twice and declines, on the starter workspace. Bars: 400 ms; 60,000 tokens, nine tenths of them the stable
 * part that a server keeps.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beginAsk, showPrompt, watchAsk } from "../runtime/app/asks.ts";
import type { Host } from "../runtime/app/host.ts";
import { openHost } from "../runtime/app/open-host.ts";
import { toolList } from "../runtime/meta/tools.ts";
import { git } from "../runtime/workspace/git/git-process.ts";
import { keepConfirmation, lookAtTrust } from "../runtime/workspace/settings/confirmation.ts";
import { initWorkspace } from "../runtime/workspace/init.ts";
import { median } from "./measure.ts";

// Of the starter's text; rates measured by vendors lie between 2.5 and 4.
const CHARACTERS_A_TOKEN = 2.5;
const TIMES = 7;

const call = (turn: number, tool: string, params: object): string =>
  JSON.stringify({ turn, answer: [{ type: "tool_call", id: `c${turn}`, tool, params }] });
const MODEL = [
  call(0, "read", { path: "agents/ingest.ts" }),
  call(1, "search", { query: "aws", in: "entries" }),
  call(2, "search", { query: "journal", in: "primitives" }),
  call(3, "decline", { reason: "It is so already." }),
];

const cpu = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

async function once(host: Host): Promise<number> {
  const before = cpu();
  const { id } = await beginAsk(host, { text: "Everything from Hetzner is Software" });
  for (let from = 1; ; ) {
    const { ask, rows } = await watchAsk(host, { id, from, wait: true });
    from = (rows.at(-1)?.n ?? from - 1) + 1;
    if (ask.end !== null) return cpu() - before;
  }
}

const folder = mkdtempSync(join(tmpdir(), "cleared-bench-"));
try {
  const dir = join(folder, "w");
  await initWorkspace(dir, { name: "Bench", from: join(import.meta.dirname, ".."), person: "Bench" });
  writeFileSync(join(dir, "model.jsonl"), `${MODEL.join("\n")}\n`);
  const text = (path: string) => readFileSync(join(dir, path), "utf8");
  writeFileSync(
    join(dir, "trust.yaml"),
    `${text("trust.yaml").replace(/^models: \{\}.*$/m, "")}\nmodels: {play: {backend: scripted, file: model.jsonl}}\n`,
  );
  writeFileSync(
    join(dir, "config.yaml"),
    `${text("config.yaml").replace(/^models:.*$/m, "")}\nmodels: {large: play/x, catalogue: {x: {context: 400000}}}\n`,
  );
  await git(dir, ["-c", "user.name=Bench", "-c", "user.email=bench@localhost", "commit", "-qam", "models"]);
  keepConfirmation(dir, lookAtTrust(dir));
  const host = await openHost(dir, { mode: "owner" });
  try {
    const cold = await once(host);
    const warm: number[] = [];
    for (let i = 0; i < TIMES; i++) warm.push(await once(host));
    const { system } = await showPrompt(host);
    const rest = JSON.stringify(toolList("backtest")).length;
    const tokens = Math.round((system.length + rest) / CHARACTERS_A_TOKEN);
    console.log(
      `a request of four answers: ${Math.round(cold)} ms of CPU the first time, ${Math.round(median(warm))} ms after it (bar 400)`,
    );
    console.log(
      `its prompt on the starter workspace: about ${tokens} tokens with its tools (bar 60000), all of it before the conversation`,
    );
  } finally {
    await host.close();
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
