/**
 * Speaking with a tool server that is a child process: one JSON message a line on its stdin and stdout. The SDK's own transport gives the
 * child our user's whole shell environment and leaves it running when we are killed while it does not watch its stdin; this one does not.
 */
import { type ChildProcess, spawn } from "node:child_process";
import type { Writable } from "node:stream";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { ClearedError } from "../errors.ts";
import { tooLong } from "./addresses.ts";
import { parseJson } from "./answer.ts";

export interface StdioOptions {
  command: string;
  args: string[];
  /** Beside PATH and HOME (Windows: what a process needs to start); nothing else is inherited. */
  env: Record<string, string>;
  cwd: string;
  maxBytes: number;
}

export interface Stdio extends Transport {
  /** Why it ended, when it ended by a fault of its answer. */
  fault(): ClearedError | null;
  /** The last it printed that was no message, for messages to people. */
  said(): string;
}

const INHERITED = process.platform === "win32" ? ["PATH", "SYSTEMROOT", "TEMP", "USERPROFILE", "APPDATA", "PATHEXT"] : ["PATH", "HOME"];
const SAID = 600;
// What a server gets to end by itself once its stdin is closed; the guard gives it two seconds more after SIGTERM.
const PATIENCE_MS = 1000;

/**
 * A guard around the server: when fd 3 closes - we have closed it, or died, however - it ends the server and what the server started,
 * which share a process group of their own. `<&4` because a shell gives what it starts in the background an empty stdin.
 */
const GUARD = `exec 4<&0; "$@" <&4 3<&- 4<&- & server=$!; exec 4<&- </dev/null
{ read -r _ <&3; trap '' TERM; kill 0; sleep 2; kill -9 0; } >/dev/null 2>&1 & guard=$!
wait "$server"; code=$?; kill "$guard"; exit "$code"`;

export function createStdio(options: StdioOptions): Stdio {
  let child: ChildProcess | null = null;
  let fault: ClearedError | null = null;
  let said = "";
  const hear = (text: string) => {
    said = (said + text).slice(-SAID);
  };

  const transport: Stdio = {
    start: () =>
      new Promise((spawned, failed) => {
        const env = Object.fromEntries([...INHERITED.map((name) => [name, process.env[name]] as const), ...Object.entries(options.env)]);
        const guarded = process.platform !== "win32";
        const [command, args] = guarded
          ? ["/bin/sh", ["-c", GUARD, "cleared-tool-server", options.command, ...options.args]]
          : [options.command, options.args];
        const server = spawn(command, args, {
          cwd: options.cwd,
          env,
          stdio: ["pipe", "pipe", "pipe", guarded ? "pipe" : "ignore"],
          detached: guarded,
          windowsHide: true,
        });
        child = server;
        server.on("spawn", spawned).on("error", failed);
        server.on("close", () => {
          child = null;
          transport.onclose?.();
        });
        server.stdin?.on("error", () => undefined);
        (server.stdio[3] as Writable | null)?.on("error", () => undefined);
        server.stderr?.setEncoding("utf8").on("data", hear);
        server.stdout?.on(
          "data",
          lines(options.maxBytes, (line) => {
            if (line === null) {
              fault = tooLong(options.maxBytes);
              void transport.close();
              return;
            }
            const message = messageOf(line);
            if (message === null) hear(line.toString("utf8", 0, SAID));
            else transport.onmessage?.(message);
          }),
        );
      }),
    send: (message) =>
      new Promise((sent, failed) => {
        const stdin = child?.stdin;
        if (!stdin?.writable) failed(new ClearedError("TOOL_DOWN", "The server has ended."));
        // A broken pipe is a server that ends: its close says so, with its last words.
        else stdin.write(`${JSON.stringify(message)}\n`, () => sent());
      }),
    close: async () => {
      const ending = child;
      if (ending === null) return;
      const ended = new Promise<void>((done) => void ending.once("exit", () => done()));
      ending.stdin?.end();
      const later = setTimeout(() => {
        (ending.stdio[3] as Writable | null)?.end();
        if (process.platform === "win32") ending.kill();
      }, PATIENCE_MS);
      await ended;
      clearTimeout(later);
      ending.stdout?.destroy();
      ending.stderr?.destroy();
    },
    fault: () => fault,
    said: () => said.trim(),
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

/** Cuts a stream into lines; hands over null, once, when a line is longer than `max`. */
function lines(max: number, each: (line: Buffer | null) => void): (chunk: Buffer) => void {
  let parts: Buffer[] = [];
  let length = 0;
  return (chunk) => {
    let from = 0;
    for (;;) {
      const end = chunk.indexOf(10, from);
      const part = chunk.subarray(from, end === -1 ? undefined : end);
      if (length <= max && length + part.length > max) each(null);
      length += part.length;
      if (length <= max) parts.push(part);
      if (end === -1) return;
      if (length > 0 && length <= max) each(Buffer.concat(parts));
      parts = [];
      length = 0;
      from = end + 1;
    }
  };
}
