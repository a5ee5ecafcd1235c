/**
 * Run by command-line.ts in a process of its own: makes commands one after the other, each as a new process would find things - arguments, folder,
 * environment, input, an exit code of its own - but with what a process has loaded and started. A request is one connection,
 * or a line of warm-client.sh.
 */
import { execFileSync } from "node:child_process";
import { constants, openSync, readFileSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { createServer, Socket } from "node:net";
import { createInterface } from "node:readline";
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
function inTurn(request: Request): Promise<Answer> {
  const made = last.then(() => make(request));
  last = made;
  return made;
}

/** What warm-client.sh has written: its folder, how many arguments and they, the environment, nothing; then "i" and the input if it has one. */
async function answerShell(place: string): Promise<void> {
  const fields = readFileSync(`${place}.asked`, "latin1").split("\0");
  const utf8 = (texts: string[]) => texts.map((text) => Buffer.from(text, "latin1").toString());
  const [cwd = "", count] = utf8(fields.splice(0, 2));
  const args = utf8(fields.splice(0, Number(count)));
  const variables = utf8(fields.splice(0, fields.indexOf(""))).map((line) => [
    line.split("=", 1)[0] ?? "",
    line.slice(line.indexOf("=") + 1),
  ]);
  const { CLEARED_WARM: _, ...env } = Object.fromEntries(variables) as Request["env"];
  const input = fields.slice(1).join("\0");
  const { code, said } = await inTurn({ args, cwd, env, input: input === "" ? null : input.slice(1) });
  // A pipe that somebody has closed (`| head`) ends nothing.
  const lines = said.map(
    ([stream, text]) => `printf %s '${text.replaceAll("'", "'\\''")}' ${stream === "stderr" ? ">&2" : "2>/dev/null"}\n`,
  );
  await writeFile(place, `${lines.join("")}exit ${code}\n`, "latin1");
  await Promise.all([place, `${place}.asked`].map((file) => rm(file)));
}

const lines = `${socket}.shell`;
execFileSync("mkfifo", [lines]);
// Also for writing: it stays open when a client closes it.
const fd = openSync(lines, constants.O_RDWR | constants.O_NONBLOCK);
createInterface(new Socket({ fd, readable: true, writable: false })).on("line", (place) => void answerShell(place));

createServer({ allowHalfOpen: true }, (connection) => {
  let text = "";
  connection.on("error", () => undefined);
  connection.setEncoding("utf8").on("data", (more) => (text += String(more)));
  connection.on("end", () => {
    void inTurn(JSON.parse(text) as Request).then((answer) => connection.end(JSON.stringify(answer)));
  });
}).listen(socket, () => write.stdout("ready\n"));
