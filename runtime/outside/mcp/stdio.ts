/**
 * Talks to a tool server that is a child process: one JSON message per line on its stdin and stdout. The SDK's own transport passes the user's
 * whole shell environment, and leaves a child running that does not watch its stdin when we are killed; this one does neither.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { devNull } from "node:os";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { ClearedError } from "../../kernel/errors.ts";
import { cutLines } from "../../kernel/text.ts";
import { type Way, giveFilter } from "../../sandbox/jail.ts";
import { TRUST } from "../../workspace/layout.ts";
import { toolServers } from "../peer.ts";
import { tooLong } from "./addresses.ts";
import { parseJson } from "./answer.ts";

export interface StdioOptions {
  command: string;
  args: string[];
  /** In addition to PATH and HOME (Windows: what a process needs to start); nothing else is inherited. */
  env: Record<string, string>;
  cwd: string;
  maxBytes: number;
  /** The jail of a server that trust.yaml does not call trusted; null for a trusted one. */
  way(): Promise<Way | null>;
}

export interface Stdio extends Transport {
  /** Why it ended, if an invalid answer was the cause. */
  fault(): ClearedError | null;
  /** It accepts no further message, though its last output may still arrive. */
  over(): boolean;
  /** The last output that was not a message, for error texts. */
  said(): string;
}

const INHERITED = process.platform === "win32" ? ["PATH", "SYSTEMROOT", "TEMP", "USERPROFILE", "APPDATA", "PATHEXT"] : ["PATH", "HOME"];
// Python loads and leaves no compiled files: nobody has confirmed them (kernel/registry.ts).
const UNCOMPILED = Object.entries({ PYTHONDONTWRITEBYTECODE: "1", PYTHONPYCACHEPREFIX: devNull });
const SAID = 600;
const READ_ONLY = /EROFS|read-only file ?system/i;
const WHERE = `(A server that is not trusted writes in a temporary folder and in those of its \`writes:\` in ${TRUST} only.)`;
// How long a server has to end after its stdin is closed; the guard adds two seconds after SIGTERM.
const PATIENCE_MS = 1000;
const GUARD_MS = 3000;
// How long to read output still in the pipe after a server has ended. A process it started may keep the pipe open.
const DRAIN_MS = 200;
// How much a server may print, and how many messages it may send, without having been asked anything; and how much of what it is sent it may
// leave unread. More is a flood.
const MAX_PRINTED = 64 * 1024 * 1024;
const MAX_MESSAGES = 20_000;
const MAX_UNREAD = 16 * 1024 * 1024;

/**
 * A guard around the server: when fd 3 closes, because we closed it or died in any way, it ends the server and whatever the server started,
 * which share a process group. `<&4` because a shell gives background processes an empty stdin.
 */
const GUARD = `exec 4<&0; "$@" <&4 3<&- 4<&- & server=$!; exec 4<&- </dev/null
{ read -r _ <&3; trap '' TERM; kill 0; sleep 2; kill -9 0; } >/dev/null 2>&1 &
wait "$server"`;

export function createStdio(options: StdioOptions): Stdio {
  let child: ChildProcess | null = null;
  let exited = Promise.withResolvers<void>();
  let fault: ClearedError | null = null;
  let said = "";
  let jailed = false;
  let [printed, messages] = [0, 0];
  const hear = (text: string) => {
    said = (said + text).slice(-SAID);
  };
  /** Its output is no longer read: it would only keep us busy. */
  const broken = (server: ChildProcess, why: ClearedError) => {
    fault ??= why;
    server.stdout?.destroy();
    server.stderr?.destroy();
    void transport.close();
  };

  const transport: Stdio = {
    start: async () => {
      const inherited = INHERITED.map((name) => [name, process.env[name]] as const);
      const env = Object.fromEntries([...inherited, ...UNCOMPILED, ...Object.entries(options.env)]);
      const guarded = process.platform !== "win32";
      const { prefix, filter } = (await options.way()) ?? { prefix: [], filter: null };
      jailed = filter !== null;
      const [command, args] = guarded
        ? ["/bin/sh", ["-c", GUARD, "cleared-tool-server", ...prefix, options.command, ...options.args]]
        : [options.command, options.args];
      const server = spawn(command, args, {
        cwd: options.cwd,
        env,
        stdio: ["pipe", "pipe", "pipe", guarded ? "pipe" : "ignore", "ignore", filter === null ? "ignore" : "pipe"],
        detached: guarded,
        windowsHide: true,
      });
      giveFilter(server.stdio, filter);
      child = server;
      if (server.pid !== undefined) toolServers.add(server.pid);
      exited = Promise.withResolvers();
      const spawned = Promise.withResolvers<void>();
      server.on("spawn", spawned.resolve).on("error", spawned.reject);
      server.on("exit", () => {
        toolServers.delete(server.pid ?? 0);
        exited.resolve();
        server.stdio[3]?.destroy();
        setTimeout(() => [server.stdout, server.stderr].map((one) => one?.destroy()), DRAIN_MS);
      });
      server.on("close", () => {
        child = null;
        transport.onclose?.();
      });
      for (const one of [server.stdin, server.stdio[3]]) one?.on("error", () => undefined);
      const count = (chunk: Buffer | string) => {
        printed += chunk.length;
        const why = "The server prints endlessly and does not answer.";
        if (printed > MAX_PRINTED || messages > MAX_MESSAGES) broken(server, new ClearedError("TOOL_ANSWER", why));
      };
      server.stderr?.setEncoding("utf8").on("data", hear).on("data", count);
      const cut = cutLines(options.maxBytes, (line) => {
        if (line === null) return broken(server, tooLong(options.maxBytes));
        const message = messageOf(line);
        if (message === null) hear(line.toString("utf8", 0, SAID));
        else if (messages++ <= MAX_MESSAGES) transport.onmessage?.(message);
      });
      server.stdout?.on("data", cut).on("data", count);
      await spawned.promise;
    },
    send: async (message) => {
      const stdin = child?.stdin;
      if (!child || !stdin?.writable) throw new ClearedError("TOOL_DOWN", "The server has ended.");
      if (stdin.writableLength > MAX_UNREAD) broken(child, new ClearedError("TOOL_ANSWER", "The server does not read its input."));
      // Answers to its own requests do not allow it to print more.
      if ("method" in message) [printed, messages] = [0, 0];
      // A broken pipe means that the server is ending: its close event reports that, with its last output.
      await new Promise<void>((sent) => void stdin.write(`${JSON.stringify(message)}\n`, () => sent()));
    },
    close: async () => {
      const ending = child;
      if (ending === null) return;
      ending.stdin?.end();
      const guard = setTimeout(() => {
        ending.stdio[3]?.destroy();
        if (process.platform === "win32") ending.kill();
      }, PATIENCE_MS);
      const last = setTimeout(() => ending.kill("SIGKILL"), PATIENCE_MS + GUARD_MS);
      await exited.promise;
      clearTimeout(guard);
      clearTimeout(last);
      ending.stdout?.destroy();
      ending.stderr?.destroy();
    },
    fault: () => fault,
    over: () => fault !== null || child === null || child.exitCode !== null || child.signalCode !== null,
    said: () => (jailed && READ_ONLY.test(said) ? `${said.trim()} ${WHERE}` : said.trim()),
  };
  return transport;
}

type Message = Parameters<Transport["send"]>[0];

function messageOf(line: Buffer): Message | null {
  if (line[0] !== 0x7b) return null;
  try {
    return parseJson(line.toString("utf8")) as unknown as Message;
  } catch {
    return null;
  }
}
