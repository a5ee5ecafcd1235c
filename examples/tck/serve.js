#!/usr/bin/env node
/**
 * What the public conformance suite of A2A (a2a-tck) is run against: `node examples/tck/serve.js [PORT]`, then the suite with the address that
 * is printed. The suite says what it wants done by how the id of its message begins; our agents are named by `metadata.skill`. So a workspace
 * with three agents is made and served, and before it stands this program, which adds the skill and passes everything else on as it is.
 * However it ends, the workspace is removed.
 */
import { execFileSync, spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";

const HERE = dirname(fileURLToPath(import.meta.url));
const CLEARED = join(HERE, "../../bin/cleared.js");
const PORT = Number(process.argv[2] ?? 9999);
const SKILLS = [
  [/^tck-input-required/, "asks"],
  [/^tck-delayed/, "slow"],
  [/^tck-/, "complete"],
  // The suite for 0.3 says nothing, and expects a task that can be gone on with or canceled.
  [/^/, "asks"],
];

// Before anything is there that an end would leave behind.
process.on("SIGINT", () => end());
process.on("SIGTERM", () => end());
const place = mkdtempSync(join(tmpdir(), "cleared-tck-"));
process.on("exit", () => rmSync(place, { recursive: true, force: true }));
let served = null;
let target = null;

function end(code = 0) {
  process.exitCode ??= code;
  front.close();
  front.closeAllConnections();
  if (served === null) process.exit();
  served.kill("SIGTERM");
}

/** The body with the skill that its message means, or as it came. */
function skilled(body) {
  try {
    const request = JSON.parse(String(body));
    const message = request.params?.message ?? request.message;
    const found = SKILLS.find(([prefix]) => prefix.test(message.messageId));
    message.metadata = { skill: found[1], ...message.metadata };
    return JSON.stringify(request);
  } catch {
    return body;
  }
}

const front = createServer(async (request, response) => {
  const gone = new AbortController();
  response.on("close", () => gone.abort());
  try {
    const { host: _, connection: _c, "content-length": _l, "transfer-encoding": _t, ...headers } = request.headers;
    const body = request.method === "GET" || request.method === "HEAD" ? undefined : skilled(Buffer.concat(await request.toArray()));
    const answer = await fetch(target + request.url, { method: request.method, headers, body, signal: gone.signal, redirect: "manual" });
    const {
      "content-encoding": _e,
      "content-length": _n,
      "transfer-encoding": _u,
      connection: _k,
      ...told
    } = Object.fromEntries(answer.headers);
    response.writeHead(answer.status, told);
    if (answer.body === null) response.end();
    else
      Readable.fromWeb(answer.body)
        .on("error", () => response.destroy())
        .pipe(response);
  } catch (error) {
    if (response.headersSent || gone.signal.aborted) response.destroy();
    else response.writeHead(502).end(String(error));
  }
});

const url = `http://127.0.0.1:${PORT}`;
front.on("error", (error) => {
  console.error(`${url} cannot be listened at: ${error.message}. Name a free port: node examples/tck/serve.js PORT`);
  end(1);
});
// The port first: without it there is nothing to make a workspace for.
front.listen(PORT, "127.0.0.1");
await once(front, "listening");

const dir = join(place, "workspace");
const env = { ...process.env, XDG_STATE_HOME: join(place, "state") };
const cleared = (...args) => execFileSync(process.execPath, [CLEARED, ...args], { cwd: dir, env, stdio: ["ignore", "ignore", "inherit"] });
const git = (...args) => execFileSync("git", ["-c", "user.name=tck", "-c", "user.email=tck@localhost", ...args], { cwd: dir });

execFileSync(process.execPath, [CLEARED, "init", dir, "--name", "TCK", "--person", "tck"], { env, stdio: ["ignore", "ignore", "inherit"] });
cpSync(join(HERE, "agents"), join(dir, "agents"), { recursive: true });
// The suite has its notifications sent to itself and to an address that takes none.
const trust = readFileSync(join(dir, "trust.yaml"), "utf8");
writeFileSync(
  join(dir, "trust.yaml"),
  trust.replace(/^( {2}allow:) \[\]/m, "$1 [example.com]").replace(/^( {2}loopback:) false/m, "$1 true"),
);
cleared("trust", "--accept-trust");
git("add", "-A");
git("commit", "-q", "-m", "agents: what the suite asks for");

served = spawn(process.execPath, [CLEARED, "start", "--no-open", "--port", "0", "--card-url", url], {
  cwd: dir,
  env,
  stdio: ["ignore", "pipe", "inherit"],
});
served.on("exit", (code) => {
  if (target === null) console.error("`cleared start` ended before it served anything; what it said is above.");
  process.exit(process.exitCode ?? code ?? 1);
});
served.stdout.on("data", (text) => {
  if (target !== null) return;
  target = /http:\/\/127\.0\.0\.1:\d+/.exec(String(text))?.[0] ?? null;
  if (target !== null) console.log(`The suite's address: ${url}`);
});
