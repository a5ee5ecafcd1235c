/** The tools of a workspace for its runs. Nothing is loaded and no server started before a run first calls a tool. */
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
        undoable: async (write) => (await its()).undoable(write),
      };
    },
    close: async () => (await pool)?.close(),
  };
}
