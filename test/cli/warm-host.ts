/**
 * Run by warm.ts in a process of its own: makes commands one after the other, each as a new process would find things - arguments, folder,
 * environment, input, an exit code of its own - but with what a process has loaded and started. A request is one connection.
 */
import { createServer } from "node:net";
import { Readable } from "node:stream";

export interface Request {
  args: string[];
  cwd: string;
  env: Record<string, string>;
  /** null: it reads nothing. */
  input: string | null;
}

export interface Answer {
  code: number;
  /** In the order in which it was said; bytes as latin1. */
  said: [stream: "stdout" | "stderr", text: string][];
}

const MAIN = new URL("../../runtime/cli/main.ts", import.meta.url).href;
const [socket = ""] = process.argv.slice(2);
const write = { stdout: process.stdout.write.bind(process.stdout), stderr: process.stderr.write.bind(process.stderr) };
process.stdout.setMaxListeners(0);
let count = 0;

async function make({ args, cwd, env, input }: Request): Promise<Answer> {
  const said: Answer["said"] = [];
  for (const stream of ["stdout", "stderr"] as const)
    process[stream].write = ((chunk: string | Uint8Array) =>
      said.push([stream, Buffer.from(chunk).toString("latin1")]) > 0) as typeof process.stdout.write;
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  process.chdir(cwd);
  process.argv.splice(2, Infinity, ...args);
  Object.defineProperty(process, "stdin", {
    value: Readable.from(input === null ? [] : [Buffer.from(input, "latin1")]),
    configurable: true,
  });
  process.exitCode = undefined;
  try {
    // The file that is the command, read anew: what it imports stays.
    await import(`${MAIN}?${++count}`);
  } catch (error) {
    process.exitCode = 1;
    said.push(["stderr", String((error as Error).stack)]);
  }
  const code = Number(process.exitCode ?? 0);
  process.exitCode = undefined;
  process.chdir("/");
  Object.assign(process.stdout, { write: write.stdout });
  Object.assign(process.stderr, { write: write.stderr });
  return { code, said };
}

let last: Promise<unknown> = Promise.resolve();
createServer({ allowHalfOpen: true }, (connection) => {
  let text = "";
  connection.on("error", () => undefined);
  connection.setEncoding("utf8").on("data", (more) => (text += String(more)));
  connection.on("end", () => {
    last = last.then(async () => connection.end(JSON.stringify(await make(JSON.parse(text) as Request))));
  });
}).listen(socket, () => write.stdout("ready\n"));
