/** Pausing under a running owner, from another process: it holds at once, files wait in import/, and all of it goes on with resume. */
import { beforeAll, expect, test } from "vitest";
import { cleared, isThere, shell, start, statement, until, put, warmUp, workspace } from "./command-line.ts";

beforeAll(warmUp);

const STATEMENT = statement([["2026-11-02", "GITHUB", "-4.00"]]);

test("a file that arrives while ingest is paused waits, and is imported after resume; a restart changes nothing", async () => {
  const dir = await workspace();
  const first = await start(dir);
  expect((await cleared(dir, "pause", "ingest", "--reason", "month end")).code).toBe(0);
  expect((await cleared(dir, "run", "ingest")).code).toBe(3);
  put(dir, { "import/checking.csv": STATEMENT });
  await first.stop();
  const second = await start(dir);
  expect(second.said()).toContain("ingest is paused by Ada");
  // Another agent is not held up, and by the time it has run the watcher has long seen the file.
  await shell(
    dir,
    "printf '/*\\nname: Quick\\nuses: [ctx]\\n*/\\nctx_today();\\n' >agents/quick.ts && git add agents && git commit -qm quick",
  );
  await until(async () => (await cleared(dir, "run", "quick")).code === 0);
  expect((await cleared(dir, "runs", "--agent", "ingest", "--json")).json()).toEqual([]);
  expect(isThere(dir, "import/checking.csv")).toBe(true);
  expect((await cleared(dir, "resume", "ingest")).stdout).toContain("ingest continues (month end).");
  await until(async () => (await cleared(dir, "runs", "--agent", "ingest", "--json")).json()[0]?.status === "done", 60_000);
  await until(() => isThere(dir, "import/processed/checking.csv"));
  await second.stop();
});
