/** What a waiting run stands on is held against git's garbage collection, also when the process died before it could say so. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { createApi } from "../../runtime/app/api.ts";
import type { Host } from "../../runtime/app/host.ts";
import { openHost } from "../../runtime/app/open-host.ts";
import { setFact } from "../../runtime/engine/store/facts.ts";
import { initWorkspace } from "../../runtime/workspace/init.ts";

let dir = "";
let host: Host | undefined;

afterEach(async () => {
  await host?.close();
  rmSync(dir, { recursive: true, force: true });
});

test("a pin prevented by a kill is set at the next start, and removed when the run is over", async () => {
  dir = mkdtempSync(join(tmpdir(), "cleared-pins-"));
  const workspace = join(dir, "books");
  await initWorkspace(workspace, { name: "Acme", from: join(import.meta.dirname, "..", ".."), person: "Ann" });
  const git = (...args: string[]) =>
    execFileSync("git", ["-C", workspace, "-c", "user.name=Ann", "-c", "user.email=ann@localhost", ...args], { encoding: "utf8" }).trim();
  writeFileSync(
    join(workspace, "agents", "ask.ts"),
    '/*\nname: Ask\nuses: [approval]\n*/\napproval_wait({ title: "Go on?", calls: [] });\n',
  );
  git("add", "agents");
  git("commit", "-qm", "agent: ask");
  const pins = () => git("for-each-ref", "--format=%(refname)", "refs/cleared/pins");
  const pin = `refs/cleared/pins/${git("rev-parse", "HEAD")}`;

  host = await openHost(workspace, { mode: "owner" });
  const run = await createApi(host).run({ agent: "ask", input: {}, wait: true });
  await host.close();
  expect(pins()).toBe(pin);

  // As if killed after the wait was recorded and before the pin was.
  host = await openHost(workspace, { mode: "owner" });
  setFact(host.database, "pins", "[]");
  await host.close();
  git("update-ref", "-d", pin);
  host = await openHost(workspace, { mode: "owner" });
  expect(pins()).toBe(pin);

  await host.engine.cancel(run.id, "no longer wanted");
  await host.close();
  host = await openHost(workspace, { mode: "owner" });
  expect(pins()).toBe("");
});
