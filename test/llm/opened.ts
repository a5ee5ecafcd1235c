/** The port on a fresh workspace, for tests that speak to it on the wire. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { Database } from "../../runtime/engine/store/database.ts";
import type { Llm, LlmRequest } from "../../runtime/kernel/ports.ts";
import { createLedger } from "../../runtime/llm/costs.ts";
import { createModels } from "../../runtime/llm/models.ts";
import { createFetch } from "../../runtime/outside/mcp/addresses.ts";
import { parseConfig, parseTrust } from "../../runtime/workspace/settings/config.ts";
import { openSecrets } from "../../runtime/workspace/settings/secrets.ts";
import type { FakeModel } from "./server.ts";

const CONFIG = "business: {name: Acme}\n";
export const KEY = "sk-ant-test-0123456789abcdef";

export interface Opened {
  llm: Llm;
  ledger: ReturnType<typeof createLedger>;
  notes: string[];
}

export async function open(trust: string, config = "", env: NodeJS.ProcessEnv = {}, secrets: Record<string, string> = {}): Promise<Opened> {
  const dir = mkdtempSync(join(tmpdir(), "cleared-llm-"));
  mkdirSync(join(dir, ".cleared"));
  for (const [name, value] of Object.entries(secrets)) await openSecrets(dir).set(name, value);
  const database = new Database(join(dir, ".cleared/store.db"));
  onTestFinished(() => {
    database.close();
    rmSync(dir, { recursive: true, force: true });
  });
  const clock = { now: () => Date.parse("2026-11-23T12:00:00Z") };
  const ledger = createLedger(database, () => clock.now());
  const fetch = createFetch({ rules: null, maxBytes: 1024 * 1024 });
  const models = createModels({ dir, trust: parseTrust(trust), clock, ledger, fetch, env, leaving: () => undefined });
  const notes: string[] = [];
  return { llm: models.llm(parseConfig(CONFIG + config), (note) => notes.push(note)), ledger, notes };
}

export const claude = (server: FakeModel, more = "") =>
  `models: {anthropic: {backend: anthropic, url: "${server.url}", key: "secret:anthropic"${more}}}`;
export const local = (server: FakeModel, more = "") => `models: {local: {backend: openai, url: "${server.url}/v1"${more}}}`;
export const LOCAL = "models: {small: local/qwen3, large: local/qwen3-big}\n";
export const SECRETS = { anthropic: KEY };

export const request = (more: Partial<LlmRequest> = {}): LlmRequest => ({
  role: "small",
  system: "You are exact.",
  messages: [{ role: "user", content: "Say ready." }],
  max_tokens: 100,
  abort: new AbortController().signal,
  spender: { run: "run_1", agent: "ingest" },
  ...more,
});
