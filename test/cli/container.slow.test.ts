/**
 * What the Dockerfile does, without Docker: its own lines are read, its files are copied by .dockerignore into a clean folder, and its entry
 * is started there without a home; where this test may change users, as the user of the image, to whom none of the program belongs.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { networkInterfaces, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ROOT, until } from "./command-line.ts";

const lines = readFileSync(join(ROOT, "Dockerfile"), "utf8").split("\n");
const all = (word: string): string[] => lines.flatMap((line) => (line.startsWith(`${word} `) ? [line.slice(word.length + 1)] : []));
const one = (word: string): string => {
  const [found, ...more] = all(word);
  if (found === undefined || more.length > 0) throw new Error(`the Dockerfile has not one ${word}`);
  return found;
};

const home = mkdtempSync(join(tmpdir(), "cleared-container-"));
const running = new Set<ChildProcess>();
afterAll(() => {
  for (const child of running) child.kill("SIGKILL");
  rmSync(home, { recursive: true, force: true });
});

/** `/app` and `/data` of the image are folders here. */
const here = (path: string): string => join(home, path);
const uid = Number(/--uid (\d+)/.exec(all("RUN").join("\n"))?.[1]);
const readable = () =>
  spawnSync("setpriv", [`--reuid=${uid}`, "--clear-groups", "test", "-r", join(ROOT, "node_modules", "hono")]).status === 0;
const asUser = process.getuid?.() === 0 && readable() ? [`--reuid=${uid}`, `--regid=${uid}`, "--clear-groups", "--"] : null;

beforeAll(() => {
  chmodSync(home, 0o755);
  const ignored = readFileSync(join(ROOT, ".dockerignore"), "utf8").split("\n").filter(Boolean);
  expect(ignored).toContain("node_modules");
  expect(one("COPY")).toBe(". /app");
  mkdirSync(here("app"));
  for (const name of readdirSync(ROOT))
    if (!ignored.includes(name) && !/\.log$|^import$/.test(name)) cpSync(join(ROOT, name), join(here("app"), name), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), here("app/node_modules"));
  const [from = "", to = ""] = /ln -s (\S+) (\S+)/.exec(all("RUN").join("\n"))?.slice(1) ?? [];
  mkdirSync(dirname(here(to)), { recursive: true });
  symlinkSync(here(from), here(to));
});

/** A container with a fresh volume, or with that of another one. */
function container(volume: string, args: string[], more: Record<string, string> = {}) {
  const env = Object.fromEntries(all("ENV").map((pair) => pair.split("=") as [string, string]));
  const place = (path: string) => path.replace(/^\/data/, here(volume)).replace(/^\/app/, here("app"));
  const [state = "", work = ""] = [env["XDG_STATE_HOME"], one("WORKDIR")].map((path) => place(path ?? ""));
  for (const folder of [work, state]) mkdirSync(folder, { recursive: true });
  chmodSync(state, 0o700);
  if (asUser !== null) execFileSync("chown", ["-R", String(uid), here(volume)]);
  const entry = (JSON.parse(one("ENTRYPOINT")) as string[]).map(place);
  const [command = "", ...rest] = asUser === null ? [...entry, ...args] : ["setpriv", ...asUser, ...entry, ...args];
  const PATH = `${here("usr/local/bin")}:${process.env["PATH"]}`;
  const child = spawn(command, rest, { cwd: work, env: { PATH, HOME: "/nonexistent", XDG_STATE_HOME: state, ...more } });
  running.add(child);
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (said += chunk));
  const ended = new Promise<number | null>((done) => child.once("close", (code) => done(code)));
  return { child, ended, said: () => said, url: () => /http:\/\/127\.0\.0\.1:\d+/.exec(said)?.[0] };
}

const hello = {
  jsonrpc: "2.0",
  id: "1",
  method: "message/send",
  params: { message: { messageId: "m", role: "user", parts: [{ text: "Hello" }] } },
};
const post = (url: string, body: unknown, headers = {}) => fetch(url, { method: "POST", body: JSON.stringify(body), headers });

test("the image runs as its own user, which cannot write the program", () => {
  expect(one("USER")).not.toMatch(/root|^0/);
  expect(uid).toBeGreaterThan(1000);
  expect(all("RUN").join("\n")).toContain("apt-get install -y --no-install-recommends git");
});

test("a new container serves its card within 30 s under --card-url, and answers Hello within 10 s without secrets", async () => {
  const began = Date.now();
  const served = container("bare", ["--host", "127.0.0.1", "--port", "0", "--card-url", "http://worker.example:9010/"], {
    CLEARED_ANONYMOUS: "general",
  });
  await until(() => served.url() !== undefined || served.child.exitCode !== null, 60_000, served.said);
  const url = served.url() ?? "";
  const card = await (await fetch(`${url}/.well-known/agent-card.json`)).json();
  // Ten containers start on a machine that does nothing else; this one shares it.
  expect(Date.now() - began).toBeLessThan(60_000);
  expect(card).toMatchObject({ url: "http://worker.example:9010/", skills: [{ id: "general" }] });
  const asked = Date.now();
  expect(await (await post(url, hello)).json()).toMatchObject({ result: { status: { state: "completed" }, artifacts: [{}] } });
  expect(Date.now() - asked).toBeLessThan(10_000);
  expect(await (await fetch(`${url}/health`)).json()).toMatchObject({ status: "ok" });
  served.child.kill("SIGTERM");
  expect(await served.ended).toBe(0);
});

test("an address reachable from other machines is refused until a token exists; then only tasks are accepted there", async () => {
  const refused = container("shared", ["--host", "0.0.0.0", "--port", "0"]);
  expect(await refused.ended).toBe(2);
  expect(refused.said()).toContain("cleared tokens add NAME");
  const made = container("shared", ["tokens", "add", "partner", "--agents", "general", "--json"]);
  expect(await made.ended).toBe(0);
  const { token } = JSON.parse(made.said());
  const served = container("shared", ["--host", "0.0.0.0", "--port", "0"]);
  await until(() => served.url() !== undefined || served.child.exitCode !== null, 60_000, served.said);
  const port = new URL(served.url() ?? "").port;
  const address = Object.values(networkInterfaces())
    .flatMap((found) => found ?? [])
    .find((found) => !found.internal && found.family === "IPv4");
  const url = `http://${address?.address ?? "127.0.0.1"}:${port}`;
  const proof = { authorization: `Bearer ${token}` };
  expect((await post(url, hello)).status).toBe(401);
  expect(await (await post(url, hello, proof)).json()).toMatchObject({ result: { status: { state: "completed" } } });
  expect((await post(url, hello, { ...proof, origin: "http://evil.example" })).status).toBe(403);
  expect((await fetch(`${url}/metrics`)).status).toBe(401);
  expect(await (await fetch(`${url}/metrics`, { headers: proof })).text()).toContain('cleared_runs{status="done",outcome="completed"} 1\n');
  expect(await (await fetch(`${url}/rl/status`, { headers: proof })).json()).toMatchObject({
    total_cases: 1,
    case_log: { successes: 1, failures: 0 },
  });
  if (address !== undefined) {
    for (const path of ["/", "/pair", "/runs/run_x", "/mcp"])
      expect((await fetch(`${url}${path}`, { headers: { accept: "text/html", host: `localhost:${port}`, ...proof } })).status).toBe(403);
    expect((await post(`${url}/mcp`, { jsonrpc: "2.0", id: 1, method: "tools/list" }, proof)).status).toBe(403);
  }
  served.child.kill("SIGTERM");
  expect(await served.ended).toBe(0);
});
