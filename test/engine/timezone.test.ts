/** The day of a run is the day in the time zone that config.yaml names at the run's commit. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { createApi } from "../../runtime/app/api.ts";
import type { Host } from "../../runtime/app/host.ts";
import { openHost } from "../../runtime/app/open-host.ts";
import { initWorkspace } from "../../runtime/workspace/init.ts";

let dir = "";
let host: Host | undefined;

afterEach(async () => {
  await host?.close();
  rmSync(dir, { recursive: true, force: true });
});

test("at 20:00 in New York today is not tomorrow, and a new time zone applies from the next run on", async () => {
  dir = mkdtempSync(join(tmpdir(), "cleared-day-"));
  const workspace = join(dir, "books");
  await initWorkspace(workspace, { name: "Acme", from: join(import.meta.dirname, "..", ".."), person: "Ann" });
  const commit = () =>
    execFileSync("git", ["-C", workspace, "-c", "user.name=Ann", "-c", "user.email=ann@localhost", "commit", "-qam", "config: time zone"]);
  const zone = (name: string) => {
    const config = join(workspace, "config.yaml");
    writeFileSync(config, readFileSync(config, "utf8").replace(/^timezone: \S+/m, `timezone: ${name}`));
    commit();
  };
  writeFileSync(join(workspace, "agents", "day.ts"), "/*\nname: Day\nuses: [ctx]\n*/\nctx_today()\n");
  execFileSync("git", ["-C", workspace, "add", "agents"]);
  zone("America/New_York");
  host = await openHost(workspace, { mode: "owner", clock: { now: () => Date.parse("2026-12-01T01:00:00Z") } });
  const api = createApi(host);
  expect((await api.run({ agent: "day", input: {}, wait: true })).result).toBe("2026-11-30");
  zone("Europe/Vienna");
  expect((await api.run({ agent: "day", input: {}, wait: true })).result).toBe("2026-12-01");
});
