/** The tools of a workspace, and agents elsewhere, for its runs. Nothing of it is loaded, and no server started, before a run first asks. */
import type { Database } from "../engine/database.ts";
import type { Clock, RemoteAgents } from "../kernel/ports.ts";
import type { AgentPool } from "../outside/a2a/agents.ts";
import type { Trust } from "../workspace/settings/config.ts";
import type { ToolPool, ToolsOptions } from "../outside/mcp/tools.ts";
import type { Tools } from "../kernel/ports.ts";
import { readSecrets } from "../workspace/settings/secrets.ts";

export function createToolPool(options: Omit<ToolsOptions, "secrets">): ToolPool {
  let pool: Promise<ToolPool> | null = null;
  const use = () =>
    (pool ??= import("../outside/mcp/tools.ts").then(({ createTools }) =>
      createTools({ ...options, secrets: () => readSecrets(options.dir) }),
    ));
  return {
    forRun: (run) => {
      let tools: Promise<Tools> | null = null;
      const its = () => (tools ??= use().then((one) => one.forRun(run)));
      return {
        list: async (server) => (await its()).list(server),
        find: async (wish, limit) => (await its()).find(wish, limit),
        get: async (tool) => (await its()).get(tool),
        call: async (call, asked) => (await its()).call(call, asked),
        fetchAll: async (call, asked) => (await its()).fetchAll(call, asked),
        readBack: async (call, asked) => (await its()).readBack(call, asked),
      };
    },
    close: async () => (await pool)?.close(),
  };
}

export function createAgentPool(options: { trust: Trust; database: Database; clock: Clock; dir: string }): AgentPool {
  let pool: Promise<AgentPool> | null = null;
  const use = () =>
    (pool ??= import("../outside/a2a/agents.ts").then(({ createAgents }) =>
      createAgents({ ...options, secrets: () => readSecrets(options.dir) }),
    ));
  return {
    forRun: (run) => {
      let agents: Promise<RemoteAgents> | null = null;
      const its = () => (agents ??= use().then((one) => one.forRun(run)));
      return {
        classOf: async (agent, skill) => (await its()).classOf(agent, skill),
        follow: async (call, asked) => (await its()).follow(call, asked),
        answer: async (call, asked) => (await its()).answer(call, asked),
        giveUp: async (agent, key) => (await its()).giveUp(agent, key),
      };
    },
    moved: async (run) => (await use()).moved(run),
    tidy: async () => (await use()).tidy(),
  };
}
