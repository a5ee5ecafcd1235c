/**
 * `cleared mcp`: tools for a chat client on standard input and output. It calls the running `cleared start`; without one it owns the workspace
 * itself, but only during a call or while a run that it started is executing, so that other commands get their turn.
 */
import { Writable } from "node:stream";
import type { Api } from "../../app/api.ts";
import { withApi } from "../../app/connect.ts";
import { mcpOver } from "../../app/mcp-api.ts";
import { LOCAL } from "../../app/callers.ts";
import { toWire } from "../../kernel/errors.ts";
import { serveOverStdio } from "../../mcp-server/server.ts";
import type { Command } from "../invocation.ts";

// A request to the meta-agent has five minutes of its own.
const LONG = { caller: { owner: LOCAL, agents: null, token: null }, waitMs: 600_000 };

export const run: Command = async (at) => {
  const say = (error: unknown) => at.output.note(toWire(error).message);
  const write = process.stdout.write.bind(process.stdout);
  // Output of a plugin would end up between the messages.
  process.stdout.write = process.stderr.write.bind(process.stderr) as typeof process.stdout.write;
  process.stdout.on("error", () => process.exit(0)); // nobody reads any more
  const { use, idle } = createTurns(at.dir);
  const held = new Map<unknown, Promise<unknown>>();
  /** Once per run, however often it is asked for. */
  const hold = (what: unknown, work: (one: Api) => Promise<unknown>) =>
    void held.getOrInsertComputed(what, () =>
      use(work)
        .catch(say)
        .finally(() => held.delete(what)),
    );
  const api = mcpOver((p) =>
    use(async (one) => {
      const value = await one.mcp(p);
      const { run, status, request, end } = value as Record<string, unknown>;
      // What continues is held before this call lets go.
      if (status === "queued" || status === "running") hold(run, (at) => at.status({ run: String(run), wait: true }));
      if (end === null) hold(request, (at) => at.mcp({ name: "ask", params: { ...LONG, request } as never }));
      return value;
    }),
  );
  await serveOverStdio(api, new Writable({ write: (chunk, _, done) => void write(chunk, () => done()) }), say);
  await idle();
};

/** Calls share one connection to the workspace, which is released when none is in progress. */
function createTurns(dir: string): { use<T>(work: (api: Api) => Promise<T>): Promise<T>; idle(): Promise<void> } {
  let last: Promise<unknown> = Promise.resolve();
  const begin = () => {
    // Wrapped in an object, because awaiting the API itself would call its method `then`.
    const [ready, free] = [Promise.withResolvers<{ api: Api }>(), Promise.withResolvers<void>()];
    const own = (api: Api) => {
      ready.resolve({ api });
      return free.promise;
    };
    last = last.then(() => withApi(dir, own)).catch(ready.reject);
    return { ready: ready.promise, users: 0, free: free.resolve };
  };
  let open: ReturnType<typeof begin> | null = null;
  return {
    async use(work) {
      const mine = (open ??= begin());
      mine.users++;
      try {
        return await work((await mine.ready).api);
      } finally {
        if (--mine.users === 0) {
          if (open === mine) open = null;
          mine.free();
        }
      }
    },
    idle: async () => void (await last),
  };
}
